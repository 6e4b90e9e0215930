"""Play the paths of a plan, but never the same move in the same state twice.

The result of a move depends only on the state of the cluster and on the move. So a path is known up to its first
unknown pair of both; only paths with such a pair are played, and all others are combined from known moves.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from mockkube.explore.harm import Harm
from mockkube.explore.plans.orders import Move, Moves
from mockkube.lazy_dataclasses import dataclass

# Paths per round: each may make others superfluous, so the frontier is computed again after a few. It is the same for
# any number of workers, so that results do not depend on it. Rounds of 6 and of 24 play the same 27 paths for the plans
# of 600 paths that ship; with 24, 16 workers need half the time.
BATCH_MAX: Final = 24

# Of the moves after states that two paths have reached, one in so many is verified in each round.
VERIFIED_EVERY: Final = 4

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


@dataclass(frozen=True, slots=True)
class PlayedPath:
    """A path as it was played on a cluster."""

    moves: Moves
    start: State
    results: tuple[MoveResult, ...]
    # Number of its first moves that were not played again. It depends on which clusters were held, so no result may
    # depend on it.
    continued_at: int = 0


@dataclass(slots=True)
class KnownMoves:
    """Known moves of a plan."""

    start: State = ""
    results: dict[tuple[State, Move], MoveResult] = field(default_factory=dict)
    # Moves that were to be played, including those that were known already, without those that led to a state again.
    played: int = 0
    # Moves that came out differently when played again: the identity of their state omits something that matters.
    mismatches: list[tuple[State, Move]] = field(default_factory=list)
    # Number of mismatches with other broken invariants.
    verdict_mismatches: int = 0
    # The path on which each state was reached first.
    paths: dict[State, Moves] = field(default_factory=dict)
    # Of some states, a second path to it.
    second_paths: dict[State, Moves] = field(default_factory=dict)

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

    def add_path(self, played: PlayedPath, *, wanted_from: int = 0) -> None:
        """Add the results of a played path, which was played for its moves from an index on."""
        state = self.start = played.start
        self.paths.setdefault(state, ())
        for index, (move, result) in enumerate(zip(played.moves, played.results, strict=True)):
            known = self.results.setdefault((state, move), result)
            if known != result:
                self.mismatches.append((state, move))
                self.verdict_mismatches += _broken_invariants(known) != _broken_invariants(result)
            # Continue from the state recorded first, so that paths with the same moves stay comparable after a
            # surprise.
            state = known.state
            self._add_path_to(state, played.moves[: index + 1])
        self.played += len(played.results) - wanted_from

    def _add_path_to(self, state: State, moves: Moves) -> None:
        first = self.paths.setdefault(state, moves)
        if first != moves:
            self.second_paths.setdefault(state, moves)

    @property
    def states(self) -> int:
        """Number of different states."""
        return len({self.start, *(result.state for result in self.results.values())})


def _broken_invariants(result: MoveResult) -> set[str]:
    return {one.invariant for one in result.breaks}


# Plays paths on clusters of their own, all of them, in any order.
PlayPaths = Callable[[Sequence[Moves]], Iterable[PlayedPath]]


@dataclass(slots=True)
class _UnknownPath:
    """A path, and how much of it is known."""

    number: int
    moves: Moves
    # State after the known moves, and their number.
    state: State = ""
    known: int = 0

    @property
    def next_move(self) -> tuple[State, Move]:
        """The first unknown move, and the state before it."""
        return self.state, self.moves[self.known]


class _UnknownPaths:
    """Paths that are not known yet, by their first unknown move."""

    def __init__(self, paths: Iterable[Moves]) -> None:
        self._new = [_UnknownPath(number, moves) for number, moves in enumerate(paths)]
        self._by_move: dict[tuple[State, Move], list[_UnknownPath]] = {}

    def __len__(self) -> int:
        return len(self._new) + sum(map(len, self._by_move.values()))

    def update(self, known: KnownMoves) -> None:
        """Skip what has become known."""
        for path in self._new:
            path.state = known.start
        changed, self._new = self._new, []
        for key in [key for key in self._by_move if key in known.results]:
            changed += self._by_move.pop(key)
        for path in changed:
            while path.known < len(path.moves) and (result := known.results.get(path.next_move)) is not None:
                path.state, path.known = result.state, path.known + 1
            if path.known < len(path.moves):
                self._by_move.setdefault(path.next_move, []).append(path)

    def list_first(self) -> Sequence[_UnknownPath]:
        """Return the first path for each first unknown move; those with the fewest known moves first."""
        first = [min(paths, key=lambda one: one.number) for paths in self._by_move.values()]
        return sorted(first, key=lambda one: (one.known, one.number))


def explore_paths(
    paths: Sequence[Moves],
    play: PlayPaths,
    on_progress: Callable[[int], None] = lambda left: None,
    *,
    continues_paths: bool = False,
) -> KnownMoves:
    """Play until every path is known; `on_progress` is called with the number of paths that are not.

    With `continues_paths`, `play` continues a path that it has played in the round before without playing it again.
    """
    known = KnownMoves()
    distinct = list(dict.fromkeys(paths))
    unknown = _UnknownPaths(distinct)
    batch = [()] if continues_paths else list(_covering_paths(distinct))
    while batch:
        for played_path in play(batch):
            # Only the last move is new: what a lost process has held is played again, and changes no result.
            known.add_path(played_path, wanted_from=max(len(played_path.moves) - 1, 0) if continues_paths else 0)
            unknown.update(known)
            on_progress(len(unknown))
        batch = _list_next_moves(known, unknown) if continues_paths else _list_next_paths(unknown)
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


def _list_next_paths(unknown: _UnknownPaths) -> list[Moves]:
    """Return a path for each (state, move) that is the first unknown one of some path."""
    return [one.moves for one in unknown.list_first()[:BATCH_MAX]]


def _list_next_moves(known: KnownMoves, unknown: _UnknownPaths) -> list[Moves]:
    """Return the first path to each state with each of its moves that is the first unknown one of some path.

    Where two paths have come to one state, a part of the moves is also played after the second path: the result must be
    the same.
    """
    first = unknown.list_first()
    repeated = [one for one in first if one.state in known.second_paths]
    found = [(*known.paths[one.state], one.next_move[1]) for one in first]
    return found + [(*known.second_paths[one.state], one.next_move[1]) for one in repeated[::VERIFIED_EVERY]]
