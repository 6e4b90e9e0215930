"""The search over schedules, on toy programs whose every order can be listed."""

from itertools import permutations
from random import Random

import pytest

from mockkube.explore.interleavings.plan import InterleavingPlan
from mockkube.explore.interleavings.schedule import Schedule
from mockkube.explore.interleavings.search import SearchBounds, search
from mockkube.runtime.virtual_time import VirtualClock
from tests.unit.explore.interleavings.toy_programs import ToyPlayer

PLAN = InterleavingPlan("toy", (), ("same-outcome",))


def explore(programs, **bounds):
    player = ToyPlayer(programs)
    return player, search(PLAN, player, SearchBounds(**bounds), VirtualClock())


def list_outcomes(programs):
    """Return the outcomes of all orders."""
    player = ToyPlayer(programs)
    names = [name for name, program in programs.items() for _ in program]
    for order in set(permutations(names)):
        player.play(Schedule(order))
    return player.outcomes


def make_programs(seed):
    random, variables = Random(seed), "xyz"
    pick = lambda: tuple(sorted(set(random.choices(variables, k=random.randrange(2)))))  # noqa: E731
    return {name: [(pick(), pick()) for _ in range(2)] for name in "abc"}


def test_independent_steps_are_played_in_one_order():
    player, result = explore({"a": [((), "x")], "b": [((), "y")], "c": [("z", ())]}, depth=5)
    assert (result.played, result.is_complete, len(player.outcomes)) == (1, True, 1)


def test_both_orders_of_two_writes_are_played():
    player, result = explore({"a": [((), "x")], "b": [((), "x")]}, depth=5)
    assert (result.played, len(player.outcomes)) == (2, 2)


@pytest.mark.parametrize("seed", range(25))
def test_every_outcome_is_found_with_fewer_schedules(seed):
    programs = make_programs(seed)
    player, result = explore(programs, depth=20)
    assert result.is_complete
    assert player.outcomes == list_outcomes(programs)
    assert player.played <= 90  # the number of orders of three programs with two steps each


def test_without_reduction_more_schedules_lead_to_the_same_outcomes():
    programs = make_programs(1)
    reduced, _ = explore(programs, depth=20)
    whole, result = explore(programs, depth=20, reduces=False)
    assert result.is_complete
    assert whole.outcomes == reduced.outcomes
    assert reduced.played < whole.played


def test_fewer_changes_come_first_and_the_depth_bounds_them():
    programs = {name: [((), "x")] for name in "abcd"}
    _, shallow = explore(programs, depth=1)
    _, deep = explore(programs, depth=2)
    assert set(shallow.by_changes) == {0, 1}
    assert set(deep.by_changes) == {0, 1, 2}
    assert shallow.by_changes[1] == deep.by_changes[1]


def test_time_bounds_the_search():
    class SlowPlayer(ToyPlayer):
        def play(self, schedule):
            clock.move_to(clock.monotonic() + 1)
            return super().play(schedule)

    clock = VirtualClock()
    player = SlowPlayer({name: [((), "x")] * 3 for name in "abcd"})
    result = search(PLAN, player, SearchBounds(depth=9, seconds=5), clock)
    assert result.left > 0
    assert not result.is_complete
