"""The search: every way is known at the end, and what ways have in common is played once."""

from collections.abc import Iterator, Sequence
from itertools import permutations

from mockkube.scenario.explore.harm import Harm
from mockkube.scenario.explore.orders import Changes, Moves
from mockkube.scenario.explore.plan import Phase
from mockkube.scenario.explore.search import Break, Taken, Walked, explore

NAMES = ("a", "b", "c", "d")
WAYS: list[Moves] = [tuple(Changes(Phase.UP, name) for name in order) for order in permutations(NAMES)]


class Lattice:
    """A world in which the order of what has happened does not matter; b before a does harm."""

    def __init__(self) -> None:
        self.played = 0

    def __call__(self, ways: Sequence[Moves]) -> Iterator[Walked]:
        for moves in ways:
            self.played += 1
            yield Walked(moves, "", tuple(self.taken(moves)))

    def taken(self, moves: Moves) -> Iterator[Taken]:
        done: set[str] = set()
        for move in moves:
            harmed = str(move) == "b up" and "a up" not in done
            done.add(str(move))
            breaks = (Break("order", "b came first"),) if harmed else ()
            yield Taken(Harm(evicted=int(harmed)), breaks, ",".join(sorted(done)))


def test_what_is_put_together_is_what_playing_everything_would_say() -> None:
    world = Lattice()
    known = explore(WAYS, world)
    assert [known.along(way) for way in WAYS] == [list(world.taken(way)) for way in WAYS]


def test_ways_that_come_to_the_same_state_are_not_played_to_the_end() -> None:
    world = Lattice()
    known = explore(WAYS, world)
    assert (known.states, len(known.steps)) == (16, 32)
    assert world.played < len(WAYS)


def test_states_that_hide_something_do_not_keep_the_search_from_ending() -> None:
    def play(ways: Sequence[Moves]) -> Iterator[Walked]:
        for moves in ways:
            yield Walked(moves, "s", tuple(Taken(Harm(stuck=index), (), "s") for index, _ in enumerate(moves)))

    known = explore(WAYS, play)
    assert all(known.along(way) is not None for way in WAYS)
    assert known.surprises
