"""Explore a plan and judge every order: harm, broken invariants, claims of documents, counterexamples."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Final, Protocol

from mockkube.explore.harm import NO_HARM, Harm
from mockkube.explore.hot_loop_rates import HotLoopPath, HotLoopRate
from mockkube.explore.path_check import PathCheckResult, check_paths
from mockkube.explore.plans import invariants
from mockkube.explore.plans.orders import ChangeMove, Moves, RolloutPath, list_paths
from mockkube.explore.plans.plan import Direction, Order, RolloutPlan, WrittenOrder
from mockkube.explore.reasons import compute_settings
from mockkube.explore.search import (
    InvariantBreak,
    KnownMoves,
    MoveResult,
    PlayedPath,
    deduplicate_breaks,
    explore_paths,
)
from mockkube.lazy_dataclasses import dataclass


class Players(Protocol):
    """Plays paths and hot loops, each on a cluster of its own."""

    # Whether it continues a path of the last call without playing it again.
    continues_paths: bool

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path."""
        ...

    def play_from_start(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path, played from start to end."""
        ...

    def measure_rates(self, loops: Sequence[HotLoopPath]) -> Iterator[HotLoopRate]:
        """Yield the rate of each hot loop, in their order."""
        ...


class SafetyVerdict(StrEnum):
    """Verdict on an order."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    # Nothing broke because nothing could: nothing was created, changed or restarted, or no component had to decide.
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class DirectionResult:
    """Result of one direction of a path."""

    harm: Harm
    breaks: tuple[InvariantBreak, ...]
    # Components that had something to decide between their change and the end.
    exercised: frozenset[str] = frozenset()

    @property
    def is_safe(self) -> bool:
        """True if every invariant held."""
        return not self.breaks


@dataclass(frozen=True, slots=True)
class OrderPair:
    """An order up and the order down after it; of several paths, the worst results."""

    up: Order
    down: Order
    up_result: DirectionResult
    down_result: DirectionResult
    # Result of the retry, when all components change up once more.
    retry_result: DirectionResult
    prepares: str = ""


@dataclass(frozen=True, slots=True)
class OrderVerdict:
    """Results of one order, combined with any other: the worst and the best."""

    direction: Direction
    order: Order
    worst: DirectionResult
    best: DirectionResult
    prepares: str = ""
    written_orders: tuple[WrittenOrder, ...] = ()

    @property
    def verdict(self) -> SafetyVerdict:
        """Verdict on the order, from its worst combination with another order."""
        if not self.worst.is_safe:
            return SafetyVerdict.UNSAFE
        return SafetyVerdict.SAFE if self.worst.exercised else SafetyVerdict.NOT_TRIED

    @property
    def is_safe(self) -> bool:
        """True if the order was tried and nothing broke."""
        return self.verdict is SafetyVerdict.SAFE

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
    path: RolloutPath


@dataclass(frozen=True, slots=True)
class Exploration:
    """Result of exploring a plan."""

    plan: RolloutPlan
    pairs: tuple[OrderPair, ...]
    orders: tuple[OrderVerdict, ...]
    counterexamples: tuple[Counterexample, ...]
    states: int
    # Number of different pairs of state and move.
    distinct_moves: int
    # Number of moves played on clusters.
    played: int
    path_count: int = 0
    # Moves that came out differently when played again from what seemed the same state.
    mismatches: int = 0
    # Rate of each hot loop, the fastest first; one for each combination of component settings with a loop.
    rates: tuple[HotLoopRate, ...] = ()
    # Result of playing a sample of paths from start to end, if requested.
    checked: PathCheckResult | None = None
    # Actions of the plan that were rejected wherever they were tried, with the reason.
    never_accepted: Mapping[str, str] = field(default_factory=dict)
    # Number of mismatches with other broken invariants: only these could change a verdict.
    verdict_mismatches: int = 0

    def list_verdicts(self, direction: Direction) -> list[OrderVerdict]:
        """Return the verdicts of one direction: safe orders, then the others from least to most harm.

        Orders with preparations stand behind those without, among the safe as among the others.
        """
        return sorted(
            (one for one in self.orders if one.direction is direction),
            key=lambda one: (_RANKS[one.verdict], bool(one.prepares), one.worst.harm.score),
        )

    def list_written(self) -> list[tuple[WrittenOrder, OrderVerdict]]:
        """Return the written orders with their verdicts."""
        return [(written, one) for one in self.orders for written in one.written_orders]

    def find_undisturbed(self) -> frozenset[Order]:
        """Return the orders down, without preparation, in which no pod is lost that ran before."""
        downs = [one for one in self.orders if one.direction is Direction.DOWN and not one.prepares]
        lost = invariants.ROLLBACK_RESTORES
        return frozenset(one.order for one in downs if all(each.invariant != lost for each in one.worst.breaks))

    @property
    def refuted_claims(self) -> list[tuple[WrittenOrder, OrderVerdict]]:
        """Orders claimed to be safe that are unsafe."""
        return self._claimed_safe(SafetyVerdict.UNSAFE)

    @property
    def unconfirmed_claims(self) -> list[tuple[WrittenOrder, OrderVerdict]]:
        """Orders claimed to be safe that were not tried."""
        return self._claimed_safe(SafetyVerdict.NOT_TRIED)

    def _claimed_safe(self, verdict: SafetyVerdict) -> list[tuple[WrittenOrder, OrderVerdict]]:
        return [(written, one) for written, one in self.list_written() if written.claim and one.verdict is verdict]

    def not_exercised(self, direction: Direction, prepares: str = "") -> Order:
        """Return the components that had nothing to decide in any order of a direction."""
        orders = [one for one in self.orders if one.direction is direction and one.prepares == prepares]
        return tuple(
            name for name in self.plan.components if orders and all(name in one.not_exercised for one in orders)
        )


_RANKS: Final = {SafetyVerdict.SAFE: 0, SafetyVerdict.NOT_TRIED: 1, SafetyVerdict.UNSAFE: 2}


@dataclass(slots=True)
class _DirectionResults:
    """Results of several paths in one direction."""

    results: list[DirectionResult] = field(default_factory=list)

    @property
    def worst(self) -> DirectionResult:
        """The result with most harm, and the breaks of all."""
        breaks = deduplicate_breaks(one for result in self.results for one in result.breaks)
        exercised = frozenset[str]().union(*(result.exercised for result in self.results))
        return DirectionResult(
            max((result.harm for result in self.results), key=lambda harm: harm.score), breaks, exercised
        )

    @property
    def best(self) -> DirectionResult:
        """The result with fewest breaks and least harm."""
        return min(self.results, key=lambda result: (len(result.breaks), result.harm.score))


def explore_plan(
    plan: RolloutPlan,
    play: Players,
    on_progress: Callable[[int], None] = lambda left: None,
    *,
    checks: int = 0,
    paths: Sequence[RolloutPath] = (),
    undisturbed: bool = False,
) -> Exploration:
    """Explore a plan, or some of its paths; `checks` of them are played once more, from start to end.

    With `undisturbed`, for a plan without disturbances, orders down are only judged after orders up that break nothing,
    if there are any; they are tried if pods ran, because it is asked whether these stay.
    """
    paths = paths or list(list_paths(plan))
    known = explore_paths([path.moves for path in paths], play, on_progress, continues_paths=play.continues_paths)
    results = [(path, _results_of(known, path)) for path in paths]
    judged = [_as_eventful(one) for one in results] if undisturbed else results
    rates = sorted(play.measure_rates(list(_find_hot_loops(plan, results))), key=lambda one: -one.per_minute())
    found = Exploration(
        plan=plan,
        pairs=tuple(_make_pairs(results)),
        orders=tuple(_make_order_verdicts(plan, _select_after_safe(judged) if undisturbed else results, results)),
        counterexamples=tuple(_add_rates(rates, _find_counterexamples(plan, results))),
        states=known.states,
        distinct_moves=len(known.results),
        played=known.played,
        path_count=len(paths),
        mismatches=len(known.mismatches),
        verdict_mismatches=known.verdict_mismatches,
        rates=tuple(rates),
        never_accepted=_find_never_accepted(known.results.values()),
    )
    if not checks:
        return found
    moves = [path.moves for path in paths]
    return replace(found, checked=check_paths(known, moves, play.play_from_start, count=checks, seed=plan.seed))


def _find_never_accepted(results: Collection[MoveResult]) -> Mapping[str, str]:
    accepted = frozenset[str]().union(*(result.accepted for result in results))
    refused = {name: reason for result in results for name, reason in result.refused.items()}
    return {name: refused[name] for name in sorted(refused) if name not in accepted}


def _results_of(known: KnownMoves, path: RolloutPath) -> Sequence[MoveResult]:
    results = known.results_along(path.moves)
    assert results is not None, "an exploration ends when every path is known"
    return results


def _make_result(moves: Moves, results: Sequence[MoveResult]) -> DirectionResult:
    harm = sum((result.harm for result in results), NO_HARM)
    return DirectionResult(
        harm, deduplicate_breaks(one for result in results for one in result.breaks), _find_exercised(moves, results)
    )


def _find_exercised(moves: Moves, results: Sequence[MoveResult]) -> frozenset[str]:
    """Return the components that decided after their change; none if nothing happened at all."""
    changed: set[str] = set()
    found: set[str] = set()
    eventful = False
    for move, result in zip(moves, results, strict=True):
        if isinstance(move, ChangeMove):
            changed.add(move.component)
        # A decision before the change was made by the old version, so it says nothing about the new one.
        found |= changed & result.exercised
        eventful = eventful or (bool(changed) and result.is_eventful)
    return frozenset(found) if eventful else frozenset()


def _split_directions(
    path: RolloutPath, results: Sequence[MoveResult]
) -> tuple[DirectionResult, DirectionResult, DirectionResult]:
    """Return the results of the direction up, of the direction down with what precedes it, and of the retry."""
    parts = slice(0, path.turn_index), slice(path.turn_index, -1), slice(-1, None)
    rising, falling, again = (_make_result(path.moves[part], results[part]) for part in parts)
    return rising, falling, again


PlayedPaths = Sequence[tuple[RolloutPath, Sequence[MoveResult]]]


def _make_pairs(found: PlayedPaths) -> Iterable[OrderPair]:
    grouped: dict[tuple[Order, Order, str], tuple[_DirectionResults, ...]] = {}
    for path, move_results in found:
        collected = grouped.setdefault(
            (path.up, path.down, path.prepares), tuple(_DirectionResults() for _ in range(3))
        )
        for results, result in zip(collected, _split_directions(path, move_results), strict=True):
            results.results.append(result)
    for (up, down, prepares), (rising, falling, again) in grouped.items():
        yield OrderPair(up, down, rising.worst, falling.worst, again.worst, prepares)


def _as_eventful(found: tuple[RolloutPath, Sequence[MoveResult]]) -> tuple[RolloutPath, Sequence[MoveResult]]:
    """Return a path whose moves down count as tried although nothing happens in them."""
    path, results = found
    return path, [
        replace(result, is_eventful=True) if index > path.turn_index else result for index, result in enumerate(results)
    ]


def _select_after_safe(found: PlayedPaths) -> PlayedPaths:
    """Return the paths whose direction up breaks nothing; all if there are none."""
    return [(path, results) for path, results in found if _split_directions(path, results)[0].is_safe] or found


def _make_order_verdicts(plan: RolloutPlan, down_paths: PlayedPaths, found: PlayedPaths) -> Iterable[OrderVerdict]:
    rising: dict[Order, _DirectionResults] = {}
    falling: dict[tuple[Order, str], _DirectionResults] = {}
    for path, move_results in found:
        up, _, _ = _split_directions(path, move_results)
        rising.setdefault(path.up, _DirectionResults()).results.append(up)
    for path, move_results in down_paths:
        _, down, _ = _split_directions(path, move_results)
        falling.setdefault((path.down, path.prepares), _DirectionResults()).results.append(down)
    for order, results in rising.items():
        written = tuple(one for one in plan.list_written_orders(Direction.UP) if one.order == order)
        yield OrderVerdict(Direction.UP, order, results.worst, results.best, "", written)
    for (order, prepares), results in falling.items():
        meant = [one for one in plan.list_written_orders(Direction.DOWN) if one.order == order]
        written = tuple(one for one in meant if (one.name if one.prepare else "") == prepares)
        yield OrderVerdict(Direction.DOWN, order, results.worst, results.best, prepares, written)


def _find_counterexamples(plan: RolloutPlan, found: PlayedPaths) -> Iterable[Counterexample]:
    """Yield a shortest one for each invariant, preferably after a safe direction up and in a written order."""
    written = {(one.direction, one.order) for one in plan.orders}
    best: dict[str, tuple[tuple[int, int, bool, int], Counterexample]] = {}
    for number, (path, results) in enumerate(found):
        # The last move is the retry: what is still broken then was broken before.
        for index, result in enumerate(results[:-1]):
            for broken in result.breaks:
                direction, order = (Direction.UP, path.up) if index < path.turn_index else (Direction.DOWN, path.down)
                risen = results[: path.turn_index] if index > path.turn_index else ()
                earlier_harms = sum(one.harm.loops for one in results[:index]) + sum(bool(one.breaks) for one in risen)
                rank = (index, earlier_harms, (direction, order) not in written, number)
                example = Counterexample(broken.invariant, broken.text, path.moves[: index + 1], path)
                if broken.invariant not in best or rank < best[broken.invariant][0]:
                    best[broken.invariant] = (rank, example)
    for invariant in plan.invariants:
        if invariant.name in best:
            yield best[invariant.name][1]


def _find_hot_loops(plan: RolloutPlan, found: PlayedPaths) -> Iterator[HotLoopPath]:
    """Yield the shortest path to a hot loop for each combination of component settings with a loop."""
    shortest: dict[tuple[tuple[str, str], ...], Moves] = {}
    for path, results in found:
        looping = next((index for index, result in enumerate(results[:-1]) if result.harm.loops), None)
        if looping is None:
            continue
        moves = path.moves[: looping + 1]
        settings = tuple((name, str(setting)) for name, setting in compute_settings(plan, moves).items())
        if settings not in shortest or len(moves) < len(shortest[settings]):
            shortest[settings] = moves
    for settings, moves in shortest.items():
        yield HotLoopPath(moves, settings)


def _add_rates(rates: Sequence[HotLoopRate], examples: Iterable[Counterexample]) -> Iterator[Counterexample]:
    """Yield the counterexamples; that of a hot loop gets the measured rate as its text."""
    for one in examples:
        rate = next((rate for rate in rates if rate.loop.moves == one.moves), None)
        if one.invariant == invariants.NO_HOT_LOOP and rate is not None:
            yield replace(one, text=rate.describe())
        else:
            yield one
