"""Play the paths of a plan, but never the same move in the same state twice.

The result of a move depends only on the state of the cluster and on the move. So a path is known up to its first
unknown pair of both; only paths with such a pair are played, and all others are combined from known moves.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Final

from mockkube.explore.harm import Harm
from mockkube.explore.plans.orders import Move, Moves
from mockkube.lazy_dataclasses import dataclass

# Paths per round: each may make others superfluous, so the frontier is computed again after a few. It is the same for
# any number of workers, so that results do not depend on it. Rounds of 6 and of 24 play the same 27 paths for the plans
# of 600 paths that ship; with 24, 16 workers need half the time.
BATCH_MAX: Final = 24

# Identity of a cluster's state: everything that decides what happens next.
State = str


@dataclass(frozen=True, slots=True)
class InvariantBreak:
    """An invariant that did not hold."""

    invariant: str
    text: str
    # Workload of the pods, like `deployment/web`.
    workload: str = ""
    # Whether the pod ran when the move began; not compared, because among equal pods it is chance which one is hit.
    ran: bool = field(default=False, compare=False)
    # Whether the break was over at the end of the move, because something else happened after it.
    is_temporary: bool = field(default=False, compare=False)


def deduplicate_breaks(breaks: Iterable[InvariantBreak]) -> tuple[InvariantBreak, ...]:
    """Return breaks without duplicates; of equal ones that of a pod that ran."""
    found: dict[InvariantBreak, InvariantBreak] = {}
    for one in breaks:
        if one.ran or one not in found:
            found[one] = one
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class MoveResult:
    """Result of a move: harm, breaks, and the state after it."""

    harm: Harm
    breaks: tuple[InvariantBreak, ...]
    state: State
    # Components that had something to decide.
    exercised: frozenset[str] = frozenset()
    # Whether anything was created, changed, ended or restarted besides the component that changes.
    is_eventful: bool = True
    # Actions of the plan accepted in it or before it.
    accepted: frozenset[str] = field(default=frozenset(), compare=False)
    # Actions of the plan that were rejected, with the reason.
    refused: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(slots=True)
class KnownMoves:
    """Known moves of a plan."""

    start: State = ""
    results: dict[tuple[State, Move], MoveResult] = field(default_factory=dict)
    # Moves played on clusters, including those that were known already.
    played: int = 0
    # Moves that came out differently when played again: the identity of their state omits something that matters.
    mismatches: list[tuple[State, Move]] = field(default_factory=list)
    # Number of mismatches with other broken invariants.
    verdict_mismatches: int = 0

    def results_along(self, moves: Moves) -> Sequence[MoveResult] | None:
        """Return the results of the moves one after the other; None if one is unknown."""
        state, results = self.start, []
        for move in moves:
            result = self.results.get((state, move))
            if result is None:
                return None
            results.append(result)
            state = result.state
        return results

    def find_first_unknown(self, moves: Moves) -> tuple[State, int]:
        """Return the state after the known moves, and their number."""
        state = self.start
        for index, move in enumerate(moves):
            result = self.results.get((state, move))
            if result is None:
                return state, index
            state = result.state
        return state, len(moves)

    def add_path(self, moves: Moves, start: State, results: Sequence[MoveResult]) -> None:
        """Add the results of a played path."""
        state = self.start = start
        for move, result in zip(moves, results, strict=True):
            known = self.results.setdefault((state, move), result)
            if known != result:
                self.mismatches.append((state, move))
                self.verdict_mismatches += _broken_invariants(known) != _broken_invariants(result)
            # Continue from the state recorded first, so that paths with the same moves stay comparable after a
            # surprise.
            state = known.state
        self.played += len(results)

    @property
    def states(self) -> int:
        """Number of different states."""
        return len({self.start, *(result.state for result in self.results.values())})


def _broken_invariants(result: MoveResult) -> set[str]:
    return {one.invariant for one in result.breaks}


@dataclass(frozen=True, slots=True)
class PlayedPath:
    """A path as it was played on a cluster."""

    moves: Moves
    start: State
    results: tuple[MoveResult, ...]


# Plays paths on clusters of their own, all of them, in any order.
PlayPaths = Callable[[Sequence[Moves]], Iterable[PlayedPath]]


def explore_paths(
    paths: Sequence[Moves], play: PlayPaths, on_progress: Callable[[int], None] = lambda left: None
) -> KnownMoves:
    """Play until every path is known; `on_progress` is called with the number of paths that are not."""
    known = KnownMoves()
    unknown: Sequence[Moves] = list(dict.fromkeys(paths))
    batch = list(_covering_paths(unknown))
    while batch:
        for played_path in play(batch):
            known.add_path(played_path.moves, played_path.start, played_path.results)
            unknown = [moves for moves in unknown if known.find_first_unknown(moves)[1] < len(moves)]
            on_progress(len(unknown))
        batch = list(islice(_frontier_paths(known, unknown), BATCH_MAX))
    return known


def _covering_paths(paths: Sequence[Moves]) -> Iterator[Moves]:
    """Yield paths that would suffice if the order of past moves did not matter, which is often nearly so."""
    wanted = {moves: {(frozenset(moves[:index]), move) for index, move in enumerate(moves)} for moves in paths}
    left = set().union(*wanted.values())
    while left:
        # Greedy set cover: a few paths teach most moves, and the remaining ones are found by the frontier.
        best = max(wanted, key=lambda moves: len(wanted[moves] & left))
        left -= wanted[best]
        yield best


def _frontier_paths(known: KnownMoves, paths: Iterable[Moves]) -> Iterator[Moves]:
    """Yield one path for each unknown (state, move) that is first on some path; earliest in the path first."""
    first_paths: dict[tuple[State, Move], tuple[int, Moves]] = {}
    for moves in paths:
        state, at = known.find_first_unknown(moves)
        first_paths.setdefault((state, moves[at]), (at, moves))
    for _, moves in sorted(first_paths.values(), key=lambda one: one[0]):
        yield moves
