"""Explore a plan and judge every order: harm, broken invariants, claims of documents, counterexamples."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Protocol

from mockkube.scenario.explore import invariants
from mockkube.scenario.explore.checking import Checked, check
from mockkube.scenario.explore.harm import NONE, Harm
from mockkube.scenario.explore.orders import Changes, Moves, Walk, walks
from mockkube.scenario.explore.plan import Order, Phase, Plan, WrittenOrder
from mockkube.scenario.explore.rates import Looping, Rate
from mockkube.scenario.explore.reasons import settings_after
from mockkube.scenario.explore.search import Break, Known, Taken, Walked, explore, once


class Players(Protocol):
    """Plays paths and hot loops, each on a cluster of its own."""

    def __call__(self, ways: Sequence[Moves]) -> Iterator[Walked]:
        """Yield the result of each path."""
        ...

    def measure(self, loops: Sequence[Looping]) -> Iterator[Rate]:
        """Yield the rate of each hot loop, in their order."""
        ...


class Verdict(StrEnum):
    """Verdict on an order."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    # Nothing broke because nothing could: nothing was created, changed or restarted, or no component had to decide.
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Way:
    """Result of one direction of a path."""

    harm: Harm
    breaks: tuple[Break, ...]
    # Components that had something to decide between their change and the end.
    exercised: frozenset[str] = frozenset()

    @property
    def safe(self) -> bool:
        """True if every invariant held."""
        return not self.breaks


@dataclass(frozen=True, slots=True)
class Pair:
    """An order up and the order down after it; of several paths, the worst results."""

    up: Order
    down: Order
    rising: Way
    falling: Way
    # Result of the retry, when all components change up once more.
    again: Way
    prepares: str = ""


@dataclass(frozen=True, slots=True)
class OrderVerdict:
    """Results of one order, combined with any other: the worst and the best."""

    phase: Phase
    order: Order
    worst: Way
    best: Way
    prepares: str = ""
    written: tuple[WrittenOrder, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Verdict on the order, from its worst combination with another order."""
        if not self.worst.safe:
            return Verdict.UNSAFE
        return Verdict.SAFE if self.worst.exercised else Verdict.NOT_TRIED

    @property
    def safe(self) -> bool:
        """True if the order was tried and nothing broke."""
        return self.verdict is Verdict.SAFE

    @property
    def not_exercised(self) -> Order:
        """Components that had nothing to decide after their change, so that their change was not tried."""
        return tuple(name for name in self.order if name not in self.worst.exercised)


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A shortest path that breaks an invariant."""

    invariant: str
    text: str
    # The last move breaks the invariant.
    moves: Moves
    walk: Walk


@dataclass(frozen=True, slots=True)
class Exploration:
    """Result of exploring a plan."""

    plan: Plan
    pairs: tuple[Pair, ...]
    orders: tuple[OrderVerdict, ...]
    counterexamples: tuple[Counterexample, ...]
    states: int
    # Number of different pairs of state and move.
    steps: int
    # Number of moves played on clusters.
    played: int
    walks: int = 0
    # Moves that came out differently when played again from what seemed the same state.
    surprises: int = 0
    # Rate of each hot loop, the fastest first; one for each combination of component settings with a loop.
    rates: tuple[Rate, ...] = ()
    # Result of playing a sample of paths from start to end, if requested.
    checked: Checked | None = None
    # Actions of the plan that were rejected wherever they were tried, with the reason.
    never_accepted: Mapping[str, str] = field(default_factory=dict)
    # Number of surprises with other broken invariants: only these could change a verdict.
    doubts: int = 0

    def of(self, phase: Phase) -> list[OrderVerdict]:
        """Return the verdicts of one direction: safe orders, then the others from least to most harm.

        Orders with preparations stand behind those without, among the safe as among the others.
        """
        return sorted(
            (one for one in self.orders if one.phase is phase),
            key=lambda one: (_RANKS[one.verdict], bool(one.prepares), one.worst.harm.score),
        )

    def written(self) -> list[tuple[WrittenOrder, OrderVerdict]]:
        """Return the written orders with their verdicts."""
        return [(written, one) for one in self.orders for written in one.written]

    @property
    def refuted(self) -> list[tuple[WrittenOrder, OrderVerdict]]:
        """Orders claimed to be safe that are unsafe."""
        return self._claimed(Verdict.UNSAFE)

    @property
    def unconfirmed(self) -> list[tuple[WrittenOrder, OrderVerdict]]:
        """Orders claimed to be safe that were not tried."""
        return self._claimed(Verdict.NOT_TRIED)

    def _claimed(self, verdict: Verdict) -> list[tuple[WrittenOrder, OrderVerdict]]:
        return [(written, one) for written, one in self.written() if written.claim and one.verdict is verdict]

    def not_exercised(self, phase: Phase, prepares: str = "") -> Order:
        """Return the components that had nothing to decide in any order of a direction."""
        orders = [one for one in self.orders if one.phase is phase and one.prepares == prepares]
        return tuple(
            name for name in self.plan.components if orders and all(name in one.not_exercised for one in orders)
        )


_RANKS: Final = {Verdict.SAFE: 0, Verdict.NOT_TRIED: 1, Verdict.UNSAFE: 2}


@dataclass(slots=True)
class _Worst:
    """Results of several paths in one direction."""

    ways: list[Way] = field(default_factory=list)

    @property
    def worst(self) -> Way:
        """The result with most harm, and the breaks of all."""
        breaks = once(one for way in self.ways for one in way.breaks)
        exercised = frozenset[str]().union(*(way.exercised for way in self.ways))
        return Way(max((way.harm for way in self.ways), key=lambda harm: harm.score), breaks, exercised)

    @property
    def best(self) -> Way:
        """The result with fewest breaks and least harm."""
        return min(self.ways, key=lambda way: (len(way.breaks), way.harm.score))


def judge(
    plan: Plan, play: Players, told: Callable[[int], None] = lambda left: None, *, checks: int = 0
) -> Exploration:
    """Explore a plan and return the result; `checks` paths are played once more, from start to end."""
    ways = list(walks(plan))
    known = explore([walk.moves for walk in ways], play, told)
    taken = [(walk, _taken(known, walk)) for walk in ways]
    rates = sorted(play.measure(list(_loops(plan, taken))), key=lambda one: -one.per_minute())
    found = Exploration(
        plan=plan,
        pairs=tuple(_pairs(taken)),
        orders=tuple(_orders(plan, taken)),
        counterexamples=tuple(_told_with(rates, _counterexamples(plan, taken))),
        states=known.states,
        steps=len(known.steps),
        played=known.played,
        walks=len(ways),
        surprises=len(known.surprises),
        doubts=known.doubts,
        rates=tuple(rates),
        never_accepted=_never_accepted(known.steps.values()),
    )
    if not checks:
        return found
    return replace(found, checked=check(known, [walk.moves for walk in ways], play, count=checks, seed=plan.seed))


def _never_accepted(steps: Collection[Taken]) -> Mapping[str, str]:
    accepted = frozenset[str]().union(*(step.accepted for step in steps))
    refused = {name: reason for step in steps for name, reason in step.refused.items()}
    return {name: refused[name] for name in sorted(refused) if name not in accepted}


def _taken(known: Known, walk: Walk) -> Sequence[Taken]:
    taken = known.along(walk.moves)
    assert taken is not None, "an exploration ends when every walk is known"
    return taken


def _way(moves: Moves, taken: Sequence[Taken]) -> Way:
    harm = sum((step.harm for step in taken), NONE)
    return Way(harm, once(one for step in taken for one in step.breaks), _exercised(moves, taken))


def _exercised(moves: Moves, taken: Sequence[Taken]) -> frozenset[str]:
    """Return the components that decided after their change; none if nothing happened at all."""
    changed: set[str] = set()
    found: set[str] = set()
    eventful = False
    for move, step in zip(moves, taken, strict=True):
        if isinstance(move, Changes):
            changed.add(move.component)
        # A decision before the change was made by the old version, so it says nothing about the new one.
        found |= changed & step.exercised
        eventful = eventful or (bool(changed) and step.eventful)
    return frozenset(found) if eventful else frozenset()


def _parts(walk: Walk, taken: Sequence[Taken]) -> tuple[Way, Way, Way]:
    """Return the results of the direction up, of the direction down with what precedes it, and of the retry."""
    parts = slice(0, walk.turning), slice(walk.turning, -1), slice(-1, None)
    rising, falling, again = (_way(walk.moves[part], taken[part]) for part in parts)
    return rising, falling, again


Found = Sequence[tuple[Walk, Sequence[Taken]]]


def _pairs(found: Found) -> Iterable[Pair]:
    grouped: dict[tuple[Order, Order, str], tuple[_Worst, ...]] = {}
    for walk, taken in found:
        ways = grouped.setdefault((walk.up, walk.down, walk.prepares), tuple(_Worst() for _ in range(3)))
        for worst, way in zip(ways, _parts(walk, taken), strict=True):
            worst.ways.append(way)
    for (up, down, prepares), (rising, falling, again) in grouped.items():
        yield Pair(up, down, rising.worst, falling.worst, again.worst, prepares)


def _orders(plan: Plan, found: Found) -> Iterable[OrderVerdict]:
    rising: dict[Order, _Worst] = {}
    falling: dict[tuple[Order, str], _Worst] = {}
    for walk, taken in found:
        up, down, _ = _parts(walk, taken)
        rising.setdefault(walk.up, _Worst()).ways.append(up)
        falling.setdefault((walk.down, walk.prepares), _Worst()).ways.append(down)
    for order, ways in rising.items():
        written = tuple(one for one in plan.written(Phase.UP) if one.order == order)
        yield OrderVerdict(Phase.UP, order, ways.worst, ways.best, "", written)
    for (order, prepares), ways in falling.items():
        meant = [one for one in plan.written(Phase.DOWN) if one.order == order]
        written = tuple(one for one in meant if (one.name if one.prepare else "") == prepares)
        yield OrderVerdict(Phase.DOWN, order, ways.worst, ways.best, prepares, written)


def _counterexamples(plan: Plan, found: Found) -> Iterable[Counterexample]:
    """Yield a shortest one for each invariant, preferably after a safe direction up and in a written order."""
    written = {(one.phase, one.order) for one in plan.orders}
    best: dict[str, tuple[tuple[int, int, bool, int], Counterexample]] = {}
    for number, (walk, taken) in enumerate(found):
        # The last move is the retry: what is still broken then was broken before.
        for index, step in enumerate(taken[:-1]):
            for broken in step.breaks:
                phase, order = (Phase.UP, walk.up) if index < walk.turning else (Phase.DOWN, walk.down)
                risen = taken[: walk.turning] if index > walk.turning else ()
                troubles = sum(one.harm.loops for one in taken[:index]) + sum(bool(one.breaks) for one in risen)
                rank = (index, troubles, (phase, order) not in written, number)
                example = Counterexample(broken.invariant, broken.text, walk.moves[: index + 1], walk)
                if broken.invariant not in best or rank < best[broken.invariant][0]:
                    best[broken.invariant] = (rank, example)
    for demand in plan.demands:
        if demand.name in best:
            yield best[demand.name][1]


def _loops(plan: Plan, found: Found) -> Iterator[Looping]:
    """Yield the shortest path to a hot loop for each combination of component settings with a loop."""
    shortest: dict[tuple[tuple[str, str], ...], Moves] = {}
    for walk, taken in found:
        looping = next((index for index, step in enumerate(taken[:-1]) if step.harm.loops), None)
        if looping is None:
            continue
        moves = walk.moves[: looping + 1]
        told = tuple((name, str(setting)) for name, setting in settings_after(plan, moves).items())
        if told not in shortest or len(moves) < len(shortest[told]):
            shortest[told] = moves
    for told, moves in shortest.items():
        yield Looping(moves, told)


def _told_with(rates: Sequence[Rate], examples: Iterable[Counterexample]) -> Iterator[Counterexample]:
    """Yield the counterexamples; that of a hot loop gets the measured rate as its text."""
    for one in examples:
        rate = next((rate for rate in rates if rate.loop.moves == one.moves), None)
        if one.invariant == invariants.NO_HOT_LOOP and rate is not None:
            yield replace(one, text=rate.text())
        else:
            yield one
