"""Steps of workers, divided before their requests."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mockkube.cluster.execution.stepped_executor import SteppedExecutor
from mockkube.runtime.steps import Signal
from mockkube.runtime.virtual_time import VirtualClock


class Sender:
    """Sends two requests in each step; those of `in_parallel` at once."""

    def __init__(self, executor: SteppedExecutor, log: list[str], *, in_parallel: bool = False) -> None:
        self.name, self.signal = "sender", Signal()
        self._executor, self._log, self._in_parallel = executor, log, in_parallel
        self.waiting = True

    def is_ready(self) -> bool:
        return self.waiting

    def wake_at(self) -> float | None:
        return None

    async def step(self) -> None:
        self.waiting = False
        if self._in_parallel:
            await asyncio.gather(self._send("first"), self._send("second"))
            return
        await self._send("first")
        await self._send("second")

    async def _send(self, request: str) -> None:
        await self._executor.halt_step(request)
        self._log.append(request)


async def take_steps(log: list[str], executor: SteppedExecutor) -> list[tuple[str | None, list[str]]]:
    """Let the only worker take steps; return before each what it is about to do, and what it has done."""
    states = []
    while ready := list(executor.list_ready_workers()):
        [worker] = ready
        states.append((worker.next_request, list(log)))
        await worker.step()
    return states


async def test_a_divided_step_halts_before_each_request() -> None:
    log: list[str] = []
    async with SteppedExecutor(VirtualClock()) as executor:
        executor.divides = lambda worker: worker == "sender"
        executor.add_workers([Sender(executor, log)])
        assert await take_steps(log, executor) == [(None, []), ("first", []), ("second", ["first"])]
    assert log == ["first", "second"]


async def test_other_steps_are_taken_as_a_whole() -> None:
    log: list[str] = []
    async with SteppedExecutor(VirtualClock()) as executor:
        executor.add_workers([Sender(executor, log)])
        assert await take_steps(log, executor) == [(None, [])]
    assert log == ["first", "second"]


async def test_requests_in_parallel_are_not_divided() -> None:
    log: list[str] = []
    async with SteppedExecutor(VirtualClock()) as executor:
        executor.divides = lambda worker: True
        executor.add_workers([Sender(executor, log, in_parallel=True)])
        assert await take_steps(log, executor) == [(None, [])]
    assert log == ["first", "second"]


async def test_a_worker_is_removed_in_the_middle_of_a_step() -> None:
    log: list[str] = []
    async with SteppedExecutor(VirtualClock()) as executor:
        executor.divides = lambda worker: True
        sender = Sender(executor, log)
        executor.add_workers([sender])
        await next(executor.list_ready_workers()).step()
        await executor.remove_workers([sender])
        assert list(executor.list_ready_workers()) == []
    assert log == []


async def test_requests_from_outside_of_steps_are_sent_at_once() -> None:
    async with SteppedExecutor(VirtualClock()) as executor:
        executor.divides = lambda worker: True
        await executor.halt_step("first")


class Alarm:
    """A worker that is due at a moment, and counts how often it is asked."""

    def __init__(self, clock: VirtualClock, executor: SteppedExecutor) -> None:
        self.name, self.signal = "alarm", Signal()
        self.due_at: float | None = 10.0
        self.asked = 0
        self._clock, self._executor = clock, executor

    def is_ready(self) -> bool:
        self.asked += 1
        return self.due_at is not None and self.due_at <= self._clock.monotonic()

    def wake_at(self) -> float | None:
        return self.due_at

    async def step(self) -> None:
        self.due_at = None
        await self._executor.pause_step(5.0)


async def test_a_worker_that_rests_is_asked_again_when_it_is_due_or_notified() -> None:
    clock = VirtualClock()
    async with SteppedExecutor(clock) as executor:
        alarm = Alarm(clock, executor)
        executor.add_workers([alarm])
        (stepped,) = executor.get_workers()
        for moment in (0.0, 3.0, 7.0):
            clock.move_to(moment)
            assert not list(executor.list_ready_workers())
            assert stepped.wake_at() == 10.0
        assert alarm.asked == 1
        alarm.due_at = 8.0
        alarm.signal.notify()
        assert not list(executor.list_ready_workers())
        assert stepped.wake_at() == 8.0
        clock.move_to(8.0)
        assert list(executor.list_ready_workers()) == [stepped]
        await stepped.step()
        # In the middle of a step it neither is ready nor wakes.
        assert (stepped.wake_at(), list(executor.list_ready_workers())) == (None, [])
        clock.move_to(13.0)
        await asyncio.sleep(0)
        await executor.wait_until_halted()
        alarm.due_at = 20.0
        assert not list(executor.list_ready_workers())
        assert stepped.wake_at() == 20.0


MOMENTS = st.sampled_from((None, 0.0, 1.0, 2.0, 3.0, 5.0, 8.0))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("set"), st.integers(0, 3), MOMENTS),
            st.tuples(st.just("move"), st.integers(0, 3)),
            st.tuples(st.just("step"), st.integers(0, 3)),
            st.tuples(st.just("replace"), st.integers(0, 3)),
        ),
        max_size=25,
    )
)
def test_exactly_the_workers_that_are_ready_are_listed_in_their_order(actions: list[tuple[Any, ...]]) -> None:
    asyncio.run(play(actions))


async def play(actions: list[tuple[Any, ...]]) -> None:
    clock = VirtualClock()
    async with SteppedExecutor(clock) as executor:
        alarms = [Alarm(clock, executor) for _ in range(4)]
        executor.add_workers(alarms)
        for action in actions:
            match action:
                case "set", number, moment:
                    alarms[number].due_at = moment
                    alarms[number].signal.notify()
                case "move", seconds:
                    clock.move_to(clock.monotonic() + seconds)
                    await asyncio.sleep(0)
                    await executor.wait_until_halted()
                case "step", number:
                    if ready := list(executor.list_ready_workers())[number:]:
                        await ready[0].step()
                case _, number:
                    (gone,) = (one for one in executor.get_workers() if one.worker is alarms[number])
                    if gone.is_halted:
                        await executor.remove_workers([alarms[number]])
                        alarms.append(Alarm(clock, executor))
                        executor.add_workers(alarms[-1:])
                        del alarms[number]
            everyone = executor.get_workers()
            assert [one.worker for one in everyone] == alarms
            assert list(executor.list_ready_workers()) == [one for one in everyone if one.is_ready()]
            assert next(executor.list_ready_workers(), None) == next((one for one in everyone if one.is_ready()), None)
