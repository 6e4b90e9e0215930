"""`mockkube status`: show the clusters of this user."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict

import click

from mockkube.cli.exits import Exit
from mockkube.cli.options import find_state_directory, name_option, output_option, start_hint
from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.state_directory import ComponentSummary, RunningRecord, StateDirectory, state_root
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """State of a cluster as its state directory records it."""

    name: str
    state: str
    version: str = ""
    url: str = ""
    pid: int = 0
    database: str = ""
    kubeconfig: str = ""
    components: tuple[ComponentSummary, ...] = ()


@click.command(short_help="Show the clusters of this user.")
@name_option
@click.option(
    "--loops", is_flag=True, help="Show the hot loops of one cluster: work that fails or repeats without end."
)
@output_option("text", "json")
def command(name: str | None, output: str, *, loops: bool) -> Exit:
    """Show the clusters of this user, or one of them; the exit code is 1 if none of these is running.

    With --loops, show which components repeat the same work for which objects, and how often a minute; the exit code
    is 1 if there are any.
    """
    if loops:
        return _print_hot_loops(find_state_directory(name), output)
    if name is not None or os.environ.get("MOCKKUBE_NAME"):
        statuses = [read_status(find_state_directory(name))]
    else:
        statuses = [read_status(directory) for directory in _find_directories()]
    if output == "json":
        click.echo(json.dumps([asdict(status) for status in statuses], indent=2))
    else:
        click.echo(_format_tables(statuses) if statuses else "No clusters; start one with 'mockkube up'.")
    return Exit.OK if any(status.state == "Running" for status in statuses) else Exit.FAILED


def _print_hot_loops(directory: StateDirectory, output: str) -> Exit:
    from mockkube.cli.loops import read_hot_loops

    record = RunningRecord.read(directory)
    if record is None or record.pid != directory.find_holder_pid():
        raise StartError(f"cluster {directory.name!r} does not run: {start_hint(directory.name)}")
    found = read_hot_loops(record)
    if output == "json":
        click.echo(json.dumps([asdict(loop) for loop in found], indent=2))
    elif found:
        rows = [("COMPONENT", "CONTROLLER", "OBJECT", "CAUSE", "PER-MINUTE")]
        rows += [(one.component, one.controller, one.object, one.cause, str(one.per_minute)) for one in found]
        click.echo(_format_table(rows))
    else:
        click.echo("No loops.")
    return Exit.FAILED if found else Exit.OK


def read_status(directory: StateDirectory) -> ClusterStatus:
    """Return the state of the cluster in a state directory."""
    pid = directory.find_holder_pid()
    if pid is None:
        return ClusterStatus(directory.name, "Stopped" if directory.is_durable() else "Absent")
    record = RunningRecord.read(directory)
    # The record of an earlier run stays until the new process has written its own.
    if record is None or record.pid != pid:
        return ClusterStatus(directory.name, "Starting", pid=pid)
    return ClusterStatus(
        directory.name,
        "Running",
        record.version,
        record.url,
        pid,
        record.database,
        record.kubeconfig,
        record.components,
    )


def _find_directories() -> list[StateDirectory]:
    root = state_root(os.environ)
    if not root.is_dir():
        return []
    found = [StateDirectory(path) for path in sorted(root.iterdir()) if path.is_dir()]
    return [one for one in found if one.is_durable() or one.find_holder_pid() is not None]


def _format_tables(statuses: list[ClusterStatus]) -> str:
    """Return a table of clusters, and of components if there is only one cluster."""
    rows = [("NAME", "STATE", "VERSION", "URL", "PID", "DATABASE")]
    rows += [(s.name, s.state, s.version, s.url, str(s.pid or ""), s.database) for s in statuses]
    tables = [_format_table(rows)]
    if len(statuses) == 1 and statuses[0].components:
        parts = [("COMPONENT", "VERSION", "RUNNING", "URL")]
        parts += [(one.name, one.version, str(one.running).lower(), one.url) for one in statuses[0].components]
        tables.append(_format_table(parts))
    return "\n\n".join(tables)


def _format_table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("   ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
