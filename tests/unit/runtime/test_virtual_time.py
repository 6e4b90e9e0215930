"""Virtual time stands still until it is moved, and stops wherever something happens."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.runtime.steps import LivelockError, Signal
from mockkube.runtime.virtual_time import EPOCH, VirtualClock, advance, next_moment


class Alarm:
    """A worker that is due at some moments."""

    def __init__(self, clock: VirtualClock, name: str, moments: list[float]) -> None:
        self.clock, self.name, self.moments = clock, name, sorted(moments)
        self.signal = Signal()
        self.rang: list[float] = []

    def is_ready(self) -> bool:
        return bool(self.moments) and self.moments[0] <= self.clock.monotonic()

    def wake_at(self) -> float | None:
        return self.moments[0] if self.moments else None

    async def step(self) -> None:
        self.moments.pop(0)
        self.rang.append(self.clock.monotonic())


async def rest(alarms: list[Alarm]) -> None:
    while ready := [alarm for alarm in alarms if alarm.is_ready()]:
        await ready[0].step()


def test_both_readings_move_together() -> None:
    clock = VirtualClock()
    assert (clock.now(), clock.monotonic()) == (EPOCH, 0.0)
    clock.move_to(90.0)
    assert (clock.now(), clock.monotonic()) == (EPOCH + timedelta(seconds=90), 90.0)


def test_time_never_goes_back() -> None:
    clock = VirtualClock()
    clock.move_to(5.0)
    clock.move_to(3.0)
    assert clock.monotonic() == 5.0


async def test_sleepers_wake_in_the_order_of_their_moments() -> None:
    clock, woken = VirtualClock(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with asyncio.TaskGroup() as group:
        for seconds in (3.0, 1.0, 2.0, 0.0):
            group.create_task(sleeper(seconds))
        await asyncio.sleep(0)
        assert clock.next_timer() == 1.0
        clock.move_to(3.0)
    assert woken == [0.0, 1.0, 2.0, 3.0]


async def test_a_cancelled_sleeper_is_no_timer() -> None:
    clock = VirtualClock()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(clock.sleep(5.0))
        await asyncio.sleep(0)
        task.cancel()
    assert clock.next_timer() is None


def test_the_next_moment_is_the_earliest_and_never_past() -> None:
    clock = VirtualClock()
    alarms = [Alarm(clock, "a", [7.0]), Alarm(clock, "b", [4.0]), Alarm(clock, "c", [])]
    assert next_moment(clock, alarms) == 4.0
    clock.move_to(5.0)
    assert next_moment(clock, alarms) == 5.0
    assert next_moment(clock, [alarms[2]]) is None


@given(
    moments=st.lists(st.lists(st.integers(1, 50).map(float), max_size=5), max_size=4),
    legs=st.lists(st.integers(1, 30), max_size=4),
)
async def test_everything_happens_at_its_moment_however_time_is_cut(
    moments: list[list[float]], legs: list[int]
) -> None:
    clock = VirtualClock()
    alarms = [Alarm(clock, str(index), list(each)) for index, each in enumerate(moments)]
    for leg in legs:
        await advance(clock, leg, lambda: alarms, lambda: rest(alarms))
    assert clock.monotonic() == sum(legs)
    assert [alarm.rang for alarm in alarms] == [sorted(m for m in each if m <= sum(legs)) for each in moments]


async def test_a_worker_that_is_due_but_never_ready_is_found_out() -> None:
    clock = VirtualClock()

    class Stuck(Alarm):
        def is_ready(self) -> bool:
            return False

    stuck = Stuck(clock, "stuck", [1.0])
    with pytest.raises(LivelockError, match="stuck"):
        await advance(clock, 5.0, lambda: [stuck], lambda: rest([stuck]))
