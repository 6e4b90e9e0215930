"""Ways played once more for the report: each different one once, with what people ask about it."""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mockkube.api.catalogue import KINDS, stable
from mockkube.features.components import SCHEDULER
from mockkube.scenario.explore.mirror import PODS
from mockkube.scenario.explore.observing import Fact
from mockkube.scenario.explore.orders import Moves, Turns, walks
from mockkube.scenario.explore.plan import Order, Plan
from mockkube.scenario.explore.rates import Rate
from mockkube.scenario.explore.reasons import settings_after
from mockkube.scenario.explore.stepping import Journey, Told
from mockkube.scenario.explore.verdict import Counterexample, Exploration
from mockkube.scenario.results import Moment, story_of
from mockkube.scheduler.scheduler import Scheduler

_TAKEN = ("evicted", "rejected", "removed")


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a way."""

    told: Told
    moment: int
    """How many moments there were before it."""
    unserved: tuple[str, ...]
    """The APIs that the scheduler waits for and its API server does not serve: until then it schedules nothing."""


@dataclass(frozen=True, slots=True)
class Retold:
    """A way with all that happened in it."""

    plan: Plan
    moves: Moves
    stages: tuple[Stage, ...]
    moments: tuple[Moment, ...]
    """From the first step on."""
    journey: Journey
    """It is over."""
    ran: Mapping[str, str]
    """The pods that ran when the way back began, and whose they are."""
    examples: tuple[Counterexample, ...] = ()
    """What breaks in it."""
    rates: tuple[Rate, ...] = ()
    """How fast loops go, as far as that was measured."""
    undisturbed: bool = False
    """Whether it is told for what happens when nobody touches anything."""

    def rate(self, index: int) -> Rate | None:
        """Return how fast the loop of a step goes: that of one with components told the same."""
        told = settings_after(self.plan, self.moves[: index + 1])
        same = tuple((name, str(setting)) for name, setting in told.items())
        return next((one for one in self.rates if one.loop.told == same), None)

    def taken(self) -> Iterator[tuple[Stage, Fact]]:
        """Yield what was done to pods that ran when the way back began."""
        for stage in self.stages:
            for fact in stage.told.facts:
                if fact.harm in _TAKEN and fact.uid in self.ran:
                    yield stage, fact

    def kept(self) -> Sequence[str]:
        """Return the workloads none of whose running pods was taken."""
        lost = {fact.of for _, fact in self.taken()}
        return [name for name in dict.fromkeys(self.ran.values()) if name not in lost]


def play(plan: Plan, moves: Moves) -> Retold:
    """Play a way on a cluster of its own, whose components log nothing."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        return asyncio.run(_played(plan, moves))
    finally:
        logging.disable(before)


async def _played(plan: Plan, moves: Moves) -> Retold:
    stages: list[Stage] = []
    ran: dict[str, str] = {}
    async with Journey(plan, explains=True) as journey:
        trace = journey.laboratory.trace
        first = len(trace.steps)
        for move in moves:
            moment = len(trace.steps) - first
            await journey.take(move)
            stages.append(Stage(journey.told[-1], moment, tuple(_unserved(journey))))
            if isinstance(move, Turns):
                ran = dict(_running(journey))
        moments = tuple(story_of(trace))[first:]
    return Retold(plan, moves, tuple(stages), moments, journey, ran)


def _running(journey: Journey) -> Iterator[tuple[str, str]]:
    for pod in journey.mirror.all(PODS).values():
        own = journey.intent.workload_of(pod)
        if own is not None and (pod.get("status") or {}).get("phase") == "Running":
            yield pod["metadata"]["uid"], own.name


def _unserved(journey: Journey) -> Iterator[str]:
    scheduler = journey.laboratory.part(SCHEDULER)
    if not isinstance(scheduler, Scheduler):
        return
    for cache in scheduler.caches.workers:
        known = next((one for one in KINDS if one.kind == cache.kind), None)
        if not cache.synced and known is not None:
            version = next((one for one in known.versions if stable(one)), known.versions[0])
            yield f"{known.plural}.{known.group}/{version}" if known.group else known.plural


def counterexamples(result: Exploration) -> list[Retold]:
    """Return the ways in which invariants break: one that only begins another is told as part of it."""
    told: list[tuple[Moves, list[Counterexample]]] = []
    for one in sorted(result.counterexamples, key=lambda one: -len(one.moves)):
        same = next((examples for moves, examples in reversed(told) if moves[: len(one.moves)] == one.moves), None)
        if same is None:
            told.append((one.moves, [one]))
        else:
            same.append(one)
    return [
        replace(
            play(result.plan, moves), examples=tuple(sorted(some, key=lambda one: len(one.moves))), rates=result.rates
        )
        for moves, some in reversed(told)
    ]


@dataclass(frozen=True, slots=True)
class Quiet:
    """Ways down on which nobody disturbs anything: what happens to pods that just run."""

    up: Order
    ways: Mapping[tuple[Order, str], Retold] = field(default_factory=dict)


def undisturbed(plan: Plan, up: Order, downs: Iterable[tuple[Order, str]]) -> Quiet:
    """Play ways down after one way up, without the disturbances of the plan."""
    calm = replace(plan, disturbances=())
    wanted = list(downs)
    ways = {
        (walk.down, walk.prepares): play(calm, walk.moves[:-1])
        for walk in walks(calm)
        if walk.up == up and (walk.down, walk.prepares) in wanted
    }
    return Quiet(up, ways)
