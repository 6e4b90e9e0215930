"""`mockkube atlas`: what a feature gate does while it is on for some components only."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mockkube.cli.exits import Exit
from mockkube.cli.options import output_option
from mockkube.cli.shipped_files import shipped_directory
from mockkube.cluster.configuration.errors import ConfigurationError, StartError

if TYPE_CHECKING:
    from mockkube.atlas.atlas import GateTask
    from mockkube.atlas.gate_entry import GateEntry

_FOLDER: Final = "gates"
_CLOSE_MATCHES_MAX: Final = 1


@click.command(short_help="Turn a gate on for some components only; report what breaks.")
@click.argument("gates", nargs=-1, metavar="[GATE]...")
@click.option("--all", "plays_all", is_flag=True, help="Run the workload of every gate.")
@click.option("--plan", "prints_plan", is_flag=True, help="Print the rollout plan of the gate, for `mockkube explore`.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Write Markdown, HTML and JSON into a directory; other gates that are in it stay.",
)
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Processes that run gates. [one per core]")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@output_option("md", "json")
def command(gates: Sequence[str], **options: Any) -> Exit:
    """Run the workload of a feature gate while only some components have it on, in every order, up and down.

    Prints which orders are safe, what goes wrong in the others, and what turning the gate off loses. Without a gate,
    it lists the gates and the components that read them.
    """
    tasks = _make_tasks(gates)
    if options["prints_plan"]:
        return _print_plans(tasks)
    if not gates and not options["plays_all"]:
        return _list_gates(tasks)
    entries = _play(tasks, options["workers"], hide_progress=options["quiet"])
    if options["out"]:
        _write(entries, Path(options["out"]), keeps_others=not options["plays_all"])
    else:
        _print(entries, options["output"])
    return Exit.OK


def _make_tasks(gates: Sequence[str]) -> "list[GateTask]":
    from mockkube.atlas.atlas import UnknownGateError, make_tasks
    from mockkube.scenario.errors import ScenarioError

    try:
        return make_tasks(shipped_directory() / _FOLDER, gates)
    except UnknownGateError as error:
        raise ConfigurationError(f"no release from 1.33 to 1.37 has a gate {error}{_suggest(str(error))}") from None
    except ScenarioError as error:
        raise ConfigurationError(str(error)) from None


def _suggest(gate: str) -> str:
    from difflib import get_close_matches

    from mockkube.atlas.gate_readers import list_gates

    close = get_close_matches(gate, list_gates(), _CLOSE_MATCHES_MAX)
    return f": did you mean {close[0]}?" if close else ": 'mockkube atlas' lists them"


def _play(tasks: "Sequence[GateTask]", workers: int | None, *, hide_progress: bool) -> "list[GateEntry]":
    from mockkube.atlas.atlas import play_tasks

    def report(left: int) -> None:
        if not hide_progress and len(tasks) > 1:
            click.echo(f"{len(tasks) - left} of {len(tasks)} gates done", err=True)

    return play_tasks(tasks, min(workers or os.cpu_count() or 1, len(tasks)), report)


def _print(entries: "Sequence[GateEntry]", output: str) -> None:
    if output == "json":
        import json

        click.echo(json.dumps([entry.to_json() for entry in entries], indent=2))
        return
    from mockkube.report.gate_markdown import render_gate

    click.echo("\n".join(render_gate(entry) for entry in entries), nl=False)


def _print_plans(tasks: "Sequence[GateTask]") -> Exit:
    from mockkube.atlas.gate_plan import render_plan
    from mockkube.atlas.gate_trial import make_trial

    for number, task in enumerate(tasks):
        trial = make_trial(task.workload) if task.workload is not None else None
        if trial is None or trial.workload.unobservable:
            raise ConfigurationError(f"{task.gate}: it has no plan: 'mockkube atlas {task.gate}' says why")
        click.echo(f"{'---' if number else ''}{chr(10) if number else ''}{render_plan(trial)}", nl=False)
    return Exit.OK


def _list_gates(tasks: "Sequence[GateTask]") -> Exit:
    from mockkube.atlas.gate_readers import find_readers

    readers = find_readers()
    width = max(len(task.gate) for task in tasks)
    for task in tasks:
        components = ", ".join(readers.get(task.gate, {}))
        click.echo(f"{task.gate:<{width}}  {components or 'not simulated'}")
    return Exit.OK


def _write(entries: "Sequence[GateEntry]", folder: Path, *, keeps_others: bool) -> None:
    from mockkube.atlas.atlas import JSON_FILE, merge_entries, save_entries
    from mockkube.atlas.gate_entry import GateStatus
    from mockkube.report.gate_markdown import render_gate, render_index
    from mockkube.report.pages.gate_atlas_page import render

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if keeps_others:
            entries = merge_entries(entries, folder / JSON_FILE)
        save_entries(entries, folder / JSON_FILE)
        (folder / "README.md").write_text(render_index(entries))
        (folder / "index.html").write_text(render(entries))
        for entry in entries:
            if entry.status is not GateStatus.NOT_SIMULATED:
                (folder / f"{entry.gate}.md").write_text(render_gate(entry))
    except OSError as error:
        raise StartError(f"--out: {folder}: {error.strerror}: give a directory that can be written") from None
