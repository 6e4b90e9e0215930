"""Waiters wake at their point, in order, whoever is cancelled in between."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.runtime.waiters import Waiters

POINTS = st.integers(1, 8)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), POINTS),
        st.tuples(st.just("cancel"), st.integers(0, 30)),
        st.tuples(st.just("release"), POINTS),
        st.tuples(st.just("turn"), st.just(0)),
    ),
    max_size=60,
)


class Model:
    """Waiters beside what they ought to do: each task with its point, and the points released so far."""

    def __init__(self) -> None:
        self.waiters: Waiters[int] = Waiters()
        self.tasks: list[asyncio.Task[None]] = []
        self.points: list[int] = []
        self.cancelled: set[int] = set()
        self.released: set[int] = set()
        self.woken: list[int] = []

    async def wait(self, number: int, point: int) -> None:
        await self.waiters.wait(point)
        self.woken.append(number)

    async def act(self, action: str, value: int) -> None:
        if action == "wait":
            self.tasks.append(asyncio.ensure_future(self.wait(len(self.tasks), value)))
            self.points.append(value)
            await asyncio.sleep(0)  # it waits from now on
        elif action == "cancel" and value < len(self.tasks):
            if value not in self.released and value not in self.cancelled:
                self.cancelled.add(value)
                self.tasks[value].cancel()
        elif action == "release":
            self.waiters.release(value)
            waiting = set(range(len(self.tasks))) - self.cancelled
            self.released |= {number for number in waiting if self.points[number] <= value}
        elif action == "turn":
            await asyncio.sleep(0)


async def play(actions: list[tuple[str, int]]) -> None:
    model = Model()
    for action, value in actions:
        await model.act(action, value)
    await asyncio.sleep(0)
    waiting = set(range(len(model.tasks))) - model.cancelled - model.released
    assert set(model.woken) == model.released
    assert len(model.waiters) == len(waiting)
    assert model.waiters.next_point() == min((model.points[number] for number in waiting), default=None)
    model.waiters.release(max(model.points, default=0))
    await asyncio.gather(*model.tasks, return_exceptions=True)
    assert set(model.woken) == model.released | waiting
    assert len(model.waiters) == 0


@given(ACTIONS)
def test_each_wakes_at_its_point_unless_it_is_cancelled(actions: list[tuple[str, int]]) -> None:
    asyncio.run(play(actions))


async def test_those_of_one_release_wake_in_the_order_of_their_points() -> None:
    model = Model()
    for point in (3, 1, 2, 1):
        await model.act("wait", point)
    model.waiters.release(3)
    await asyncio.gather(*model.tasks)
    assert [model.points[number] for number in model.woken] == [1, 1, 2, 3]
    assert model.woken[:2] == [1, 3]


async def test_one_that_is_cancelled_ahead_of_the_point_stops_nobody() -> None:
    model = Model()
    for point in (5, 1):
        await model.act("wait", point)
    model.tasks[0].cancel()
    model.waiters.release(1)  # before the task that was cancelled has run
    await model.tasks[1]
    assert model.woken == [1]


async def test_a_failure_reaches_everybody_who_waits() -> None:
    model = Model()
    for point in (5, 1):
        await model.act("wait", point)
    model.tasks[0].cancel()
    model.waiters.fail(ValueError("gone"))
    with pytest.raises(ValueError, match="gone"):
        await model.tasks[1]
    assert len(model.waiters) == 0


async def test_points_nobody_waits_for_any_more_are_forgotten() -> None:
    model = Model()
    for _ in range(1000):
        await model.act("wait", 7)
        model.tasks[-1].cancel()
        await asyncio.sleep(0)
    assert len(model.waiters._points) < 100
