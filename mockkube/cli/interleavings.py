"""`mockkube explore --interleavings`: try the orders of component steps after each action of a plan."""

import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from mockkube.cli.exits import Exit
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.explore.interleavings import plan_file
from mockkube.explore.interleavings.exploration import InterleavingExploration, explore_interleavings
from mockkube.explore.interleavings.plan import InterleavingPlan
from mockkube.explore.interleavings.search import SearchBounds, SearchResult
from mockkube.lazy_dataclasses import dataclass
from mockkube.report import interleavings as report
from mockkube.runtime.clock import RealClock
from mockkube.scenario.errors import ScenarioError

_LINE_INTERVAL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class InterleavingOptions:
    """Options of the command line."""

    depth: int
    seconds: float
    seed: int | None
    # Components or workers whose steps are divided, instead of those of the plan.
    divided: tuple[str, ...]
    processes: int | None
    trace: str | None
    output: str
    quiet: bool


def run(path: Path, options: InterleavingOptions, command: str) -> Exit:
    """Explore every window of a plan and print the results; FAILED unless exactly the known races were found.

    `command` explores the plan again.
    """
    plans = _load(path, options.seed)
    if options.divided:
        plans = [replace(plan, divided=options.divided) for plan in plans]
    bounds = SearchBounds(options.depth, options.seconds)
    logging.disable(logging.CRITICAL)  # the components of hundreds of clusters would log here
    try:
        results = [_explore(plan, bounds, options) for plan in plans]
    finally:
        logging.disable(logging.NOTSET)
    if options.trace:
        _print_replay_plan(results, options.trace)
        return Exit.OK
    match options.output:
        case "json":
            click.echo(json.dumps(report.to_json(results), indent=2))
        case "yaml":
            click.echo(_to_yaml(report.to_json(results)), nl=False)
        case "md":
            click.echo(report.render_markdown(results, command), nl=False)
        case _:
            click.echo(report.render_text(results, command))
    return Exit.OK if all(one.is_as_expected for one in results) else Exit.FAILED


def _load(path: Path, seed: int | None) -> list[InterleavingPlan]:
    try:
        plans = plan_file.load(path)
    except ScenarioError as error:
        raise ConfigurationError(str(error)) from None
    return plans if seed is None else [replace(plan, seed=seed) for plan in plans]


def _explore(plan: InterleavingPlan, bounds: SearchBounds, options: InterleavingOptions) -> InterleavingExploration:
    progress = _make_progress(plan, hide=options.quiet)
    processes = options.processes or os.cpu_count() or 1
    try:
        return explore_interleavings(plan, bounds, RealClock(), progress, processes=processes)
    except ScenarioError as error:
        raise ConfigurationError(str(error)) from None
    finally:
        if not options.quiet and sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _make_progress(plan: InterleavingPlan, *, hide: bool) -> Callable[[SearchResult, int], None]:
    """Return what reports progress on stderr: a line that changes in a terminal, else one every ten seconds."""
    clock = RealClock()
    printed_at = clock.monotonic()

    def show(result: SearchResult, waiting: int) -> None:
        nonlocal printed_at
        text = f"{plan.name}: {result.played} schedules run, {waiting} waiting, {len(result.breaks)} races found"
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        elif clock.monotonic() - printed_at >= _LINE_INTERVAL_SECONDS:
            printed_at = clock.monotonic()
            print(text, file=sys.stderr, flush=True)

    return (lambda result, waiting: None) if hide else show


def _print_replay_plan(results: Sequence[InterleavingExploration], invariant: str) -> None:
    for result in results:
        for trace in result.traces:
            if trace.broken.invariant == invariant and result.plan.document:
                click.echo(_to_yaml(report.make_replay_plan(result, trace)), nl=False)
                return
    known = ", ".join(sorted({name for result in results for name in result.search.breaks})) or "none"
    raise ConfigurationError(f"--trace: {invariant!r} was not broken: broken are {known}")


def _to_yaml(value: object) -> str:
    import yaml

    text: str = yaml.safe_dump(value, sort_keys=False, width=1000)
    return text
