"""Replays of paths: evidence for the report about an exploration."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from mockkube.api.catalogue import KINDS, is_stable_version
from mockkube.explore.conclusions import Conclusions
from mockkube.explore.counterexample_scenario import render_counterexample
from mockkube.explore.exploration import Counterexample, Exploration
from mockkube.explore.hot_loop_rates import HotLoopRate
from mockkube.explore.observation.observations import Observation, ObservationKind
from mockkube.explore.observation.operator_intent import Workload
from mockkube.explore.observation.stored_objects import PODS
from mockkube.explore.path_runner import MoveRecord, PathRunner
from mockkube.explore.plans.invariants import REPLICAS_UP, ROLLBACK_RESTORES
from mockkube.explore.plans.orders import Moves, TurnMove, list_paths
from mockkube.explore.plans.plan import Order, RolloutPlan
from mockkube.explore.reasons import compute_settings, explain_component
from mockkube.features.components import SCHEDULER
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.runner.results import TracedStep, read_trace
from mockkube.scheduler.scheduler import Scheduler

UNDISTURBED: Final = "undisturbed"
"""Name of the rollback without disturbances, for `--trace` and for links."""
_ENDS_POD: Final = (ObservationKind.EVICTED, ObservationKind.REJECTED, ObservationKind.REMOVED)


@dataclass(frozen=True, slots=True)
class ReplayedMove:
    """One move of a replay."""

    record: MoveRecord
    moment: int
    """Number of moments before it."""
    unserved: tuple[str, ...]
    """APIs that the scheduler lists and its API server does not serve: until it does, no pod is scheduled."""
    causes: tuple[str, ...]
    """Reasons for the harm: what each component that did it could not know."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A path with everything that happened on it."""

    plan: RolloutPlan
    moves: Moves
    replayed_moves: tuple[ReplayedMove, ...]
    moments: tuple[TracedStep, ...]
    """Moments since the first move."""
    running: Mapping[str, str]
    """Workloads of the pods that ran when the direction down began, by uid of the pod."""
    missing: Mapping[str, int]
    """Pods missing at the end, by workload."""
    examples: tuple[Counterexample, ...] = ()
    """Invariants that break on it."""
    shown: Counterexample | None = None
    """The counterexample that `scenario` shows."""
    scenario: str | None = None
    """A scenario file that replays the path and asserts the harm; None if the end shows none."""
    rates: tuple[HotLoopRate, ...] = ()
    undisturbed: bool = False
    """Whether the path stands for what happens without disturbances."""

    def rate(self, index: int) -> HotLoopRate | None:
        """Return the measured rate of the hot loop in a move: that of a loop with the same component settings."""
        settings = compute_settings(self.plan, self.moves[: index + 1])
        same = tuple((name, str(setting)) for name, setting in settings.items())
        return next((one for one in self.rates if one.loop.settings == same), None)

    def moments_of(self, index: int) -> tuple[TracedStep, ...]:
        """Return the moments of one move."""
        end = self.replayed_moves[index + 1].moment if index + 1 < len(self.replayed_moves) else len(self.moments)
        return self.moments[self.replayed_moves[index].moment : end]

    def lost_pods(self) -> Iterator[tuple[int, Observation]]:
        """Yield the index of the move and the observation for each pod that ran before the direction down and ended."""
        for index, replayed in enumerate(self.replayed_moves):
            for observation in replayed.record.observations:
                if observation.kind in _ENDS_POD and observation.uid in self.running:
                    yield index, observation

    def unharmed_workloads(self) -> list[str]:
        """Return the workloads that lost none of their running pods."""
        harmed = {observation.workload for _, observation in self.lost_pods()}
        return [name for name in dict.fromkeys(self.running.values()) if name not in harmed]


@dataclass(frozen=True, slots=True)
class UndisturbedReplays:
    """Replays without disturbances, each after the example order up."""

    by_order: Mapping[tuple[Order, str], Replay]
    """The example order down and the prepared ones, by order and preparation."""
    harm: Replay | None
    """The example order down, if it ends running pods and the plan has disturbances."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """An exploration with the replays that its report shows."""

    result: Exploration
    counterexamples: tuple[Replay, ...]
    undisturbed: UndisturbedReplays

    @property
    def replays(self) -> tuple[Replay, ...]:
        """All replays that are shown move by move."""
        harm = self.undisturbed.harm
        return (*self.counterexamples, harm) if harm is not None else self.counterexamples


@contextmanager
def without_logs() -> Iterator[None]:
    """Disable the logs of components."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@without_logs()
def collect_evidence(result: Exploration) -> Evidence:
    """Replay the counterexamples and the example orders, with the logs of components disabled."""
    return Evidence(result, tuple(_replay_counterexamples(result)), replay_undisturbed(result))


@without_logs()
def replay_undisturbed(result: Exploration) -> UndisturbedReplays:
    """Replay the example order up with the example order down and the prepared ones, without disturbances."""
    found = Conclusions(result)
    undisturbed = replace(result.plan, disturbances=())
    example = (found.example_down.order, "")
    wanted = {example, *((one.order, one.prepares) for one in found.prepared())}
    replays = {
        (path.down, path.prepares): _replay(undisturbed, path.moves[:-1])
        for path in list_paths(undisturbed)
        if path.up == found.example_up.order and (path.down, path.prepares) in wanted
    }
    by_order = {key: one for key, (one, _) in replays.items()}
    harm = None
    if result.plan.disturbances and example in replays and any(by_order[example].lost_pods()):
        harm = _with_first_breaks(*replays[example])
    return UndisturbedReplays(by_order, harm)


def _replay_counterexamples(result: Exploration) -> Iterator[Replay]:
    # A path that is the beginning of a longer one is shown as a part of it.
    paths: list[tuple[Moves, list[Counterexample]]] = []
    for one in sorted(result.counterexamples, key=lambda one: -len(one.moves)):
        same = next((examples for moves, examples in reversed(paths) if moves[: len(one.moves)] == one.moves), None)
        if same is None:
            paths.append((one.moves, [one]))
        else:
            same.append(one)
    for moves, some in reversed(paths):
        examples = tuple(sorted(some, key=lambda one: len(one.moves)))
        replay, runner = _replay(result.plan, moves)
        scenario = render_counterexample(result.plan, examples[-1], runner)
        yield replace(replay, examples=examples, shown=examples[-1], scenario=scenario, rates=result.rates)


def _with_first_breaks(replay: Replay, runner: PathRunner) -> Replay:
    """Return a replay without disturbances with each invariant as it breaks first."""
    path = next(one for one in list_paths(replay.plan) if one.moves[: len(replay.moves)] == replay.moves)
    first: dict[str, Counterexample] = {}
    for index, replayed in enumerate(replay.replayed_moves):
        for one in replayed.record.result.breaks:
            first.setdefault(one.invariant, Counterexample(one.invariant, one.text, replay.moves[: index + 1], path))
    # A scenario asserts at its end, so it can only show what is still broken there.
    last = {one.invariant for one in replay.replayed_moves[-1].record.result.breaks}
    shown = next((first[name] for name in (ROLLBACK_RESTORES, REPLICAS_UP) if name in last), None)
    scenario = render_counterexample(replay.plan, shown, runner) if shown is not None else None
    return replace(replay, examples=tuple(first.values()), shown=shown, scenario=scenario, undisturbed=True)


def _replay(plan: RolloutPlan, moves: Moves) -> tuple[Replay, PathRunner]:
    """Play a path on a cluster of its own."""
    return asyncio.run(_play(plan, moves))


async def _play(plan: RolloutPlan, moves: Moves) -> tuple[Replay, PathRunner]:
    replayed_moves: list[ReplayedMove] = []
    running: dict[str, str] = {}
    async with PathRunner(plan, explains=True) as runner:
        trace = runner.cluster.trace
        first = len(trace.steps)
        for move in moves:
            moment = len(trace.steps) - first
            await runner.make_move(move)
            replayed_moves.append(ReplayedMove(runner.records[-1], moment, tuple(_unserved(runner)), ()))
            if isinstance(move, TurnMove):
                running = dict(_running(runner))
        moments = tuple(read_trace(trace))[first:]
    # Causes are looked up at the end, when every workload is known under its last manifest.
    workloads = runner.intent.workloads
    for index, replayed in enumerate(replayed_moves):
        replayed_moves[index] = replace(replayed, causes=_causes(plan, moves[: index + 1], replayed, workloads))
    missing = {one.name: runner.intent.count_missing(one, runner.stored) for one in reversed(workloads)}
    return Replay(plan, moves, tuple(replayed_moves), moments, running, missing), runner


def _running(runner: PathRunner) -> Iterator[tuple[str, str]]:
    for pod in runner.stored.list_objects(PODS).values():
        workload = runner.intent.workload_of(pod)
        if workload is not None and (pod.get("status") or {}).get("phase") == "Running":
            yield pod["metadata"]["uid"], workload.name


def _unserved(runner: PathRunner) -> Iterator[str]:
    scheduler = runner.cluster.get_component(SCHEDULER)
    if not isinstance(scheduler, Scheduler):
        return
    for cache in scheduler.informers.workers:
        known = next((one for one in KINDS if one.kind == cache.kind), None)
        if not cache.has_synced and known is not None:
            version = next((one for one in known.versions if is_stable_version(one)), known.versions[0])
            yield f"{known.plural}.{known.group}/{version}" if known.group else known.plural


def _causes(plan: RolloutPlan, moves: Moves, replayed: ReplayedMove, workloads: list[Workload]) -> tuple[str, ...]:
    settings = compute_settings(plan, moves)
    causes: dict[str, None] = {}
    for observation in replayed.record.observations:
        workload = next(
            (one for one in workloads if observation.workload in (one.name, "") and _concerns(observation, one)), None
        )
        if observation.kind is not ObservationKind.CREATED and observation.component in settings:
            causes[explain_component(plan, observation.component, settings[observation.component], workload)] = None
    stuck = replayed.record.stuck and not replayed.record.result.harm.loops
    # A scheduler whose informers never fill schedules no pod at all: what pods ask for is no cause then.
    if stuck and not replayed.unserved and SCHEDULER in settings:
        causes.update(
            dict.fromkeys(
                sorted({explain_component(plan, SCHEDULER, settings[SCHEDULER], workload) for workload in workloads})
            )
        )
    return tuple(text for text in causes if text)


def _concerns(observation: Observation, workload: Workload) -> bool:
    # An object that a controller creates for a workload carries the workload's name as prefix.
    return bool(observation.workload) or observation.object.partition("/")[2].startswith(
        workload.manifest["metadata"]["name"]
    )
