"""`mockkube perturb`: run a controller again and again with one disturbance each."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mockkube.cli.exits import Exit
from mockkube.cli.picture_option import picture_option, write_picture
from mockkube.cluster.configuration.errors import ConfigurationError, StartError

if TYPE_CHECKING:
    from mockkube.perturb.session import Progress, SessionResult


@click.command(short_help="Run a controller again and again with one disturbance each.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("--workload", "directory", type=click.Path(path_type=Path), metavar="DIR",
              help="Manifests, applied in the order of their files, and perturb.yaml.")  # fmt: skip
@click.option("--time", "seconds_max", type=click.FloatRange(1), default=600.0, show_default=True, metavar="SECONDS",
              help="How long all runs together may take.")  # fmt: skip
@click.option("--jobs", "-j", type=click.IntRange(1), metavar="N",
              help="Runs at the same time. [as many as fit the processors, at most 12]")  # fmt: skip
@click.option("--references", type=click.IntRange(1), default=3, show_default=True, metavar="N",
              help="Undisturbed runs to compare with.")  # fmt: skip
@click.option("--only", multiple=True, metavar="ID", help="Try this perturbation only. May be repeated.")
@click.option("--one-by-one", is_flag=True, help="Give each perturbation a run of its own, even if time runs out.")
@click.option("--steps", metavar="N,N", default="", help="Run these steps of the workload only.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of uids and generated names.")
@click.option("--list", "lists", is_flag=True, help="Run the workload undisturbed, and list the perturbations.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of perturb.yaml.")
@click.option("--junit", metavar="FILE", type=click.Path(), help="Write the results as JUnit's XML.")
@click.option("--report", metavar="FILE", type=click.Path(), help="Write a report as one HTML file.")
@picture_option
@click.option("--markdown", metavar="FILE", type=click.Path(), help="Write the findings as Markdown.")
@click.option("--verbose", "-v", is_flag=True, help="Show the timeline of each finding.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def command(command: tuple[str, ...], directory: Path | None, *, lists: bool, schema: bool, **options: Any) -> Exit:
    """Run a controller against clusters of its own: undisturbed, then with one perturbation in each run.

    COMMAND is any program that reads KUBECONFIG; {kubeconfig} in an argument is replaced by its path. Perturbations are
    chosen from what the controller does: crashes after writes, failed and repeated requests, held back and missed
    events, stale caches. Ends with 1 when the controller does not recover from one of them.
    """
    if schema:
        from mockkube.perturb.workload_schema import render_schema

        click.echo(render_schema())
        return Exit.OK
    if directory is None:
        raise ConfigurationError("--workload is missing: give a directory with manifests, or with perturb.yaml")
    from mockkube.explore.replay import without_logs
    from mockkube.perturb.session import SessionOptions, run_session
    from mockkube.perturb.workload_file import load_workload
    from mockkube.runtime.clock import RealClock

    workload = load_workload(directory, command, _parse_steps(options["steps"]))
    session_options = SessionOptions(
        seconds_max=1.0 if lists else options["seconds_max"],
        jobs=options["jobs"],
        references=options["references"],
        seed=options["seed"],
        only=options["only"],
        one_by_one=options["one_by_one"],
        command=command,
    )
    with without_logs() if not options["verbose"] else nullcontext():
        progress = _make_progress(hide=options["quiet"], with_counts=not lists)
        result = asyncio.run(_run_until_signal(run_session(workload, session_options, RealClock(), progress)))
    if result is None:
        return Exit.INTERRUPTED
    if lists:
        for one in result.not_tried:
            click.echo(f"{one.id}: {one.text}")
        return Exit.OK
    _print_result(result, options)
    return Exit.FAILED if result.findings else Exit.OK


def _parse_steps(text: str) -> frozenset[int]:
    try:
        return frozenset(map(int, filter(None, text.split(","))))
    except ValueError:
        raise ConfigurationError(f"--steps {text}: give numbers of steps, like 1,3") from None


async def _run_until_signal(session: "Coroutine[Any, Any, SessionResult]") -> "SessionResult | None":
    """Run a session; None if a signal ends it, after the controller's processes have ended."""
    loop = asyncio.get_running_loop()
    running = loop.create_task(session, name="session")
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, running.cancel)
    try:
        return await running
    except asyncio.CancelledError:
        return None


def _make_progress(*, hide: bool, with_counts: bool) -> "Callable[[Progress], None]":
    def show(progress: "Progress") -> None:
        if hide or (progress.total and not with_counts):
            return
        if not progress.total:
            print(progress.text, file=sys.stderr, flush=True)
            return
        counts = f"{progress.done} of {progress.total} perturbations, {progress.findings} with findings"
        print(f"{counts} {progress.text}".rstrip(), file=sys.stderr, flush=True)

    return show


def _print_result(result: "SessionResult", options: dict[str, Any]) -> None:
    from mockkube.perturb.output.console import render_result

    for line in render_result(result, verbose=options["verbose"]):
        click.echo(line)
    if options["junit"]:
        from mockkube.perturb.output.junit import render_junit

        _write_file(options["junit"], render_junit(result), "--junit")
    if options["markdown"]:
        from mockkube.perturb.output.markdown import render_markdown

        _write_file(options["markdown"], render_markdown(result), "--markdown")
    if options["picture"]:
        from mockkube.perturb.output.picture import render_picture

        write_picture(options, render_picture(result))
    if options["report"]:
        from mockkube.perturb.output.page import render_report

        _write_file(options["report"], render_report(result), "--report")


def _write_file(path: str, text: str, flag: str) -> None:
    try:
        Path(path).write_text(text)
    except OSError as error:
        raise StartError(f"{flag}: {path}: {error.strerror}: give a file that can be written") from None
