"""A sample of ways is played by itself, and what differs from what was told is found."""

from collections.abc import Iterator, Sequence
from itertools import permutations

from mockkube.scenario.explore.checking import check
from mockkube.scenario.explore.harm import Harm
from mockkube.scenario.explore.orders import Changes, Moves
from mockkube.scenario.explore.plan import Phase
from mockkube.scenario.explore.search import Known, Taken, Walked

WAYS: list[Moves] = [tuple(Changes(Phase.UP, name) for name in order) for order in permutations("ab")]


def walked(moves: Moves, harm: int = 0) -> Walked:
    """Every way comes to the same states; the second step does so much harm."""
    return Walked(moves, "0", tuple(Taken(Harm(stuck=harm * index), (), str(index + 1)) for index in range(len(moves))))


def known() -> Known:
    found = Known()
    for moves in WAYS:
        one = walked(moves)
        found.learn(one.moves, one.start, one.taken)
    return found


def playing(harm: int):
    def play(ways: Sequence[Moves]) -> Iterator[Walked]:
        return (walked(moves, harm) for moves in ways)

    return play


def test_ways_that_come_out_as_told_make_no_difference() -> None:
    checked = check(known(), WAYS, playing(0), count=5, seed=0)
    assert (checked.ways, checked.differences) == (2, ())


def test_a_way_that_comes_out_otherwise_is_told_up_to_the_step_that_does() -> None:
    [difference] = check(known(), WAYS, playing(3), count=1, seed=0).differences
    assert difference.at == 1
    assert str(difference).endswith(": told none, played 3 stuck")
