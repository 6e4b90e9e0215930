"""A sample of ways is played by itself, and what differs from what was told is found."""

from collections.abc import Iterator, Sequence
from itertools import permutations

from mockkube.explore.harm import Harm
from mockkube.explore.path_check import check_paths
from mockkube.explore.plans.orders import ChangeMove, Moves
from mockkube.explore.plans.plan import Direction
from mockkube.explore.search import KnownMoves, MoveResult, PlayedPath

WAYS: list[Moves] = [tuple(ChangeMove(Direction.UP, name) for name in order) for order in permutations("ab")]


def walked(moves: Moves, harm: int = 0) -> PlayedPath:
    """Every way comes to the same states; the second step does so much harm."""
    return PlayedPath(
        moves, "0", tuple(MoveResult(Harm(stuck=harm * index), (), str(index + 1)) for index in range(len(moves)))
    )


def known() -> KnownMoves:
    found = KnownMoves()
    for moves in WAYS:
        one = walked(moves)
        found.add_path(one)
    return found


def playing(harm: int):
    def play(ways: Sequence[Moves]) -> Iterator[PlayedPath]:
        return (walked(moves, harm) for moves in ways)

    return play


def test_ways_that_come_out_as_told_make_no_difference() -> None:
    checked = check_paths(known(), WAYS, playing(0), count=5, seed=0)
    assert (checked.path_count, checked.differences) == (2, ())


def test_a_way_that_comes_out_otherwise_is_told_up_to_the_step_that_does() -> None:
    [difference] = check_paths(known(), WAYS, playing(3), count=1, seed=0).differences
    assert difference.at == 1
    assert str(difference).endswith(": expected none, found 3 stuck")
