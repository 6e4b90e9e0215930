"""`mockkube explore`: try every order of a rollout in virtual time."""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mockkube.cli.dask_option import dask_option, open_dask_pool, workers_option
from mockkube.cli.exits import Exit
from mockkube.cli.options import output_option
from mockkube.cli.picture_option import picture_option, write_picture
from mockkube.cli.shipped_files import find_shipped
from mockkube.cluster.configuration.errors import ConfigurationError, StartError
from mockkube.runtime.clock import RealClock

if TYPE_CHECKING:
    from mockkube.explore.exploration import Exploration, Players
    from mockkube.explore.plans.plan import RolloutPlan

_BAR_WIDTH = 30
_TENTHS = 10
_LINE_INTERVAL_SECONDS = 10.0


@click.command(short_help="Try every order of a rollout.")
@click.argument("plan", type=click.Path(), metavar="PLAN")
@workers_option
@dask_option
@click.option("--seed", type=int, metavar="N", help="Seed of all random numbers. [the plan's]")
@click.option("--report", metavar="FILE", type=click.Path(), help="Write a report as one HTML file.")
@picture_option
@click.option(
    "--trace", metavar="INVARIANT",
    help="Print the counterexample to an invariant as a scenario to run; `undisturbed`: the rollback "
    "without disturbances.",
)  # fmt: skip
@click.option(
    "--undisturbed", is_flag=True,
    help="Leave out the disturbances: what the orders down do by themselves, after orders up that break nothing.",
)  # fmt: skip
@click.option(
    "--check", "checks", type=click.IntRange(0), default=0, metavar="N",
    help="Run N paths again from start to end, and compare them with the results of shared states.",
)  # fmt: skip
@click.option(
    "--interleavings", is_flag=True,
    help="Try the orders in which component steps can follow each action, instead of orders of changes.",
)  # fmt: skip
@click.option(
    "--depth", type=click.IntRange(1), metavar="N",
    help="With --interleavings: most changes to the default order in one schedule. [2]",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), metavar="N",
    help="With --interleavings: longest search for each window. [60]",
)  # fmt: skip
@click.option(
    "--divide", multiple=True, metavar="WORKER",
    help="With --interleavings: divide the steps of a component or worker at their requests, like "
    "kube-controller-manager/garbage-collector. May be repeated.",
)  # fmt: skip
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@output_option("table", "json", "yaml", "md")
def command(plan: str, **options: Any) -> Exit:
    """Try every order in which the components of a plan can change, and change back.

    Reports which orders are safe, which are not, and which were not tried; what harm they do, and how each broken
    invariant breaks in the fewest moves. Ends with 1 when an order that the plan calls safe is not, or was not tried,
    or when a checked path had another result; with 2 for a mistake in the plan.
    """
    if options["interleavings"]:
        return _explore_interleavings(plan, options)
    for name in ("depth", "seconds", "divide"):
        if options[name]:
            raise ConfigurationError(f"--{name} belongs to --interleavings: give both or neither")
    read = _load_plan(plan, options["seed"], undisturbed=options["undisturbed"])
    from mockkube.explore.replay import without_logs

    # Without logs: the components of thousands of clusters would log here.
    with without_logs(), _open_player(read, options["workers"], options["dask"]) as play:
        result = _explore(read, play, options)
    if options["trace"]:
        return _print_trace(result, options["trace"])
    _print_result(result, options["output"], _format_command(plan, options))
    if options["report"]:
        _write_report(result, options["report"])
    if options["picture"]:
        from mockkube.report.pictures import exploration_card

        write_picture(options, exploration_card.render(result))
    differing = result.checked is not None and result.checked.differences
    expected = result.plan.undisturbed_rollback
    if options["undisturbed"] and expected is not None and (wrong := expected ^ result.find_undisturbed()):
        from mockkube.report.wording import format_order

        orders = ", ".join(sorted(map(format_order, wrong)))
        print(f"undisturbedRollback of the plan is wrong for: {orders}", file=sys.stderr)
        return Exit.FAILED
    return Exit.FAILED if result.refuted_claims or result.unconfirmed_claims or differing else Exit.OK


def _explore_interleavings(path: str, options: dict[str, Any]) -> Exit:
    from mockkube.cli.interleavings import InterleavingOptions, run
    from mockkube.explore.interleavings.search import DEPTH, SECONDS

    for name in ("dask", "report", "picture", "checks", "undisturbed"):
        if options[name]:
            instead = "use -o md or -o json" if name in ("report", "picture") else "leave it out"
            raise ConfigurationError(f"--{name.removesuffix('s')} does not work with --interleavings: {instead}")
    given = InterleavingOptions(
        depth=options["depth"] or DEPTH,
        seconds=options["seconds"] or SECONDS,
        seed=options["seed"],
        divided=options["divide"],
        processes=options["workers"],
        trace=options["trace"],
        output=options["output"],
        quiet=options["quiet"],
    )
    return run(find_shipped(path), given, shlex.join(["mockkube", "explore", path, "--interleavings"]))


def _load_plan(path: str, seed: int | None, *, undisturbed: bool) -> "RolloutPlan":
    from dataclasses import replace

    from mockkube.explore.plans.loading import load
    from mockkube.scenario.errors import ScenarioError

    try:
        plan = load(find_shipped(path))
    except ScenarioError as error:
        raise ConfigurationError(str(error)) from None
    plan = replace(plan, disturbances=()) if undisturbed else plan
    return plan if seed is None else replace(plan, seed=seed)


@contextmanager
def _open_player(plan: "RolloutPlan", workers: int | None, dask: str | None) -> "Iterator[Players]":
    """Yield what plays paths: processes of this machine, or a Dask cluster."""
    if dask is not None:
        with open_dask_pool(dask, workers) as pool:
            from mockkube.explore.distributed_player import DistributedPlayer

            yield DistributedPlayer(plan, pool)
        return
    from mockkube.explore.players import ParallelPlayer

    with ParallelPlayer(plan, workers or os.cpu_count() or 1) as player:
        yield player


def _explore(plan: "RolloutPlan", play: "Players", options: dict[str, Any]) -> "Exploration":
    from mockkube.explore.exploration import explore_plan

    progress = _make_progress(hide_progress=options["quiet"])
    try:
        return explore_plan(plan, play, progress, checks=options["checks"], undisturbed=options["undisturbed"])
    finally:
        progress.end()


class _ProgressBar:
    """Progress bar on stderr, for a terminal."""

    def __init__(self) -> None:
        self.total = 0

    def __call__(self, left: int) -> None:
        """Report how many paths are not done yet."""
        self.total = max(self.total, left)
        if self.total:
            self.show(self.total - left)

    def show(self, done: int) -> None:
        """Show how many paths are done."""
        bar = "#" * (done * _BAR_WIDTH // self.total)
        print(f"\r[{bar:<{_BAR_WIDTH}}] {done} of {self.total} paths done", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        print("\r\033[K", end="", file=sys.stderr, flush=True)


class _ProgressLines(_ProgressBar):
    """Progress lines on stderr, for a file or pipe: one each tenth of the paths and every ten seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._clock = RealClock()
        self._printed_at = self._clock.monotonic()
        self._tenth = 0

    def show(self, done: int) -> None:
        """Print a line if a tenth or ten seconds have passed."""
        tenth, now = done * _TENTHS // self.total, self._clock.monotonic()
        if tenth > self._tenth or now - self._printed_at >= _LINE_INTERVAL_SECONDS:
            self._tenth, self._printed_at = tenth, now
            print(f"{done} of {self.total} paths done ({done * 100 // self.total} %)", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Do nothing: each line is complete."""


class _NoProgress(_ProgressBar):
    """No progress output."""

    def show(self, done: int) -> None: ...

    def end(self) -> None: ...


def _make_progress(*, hide_progress: bool) -> _ProgressBar:
    if hide_progress:
        return _NoProgress()
    return _ProgressBar() if sys.stderr.isatty() else _ProgressLines()


def _print_trace(result: "Exploration", invariant: str) -> Exit:
    from mockkube.explore.counterexample_scenario import render_counterexample
    from mockkube.explore.replay import UNDISTURBED, replay_undisturbed

    if invariant == UNDISTURBED:
        harm = replay_undisturbed(result).harm
        if harm is None or harm.scenario is None:
            raise ConfigurationError(f"--trace {UNDISTURBED}: no running pod was lost without disturbances")
        click.echo(harm.scenario, nl=False)
        return Exit.OK
    for one in result.counterexamples:
        if one.invariant == invariant:
            click.echo(render_counterexample(result.plan, one), nl=False)
            return Exit.OK
    known = ", ".join(one.invariant for one in result.counterexamples) or "none"
    raise ConfigurationError(f"--trace: {invariant!r} was not broken: broken are {known}")


def _format_command(plan: str, options: dict[str, Any]) -> str:
    """Return the command that explores the plan again, to be pasted."""
    seed = () if options["seed"] is None else ("--seed", str(options["seed"]))
    undisturbed = ("--undisturbed",) if options["undisturbed"] else ()
    return shlex.join(["mockkube", "explore", plan, *seed, *undisturbed])


def _print_result(result: "Exploration", output: str, command: str) -> None:
    from mockkube.explore.replay import collect_evidence
    from mockkube.report import review, summary

    match output:
        case "table":
            click.echo(summary.render_table(result, command))
        case "md":
            click.echo(review.render(collect_evidence(result)), nl=False)
        case "json":
            import json

            click.echo(json.dumps(_to_json(result), indent=2))
        case "yaml":
            import yaml

            click.echo(yaml.safe_dump(_to_json(result), sort_keys=False, width=1000), nl=False)


def _to_json(result: "Exploration") -> dict[str, Any]:
    from mockkube.explore.counterexample_scenario import render_counterexamples
    from mockkube.report import summary

    return summary.to_json(result, render_counterexamples(result))


def _write_report(result: "Exploration", path: str) -> None:
    from mockkube.explore.replay import collect_evidence
    from mockkube.report.pages.exploration_page import render

    try:
        Path(path).write_text(render(collect_evidence(result)))
    except OSError as error:
        raise StartError(f"--report: {path}: {error.strerror}: give a file that can be written") from None
