"""The search: every way is known at the end, and what ways have in common is played once."""

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

from mockkube.explore.harm import Harm
from mockkube.explore.plans.orders import ChangeMove, Move, Moves
from mockkube.explore.plans.plan import Direction
from mockkube.explore.search import InvariantBreak, KnownMoves, MoveResult, PlayedPath, explore_paths

NAMES = ("a", "b", "c", "d")
WAYS: list[Moves] = [tuple(ChangeMove(Direction.UP, name) for name in order) for order in permutations(NAMES)]


class Lattice:
    """A world in which the order of what has happened does not matter; b before a does harm."""

    def __init__(self) -> None:
        self.played = 0
        # State after moves.
        self.state_of: Callable[[list[str]], str] = lambda done: ",".join(sorted(done))

    def __call__(self, ways: Sequence[Moves]) -> Iterator[PlayedPath]:
        for moves in ways:
            self.played += 1
            yield PlayedPath(moves, "", tuple(self.taken(moves)))

    def taken(self, moves: Moves) -> Iterator[MoveResult]:
        done: list[str] = []
        for move in moves:
            harmed = str(move) == "b up" and "a up" not in done
            done.append(str(move))
            breaks = (InvariantBreak("order", "b came first"),) if harmed else ()
            yield MoveResult(Harm(evicted=int(harmed)), breaks, self.state_of(done))


def test_what_is_put_together_is_what_playing_everything_would_say() -> None:
    world = Lattice()
    known = explore_paths(WAYS, world)
    assert [known.results_along(way) for way in WAYS] == [list(world.taken(way)) for way in WAYS]


def test_ways_that_come_to_the_same_state_are_not_played_to_the_end() -> None:
    world = Lattice()
    known = explore_paths(WAYS, world)
    assert (known.states, len(known.results)) == (16, 32)
    assert world.played < len(WAYS)


def test_no_pair_of_state_and_move_is_looked_for_twice() -> None:
    world = Lattice()
    known = KnownMoves()
    targets: list[tuple[str, Move]] = []
    rounds = 0

    def play(ways: Sequence[Moves]) -> Iterator[PlayedPath]:
        nonlocal rounds
        rounds += 1
        if rounds > 1:
            for way in ways:
                state, at = known.find_first_unknown(way)
                targets.append((state, way[at]))
        for one in world(ways):
            known.add_path(one.moves, one.start, one.results)
            yield one

    # What happens first matters for ever, so the first round leaves much to find.
    world.state_of = lambda done: f"{done[0]}>" + ",".join(sorted(done))
    found = explore_paths(WAYS, play)
    assert [found.results_along(way) for way in WAYS] == [list(world.taken(way)) for way in WAYS]
    assert rounds > 1
    assert len(targets) == len(set(targets))


def test_states_that_hide_something_do_not_keep_the_search_from_ending() -> None:
    def play(ways: Sequence[Moves]) -> Iterator[PlayedPath]:
        for moves in ways:
            yield PlayedPath(moves, "s", tuple(MoveResult(Harm(stuck=index), (), "s") for index, _ in enumerate(moves)))

    known = explore_paths(WAYS, play)
    assert all(known.results_along(way) is not None for way in WAYS)
    assert known.mismatches
