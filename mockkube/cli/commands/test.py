"""`mockkube test`: run scenarios and report their checks."""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mockkube.cli.dask_option import dask_option, open_dask_pool, workers_option
from mockkube.cli.exits import Exit
from mockkube.cli.picture_option import picture_option, write_picture
from mockkube.cli.shipped_files import find_shipped
from mockkube.cluster.configuration.errors import ConfigurationError, StartError

if TYPE_CHECKING:
    from mockkube.scenario.runner.results import RunResult
    from mockkube.scenario.runner.scenario_runner import RunOptions, ScenarioRun
    from mockkube.scenario.scenario import Scenario

__test__ = False  # pytest would collect it by its name


@click.command(short_help="Run scenarios in virtual time.")
@click.argument("paths", nargs=-1, type=click.Path(), metavar="PATH...")
@workers_option
@dask_option
@click.option("--scenario", metavar="NAME", default="", help="Run the scenario of this name only.")
@click.option("--cell", metavar="CELL", help="Run this combination of the matrix only, like gate=true.")
@click.option("--seed", "seeds", type=int, multiple=True, metavar="N", help="Run with this seed. May be repeated.")
@click.option("--junit", metavar="FILE", type=click.Path(), help="Write the results as JUnit's XML.")
@click.option("--report", metavar="FILE", type=click.Path(), help="Write a report as one HTML file.")
@picture_option
@click.option(
    "--summary", metavar="FILE", type=click.Path(), help="Write all claims and their outcomes, as a page of Markdown."
)
@click.option("--trace", metavar="FILE", type=click.Path(), help="Write a trace of every step; - prints it.")
@click.option("--timeout", type=click.FloatRange(0.1), default=300.0, show_default=True, metavar="SECONDS",
              help="How long one run may take, in real time.")  # fmt: skip
@click.option("--real-time", is_flag=True, help="Run on clusters of their own in real time.")
@click.option("--against", metavar="KUBECONFIG", type=click.Path(), help="Run on a cluster that exists, in real time.")
@click.option("--kubectl", metavar="PATH", default="", help="Use this kubectl for kubectl steps.")
@click.option("--list", "lists", is_flag=True, help="List the runs without running them.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of scenario files.")
@click.option("--verbose", "-v", is_flag=True, help="Report every step.")
def command(paths: tuple[str, ...], *, schema: bool, lists: bool, **options: Any) -> Exit:
    """Run the scenarios of files and directories; each run has a cluster of its own.

    Ends with 0 when all passed, 1 when a check failed, 2 for a mistake in a file, 3 when a cluster did not
    start, 4 when a run took too long or never came to rest.
    """
    if schema:
        from mockkube.scenario.runner.file_schema import render_schema

        click.echo(render_schema())
        return Exit.OK
    logging.basicConfig(level=logging.WARNING if options["verbose"] else logging.CRITICAL, stream=sys.stderr)
    runs = _collect_runs(paths, options)
    if lists:
        for run in runs:
            cell = f" [{run.cell}]" if run.cell.values else ""
            click.echo(f"{run.scenario.name}{cell} seed {run.seed}")
        return Exit.OK
    return _play(runs, {**options, "paths": paths, "run_count": len(runs)})


def _collect_runs(paths: Sequence[str], options: dict[str, Any]) -> "list[ScenarioRun]":
    """Return the runs to play; raise ConfigurationError with every file that has a mistake."""
    from mockkube.scenario.errors import ScenarioError
    from mockkube.scenario.runner.loading import find_files
    from mockkube.scenario.runner.run_pool import list_runs

    if not paths:
        raise click.UsageError("no scenarios: give files or directories of them")
    try:
        scenarios = _load_scenarios(find_files([find_shipped(path) for path in paths]))
        return list_runs(scenarios, name=options["scenario"], cell=options["cell"], seeds=options["seeds"])
    except ScenarioError as error:
        raise ConfigurationError(str(error)) from None


def _load_scenarios(files: Sequence[Path]) -> "list[Scenario]":
    from mockkube.scenario.errors import ScenarioError
    from mockkube.scenario.runner.loading import load

    scenarios: list[Scenario] = []
    mistakes: list[str] = []
    for file in files:
        try:
            scenarios += load(file)
        except ScenarioError as error:
            mistakes.append(str(error))
    if len(mistakes) > 1:
        listed = "".join(f"\n  {one}" for one in mistakes)
        raise ScenarioError(f"{len(mistakes)} of {len(files)} files cannot be run:{listed}")
    if mistakes:
        raise ScenarioError(mistakes[0])
    return scenarios


def _play(runs: "list[ScenarioRun]", options: dict[str, Any]) -> Exit:
    from mockkube.scenario.output.console import render_table, show_progress

    ended = dict(show_progress(_play_all(runs, options), len(runs), sys.stderr))
    results = [ended[index] for index in sorted(ended)]
    for line in render_table(results, verbose=options["verbose"]):
        click.echo(line)
    _write_outputs(results, options)
    return _exit_code(results)


def _play_all(runs: "list[ScenarioRun]", options: dict[str, Any]) -> "Iterator[tuple[int, RunResult]]":
    """Play runs on this machine or on a Dask cluster; yield index and result of each as it ends."""
    run_options = _build_run_options(options)
    if options["dask"] is None:
        from mockkube.scenario.runner.run_pool import play_all

        yield from play_all(runs, run_options, options["workers"] or os.cpu_count() or 1)
        return
    if run_options.against:
        raise ConfigurationError("--against: other machines may not reach that cluster: leave out --dask")
    with open_dask_pool(options["dask"], options["workers"]) as pool:
        from mockkube.scenario.runner.distributed_runs import play_distributed

        yield from play_distributed(runs, run_options, pool)


def _build_run_options(options: dict[str, Any]) -> "RunOptions":
    from mockkube.scenario.runner.scenario_runner import RunOptions

    return RunOptions(
        options["timeout"],
        # A picture shows the timeline of an only run.
        keeps_traced_steps=bool(options["report"] or (options["picture"] and options["run_count"] == 1)),
        keeps_trace=options["trace"] is not None,
        kubectl=options["kubectl"],
        real_time=options["real_time"],
        against=options["against"] or "",
    )


def _write_outputs(results: "Sequence[RunResult]", options: dict[str, Any]) -> None:
    if options["junit"]:
        from mockkube.scenario.output.junit import render_junit

        _write_file(options["junit"], render_junit(results), "--junit")
    if options["report"]:
        from mockkube.report.pages.runs_page import render as render_page

        _write_file(options["report"], render_page(results), "--report")
    if options["picture"]:
        from mockkube.report.pictures import runs_card

        write_picture(options, runs_card.render(results, options["paths"]))
    if options["summary"]:
        from mockkube.scenario.output import claims_page

        _write_file(options["summary"], claims_page.render_claims_page(results, Path(options["summary"])), "--summary")
    if options["trace"]:
        text = "\n".join(f"# {one.title} {one.digest}\n{one.trace}" for one in results)
        click.echo(text) if options["trace"] == "-" else _write_file(options["trace"], text, "--trace")


def _write_file(path: str, text: str, flag: str) -> None:
    try:
        Path(path).write_text(text)
    except OSError as error:
        raise StartError(f"{flag}: {path}: {error.strerror}: give a file that can be written") from None


def _exit_code(results: "Sequence[RunResult]") -> Exit:
    from mockkube.scenario.runner.results import RunOutcome, worst_outcome

    return {
        RunOutcome.BROKEN: Exit.USAGE,
        RunOutcome.NOT_STARTED: Exit.NOT_STARTED,
        RunOutcome.TIMED_OUT: Exit.TIMED_OUT,
        RunOutcome.FAILED: Exit.FAILED,
    }.get(worst_outcome(results), Exit.OK)
