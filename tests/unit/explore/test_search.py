"""The search: every way is known at the end, and what ways have in common is played once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, permutations

from mockkube.explore.harm import Harm
from mockkube.explore.plans.orders import ChangeMove, Move, Moves
from mockkube.explore.plans.plan import Direction
from mockkube.explore.search import VERIFIED_EVERY, InvariantBreak, MoveResult, PlayedPath, explore_paths

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
    known: dict[tuple[str, Move], MoveResult] = {}
    targets: list[tuple[str, Move]] = []
    rounds = 0

    def first_unknown(way: Moves) -> tuple[str, Move]:
        state = ""
        for move in way:
            if (state, move) not in known:
                return state, move
            state = known[state, move].state
        raise AssertionError("the whole way is known")

    def play(ways: Sequence[Moves]) -> Iterator[PlayedPath]:
        nonlocal rounds
        rounds += 1
        if rounds > 1:
            targets.extend(first_unknown(way) for way in ways)
        for one in world(ways):
            state = ""
            for move, result in zip(one.moves, one.results, strict=True):
                state = known.setdefault((state, move), result).state
            yield one

    # What happens first matters for ever, so the first round leaves much to find.
    world.state_of = lambda done: f"{done[0]}>" + ",".join(sorted(done))
    found = explore_paths(WAYS, play)
    assert [found.results_along(way) for way in WAYS] == [list(world.taken(way)) for way in WAYS]
    assert rounds > 1
    assert len(targets) == len(set(targets))


class ContinuingLattice(Lattice):
    """A world that goes on from the ways of the last round."""

    def __init__(self) -> None:
        super().__init__()
        self.rounds: list[list[Moves]] = []

    def __call__(self, ways: Sequence[Moves]) -> Iterator[PlayedPath]:
        self.rounds.append(list(ways))
        for moves in ways:
            self.played += 1
            yield PlayedPath(moves, "", tuple(self.taken(moves)), max(len(moves) - 1, 0))


def test_going_on_from_each_state_plays_each_of_its_moves_once() -> None:
    world = ContinuingLattice()
    known = explore_paths(WAYS, world, continues_paths=True)
    assert [known.results_along(way) for way in WAYS] == [list(world.taken(way)) for way in WAYS]
    assert (known.states, len(known.results), known.mismatches) == (16, 32, [])
    verified = known.played - len(known.results)
    assert 0 < verified <= len(known.results) / VERIFIED_EVERY + len(world.rounds)


def test_going_on_finds_the_same_as_playing_whole_ways() -> None:
    world, continuing = Lattice(), ContinuingLattice()
    world.state_of = continuing.state_of = lambda done: f"{done[0]}>" + ",".join(sorted(done))
    assert explore_paths(WAYS, world).results == explore_paths(WAYS, continuing, continues_paths=True).results


def test_each_way_goes_on_from_one_of_the_round_before() -> None:
    world = ContinuingLattice()
    explore_paths(WAYS, world, continues_paths=True)
    for before, after in pairwise(world.rounds):
        assert {way[:-1] for way in after} <= set(before)


def test_going_on_after_two_ways_to_one_state_shows_what_the_state_hides() -> None:
    class Secretive(ContinuingLattice):
        def taken(self, moves: Moves) -> Iterator[MoveResult]:
            for number, result in enumerate(super().taken(moves)):
                hidden = number == 2 and str(moves[0]) == "b up"
                yield replace(result, harm=Harm(stuck=1)) if hidden else result

    known = explore_paths(WAYS, Secretive(), continues_paths=True)
    assert known.mismatches


def test_states_that_hide_something_do_not_keep_the_search_from_ending() -> None:
    def play(ways: Sequence[Moves]) -> Iterator[PlayedPath]:
        for moves in ways:
            yield PlayedPath(moves, "s", tuple(MoveResult(Harm(stuck=index), (), "s") for index, _ in enumerate(moves)))

    known = explore_paths(WAYS, play)
    assert all(known.results_along(way) is not None for way in WAYS)
    assert known.mismatches
