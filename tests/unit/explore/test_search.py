"""The search: every way is known at the end, and what ways have in common is played once."""

from collections.abc import Iterator, Sequence
from itertools import permutations

from mockkube.explore.harm import Harm
from mockkube.explore.plans.orders import ChangeMove, Moves
from mockkube.explore.plans.plan import Direction
from mockkube.explore.search import InvariantBreak, MoveResult, PlayedPath, explore_paths

NAMES = ("a", "b", "c", "d")
WAYS: list[Moves] = [tuple(ChangeMove(Direction.UP, name) for name in order) for order in permutations(NAMES)]


class Lattice:
    """A world in which the order of what has happened does not matter; b before a does harm."""

    def __init__(self) -> None:
        self.played = 0

    def __call__(self, ways: Sequence[Moves]) -> Iterator[PlayedPath]:
        for moves in ways:
            self.played += 1
            yield PlayedPath(moves, "", tuple(self.taken(moves)))

    def taken(self, moves: Moves) -> Iterator[MoveResult]:
        done: set[str] = set()
        for move in moves:
            harmed = str(move) == "b up" and "a up" not in done
            done.add(str(move))
            breaks = (InvariantBreak("order", "b came first"),) if harmed else ()
            yield MoveResult(Harm(evicted=int(harmed)), breaks, ",".join(sorted(done)))


def test_what_is_put_together_is_what_playing_everything_would_say() -> None:
    world = Lattice()
    known = explore_paths(WAYS, world)
    assert [known.results_along(way) for way in WAYS] == [list(world.taken(way)) for way in WAYS]


def test_ways_that_come_to_the_same_state_are_not_played_to_the_end() -> None:
    world = Lattice()
    known = explore_paths(WAYS, world)
    assert (known.states, len(known.results)) == (16, 32)
    assert world.played < len(WAYS)


def test_states_that_hide_something_do_not_keep_the_search_from_ending() -> None:
    def play(ways: Sequence[Moves]) -> Iterator[PlayedPath]:
        for moves in ways:
            yield PlayedPath(moves, "s", tuple(MoveResult(Harm(stuck=index), (), "s") for index, _ in enumerate(moves)))

    known = explore_paths(WAYS, play)
    assert all(known.results_along(way) is not None for way in WAYS)
    assert known.mismatches
