"""`mockkube import`: turn a dump or a running cluster into a snapshot, from which clusters start."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mockkube.cli.cluster_imports import import_options, import_sources
from mockkube.cli.exits import Exit
from mockkube.cli.options import output_option
from mockkube.cluster.configuration.errors import ConfigurationError, StartError

if TYPE_CHECKING:
    from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents
    from mockkube.importing.cluster_import import ImportedCluster
    from mockkube.importing.movements import SnapshotCheck

_ROWS_MAX: Final = 30
# Virtual time of larger clusters takes minutes.
_CHECKED_MAX: Final = 20_000


@click.command(short_help="Turn a dump or a running cluster into a snapshot.")
@click.argument("sources", nargs=-1, type=click.Path(), metavar="[DUMP]...")
@click.option("--to", "target", metavar="FILE", default="cluster.snapshot", show_default=True,
              type=click.Path(), help="The snapshot to write.")  # fmt: skip
@import_options
@click.option("--check/--no-check", default=None,
              help="List what changes within ten virtual minutes. [--check, up to 20,000 objects]")  # fmt: skip
@output_option("table", "json")
def command(sources: tuple[str, ...], target: str, output: str, *, check: bool | None, **options: Any) -> Exit:
    """Turn a dump or a running cluster into a snapshot, for `mockkube up --snapshot` and `mockkube rehearse`.

    A DUMP is a file or directory of `kubectl get -A -o yaml` or `-o json`, of `kubectl cluster-info dump`, or of
    `etcdctl get --prefix /registry -w json`, or a file of `etcdctl snapshot save`; `-` is standard input. Without one
    the cluster of the kubeconfig is read.
    Then a cluster starts from the snapshot in virtual time, and what it changes by itself is listed.
    """
    from mockkube.importing.errors import UnreadableDumpError

    try:
        imported = import_sources(sources, options)
    except UnreadableDumpError as error:
        raise ConfigurationError(str(error)) from None
    from mockkube.explore.replay import without_logs
    from mockkube.importing.completion import complete_contents
    from mockkube.importing.movements import check_snapshot

    with without_logs():
        contents, added = asyncio.run(complete_contents(imported.contents))
    imported.report.added = len(added)
    write_snapshot(contents, target)
    if check is None:
        check = imported.report.total <= _CHECKED_MAX
    # What components log about odd objects is in the report: as a change, or as a component that fails.
    with without_logs():
        found = asyncio.run(check_snapshot(contents)) if check else None
    click.echo(_render_json(imported, found) if output == "json" else _render(imported, found, target))
    return Exit.FAILED if found is not None and found.failed_components else Exit.OK


def write_snapshot(contents: "SnapshotContents", target: str) -> None:
    """Write a snapshot; raise StartError if that fails."""
    try:
        Path(target).write_bytes(contents.to_bytes())
    except OSError as error:
        raise StartError(f"{target}: {error.strerror}: give a file that can be written, --to FILE") from None


def _render(imported: "ImportedCluster", check: "SnapshotCheck | None", target: str) -> str:
    from mockkube.importing.import_text import render_import

    return "\n".join([*render_import(imported.report, check, _ROWS_MAX), f"Written to {target}"])


def _render_json(imported: "ImportedCluster", check: "SnapshotCheck | None") -> str:
    from mockkube.importing.import_text import import_to_json

    return json.dumps(import_to_json(imported.report, check), indent=2)
