"""Terminal output of scenario runs: progress while they run, a table at the end."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TextIO

from mockkube.scenario.output.claim_results import decide_claims, summarize
from mockkube.scenario.runner.results import RunOutcome, RunResult
from mockkube.scenario.runner.run_pool import replay_command

_MARKS: Final = {
    RunOutcome.PASSED: "ok",
    RunOutcome.SKIPPED: "skipped",
    RunOutcome.FAILED: "FAILED",
    RunOutcome.TIMED_OUT: "TIMED OUT",
    RunOutcome.NOT_STARTED: "NOT STARTED",
    RunOutcome.BROKEN: "BROKEN",
}
_WIDTH_MAX: Final = 90


def show_progress(
    results: Iterable[tuple[int, RunResult]], total: int, stream: TextIO
) -> Iterator[tuple[int, RunResult]]:
    """Yield results as they arrive, with progress shown on a terminal."""
    if not stream.isatty():
        yield from results
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    # rich comes with an extra; without it a counter is shown.
    except ImportError:
        yield from _show_counter(results, total, stream)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        task = progress.add_task("", total=total)
        for index, result in results:
            progress.update(task, advance=1, description=f"{_MARKS[result.outcome]} {result.title}"[:_WIDTH_MAX])
            yield index, result


def _show_counter(
    results: Iterable[tuple[int, RunResult]], total: int, stream: TextIO
) -> Iterator[tuple[int, RunResult]]:
    for done, (index, result) in enumerate(results, 1):
        stream.write(f"\r{done}/{total} ")
        stream.flush()
        yield index, result
    stream.write("\r")


def render_table(results: Sequence[RunResult], *, verbose: bool = False) -> Iterator[str]:
    """Yield the table of runs, the details of failures, and the totals."""
    heads, rows = _make_columns(results)
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    for row, result in zip((heads, *rows), (None, *results), strict=True):
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        if result is not None and verbose:
            yield from _render_steps(result)
    for result in results:
        if result.outcome not in (RunOutcome.PASSED, RunOutcome.SKIPPED):
            yield from _render_failure(result)
    if skipped := list(_render_skipped(results)):
        yield ""
        yield from skipped
    yield ""
    yield summarize(results)


def _make_columns(results: Sequence[RunResult]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads and rows; the column of claims exists only if any run has claims."""
    heads: tuple[str, ...] = ("RESULT", "SCENARIO", "REAL", "VIRTUAL")
    rows: list[tuple[str, ...]] = [
        (_MARKS[one.outcome], one.title, f"{one.real_seconds:.2f}s", _format_virtual_time(one)) for one in results
    ]
    if not any(one.claims for one in results):
        return heads, rows
    return (*heads, "CLAIM"), [(*row, _format_claims(one)) for row, one in zip(rows, results, strict=True)]


def _format_claims(result: RunResult) -> str:
    """Return the outcomes of a run's claims."""
    return ", ".join(one.outcome or "not decided" for one in decide_claims([result]))


def _format_virtual_time(result: RunResult) -> str:
    minutes, seconds = divmod(result.virtual_seconds, 60)
    return f"{int(minutes)}m{round(seconds, 3):g}s" if minutes else f"{round(seconds, 3):g}s"


def _render_steps(result: RunResult) -> Iterator[str]:
    for step in result.steps:
        suffix = f" {step.description}" if step.description else ""
        suffix += f" ({step.message})" if step.outcome is RunOutcome.SKIPPED else ""
        yield f"    {step.began_at:9.3f}s  {_MARKS[step.outcome]:8} {step.verb}{suffix}"
        yield from (f"               {line}" for text in step.log for line in text.splitlines())


def _render_failure(result: RunResult) -> Iterator[str]:
    yield ""
    yield f"{_MARKS[result.outcome]}: {result.title}"
    yield f"  {result.file}: {result.message}".replace("\n", "\n  ")
    for step in result.steps:
        # Steps of a catch block exist to show the state after a failure, so their output counts although they pass.
        if step.outcome is not RunOutcome.PASSED or step.block.endswith(": catch"):
            yield from (f"  | {line}" for text in step.log for line in text.splitlines())
    yield f"  replay: {replay_command(result)}"


def _render_skipped(results: Sequence[RunResult]) -> Iterator[str]:
    """Yield what was skipped, and why."""
    for result in results:
        if result.outcome is RunOutcome.SKIPPED:
            yield f"skipped: {result.title}: {result.message}"
        for step in result.steps:
            if step.outcome is RunOutcome.SKIPPED:
                yield f"skipped: {result.title}, line {step.line}: {step.verb}: {step.message}"
