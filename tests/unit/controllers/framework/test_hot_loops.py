from mockkube.controllers.framework.hot_loops import (
    HOT_LOOP_MIN,
    METRIC,
    STALE_SECONDS,
    WINDOW_SECONDS,
    HotLoopCause,
    HotLoopDetector,
)
from mockkube.runtime.virtual_time import VirtualClock


def failing(clock, times=HOT_LOOP_MIN):
    loops = HotLoopDetector(clock)
    for _ in range(times):
        loops.record_failure("c", "ns/o", "refused")
    return loops


def test_a_few_failures_are_no_loop():
    assert failing(VirtualClock(), HOT_LOOP_MIN - 1).current() == []


def test_a_pair_that_keeps_failing_is_named_with_its_rate_and_last_word():
    (loop,) = failing(VirtualClock()).current()
    assert (loop.controller, loop.object, loop.cause) == ("c", "ns/o", HotLoopCause.FAILING)
    assert (loop.per_minute, loop.message) == (HOT_LOOP_MIN, "refused")


def test_a_success_ends_a_loop():
    loops = failing(VirtualClock())
    loops.record_success("c", "ns/o")
    assert loops.current() == []


def test_only_the_last_minute_counts_for_the_rate():
    clock = VirtualClock()
    loops = failing(clock)
    clock.move_to(WINDOW_SECONDS + 1)
    assert [loop.per_minute for loop in loops.current()] == [0]


def test_what_is_lost_and_made_again_and_again_is_a_loop():
    loops = HotLoopDetector(VirtualClock())
    for _ in range(HOT_LOOP_MIN):
        assert loops.current() == []
        loops.record_loss("c", "ns/o")
        loops.record_creation("c", "ns/o")
    assert [loop.cause for loop in loops.current()] == [HotLoopCause.CHURNING]


def test_what_is_made_once_and_then_lost_is_no_loop():
    loops = HotLoopDetector(VirtualClock())
    for note in (loops.record_creation, loops.record_loss):
        for _ in range(HOT_LOOP_MIN):
            note("c", "ns/o")
    assert loops.current() == []


def test_loops_are_shown_as_a_metric():
    (family,) = failing(VirtualClock()).collect()
    (sample,) = family.samples
    assert sample.name == METRIC
    assert sample.labels == {"controller": "c", "object": "ns/o", "cause": "failing"}
    assert sample.value == HOT_LOOP_MIN


class Heard:
    """A bell that counts how often it was rung."""

    def __init__(self):
        self.times = 0

    def notify(self):
        self.times += 1


def test_a_bell_rings_when_a_loop_begins_and_when_it_ends():
    bell = Heard()
    loops = HotLoopDetector(VirtualClock(), bell)
    for _ in range(HOT_LOOP_MIN - 1):
        loops.record_failure("c", "ns/o", "refused")
    loops.record_success("c", "ns/o")
    assert bell.times == 0
    for _ in range(2 * HOT_LOOP_MIN):
        loops.record_failure("c", "ns/o", "refused")
    assert bell.times == 1
    loops.record_success("c", "ns/o")
    loops.record_success("c", "ns/o")
    assert bell.times == 2


def test_a_bell_rings_when_what_is_made_is_lost_once_too_often():
    bell = Heard()
    loops = HotLoopDetector(VirtualClock(), bell)
    for _ in range(HOT_LOOP_MIN):
        assert bell.times == 0
        loops.record_loss("c", "ns/o")
        loops.record_creation("c", "ns/o")
    assert bell.times == 1


def test_a_pair_that_did_well_or_has_not_changed_for_long_is_forgotten():
    clock = VirtualClock()
    loops = HotLoopDetector(clock)
    loops.record_failure("c", "ns/well", "refused")
    loops.record_success("c", "ns/well")
    assert not loops._pairs
    loops.record_loss("c", "ns/lost")
    clock.move_to(STALE_SECONDS + 1)
    loops.record_loss("c", "ns/other")
    assert list(loops._pairs) == [("c", "ns/other")]


def test_owners_that_came_and_went_are_forgotten_after_the_window():
    clock = VirtualClock()
    loops = HotLoopDetector(clock)
    for number in range(1000):
        loops.record_loss("c", f"ns/{number}")
    clock.move_to(WINDOW_SECONDS + 1)
    loops.record_loss("c", "ns/last")
    assert list(loops._pairs) == [("c", "ns/last")]


def test_a_replacement_of_the_last_minute_counts_however_long_ago_the_loss_was():
    clock = VirtualClock()
    loops = HotLoopDetector(clock)
    for _ in range(HOT_LOOP_MIN):
        loops.record_loss("c", "ns/o")
    clock.move_to(WINDOW_SECONDS - 1)
    for _ in range(HOT_LOOP_MIN):
        loops.record_creation("c", "ns/o")
    clock.move_to(WINDOW_SECONDS + 1)
    loops.record_loss("c", "ns/other")
    assert [loop.object for loop in loops.current()] == ["ns/o"]
