"""Work in steps: who chooses the order has chosen everything."""

import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.runtime.clock import RealClock
from mockkube.runtime.steps import InOrderChooser, LivelockError, SeededChooser, Signal, Worker, run_worker, settle


class Countdown:
    """A worker with so many steps to take."""

    def __init__(self, name: str, left: int, trace: list[str]) -> None:
        self.name, self.left, self.trace = name, left, trace
        self.signal = Signal()

    def is_ready(self) -> bool:
        return self.left > 0

    def wake_at(self) -> float | None:
        return None

    async def step(self) -> None:
        self.left -= 1
        self.trace.append(self.name)


async def test_a_bell_that_rang_before_lets_the_next_wait_return() -> None:
    bell = Signal()
    bell.notify()
    bell.notify()
    await bell.wait()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await bell.wait()


async def test_a_bell_wakes_who_waits() -> None:
    bell = Signal()
    async with asyncio.TaskGroup() as group:
        group.create_task(bell.wait())
        await asyncio.sleep(0)
        bell.notify()


async def test_settle_takes_every_step_there_is() -> None:
    trace: list[str] = []
    workers = [Countdown("a", 2, trace), Countdown("b", 1, trace)]
    assert await settle(lambda: workers, InOrderChooser()) == 3
    assert trace == ["a", "a", "b"]


@given(left=st.lists(st.integers(0, 5), max_size=4), seed=st.integers(0, 5))
async def test_a_seed_always_gives_the_same_order(left: list[int], seed: int) -> None:
    async def played() -> list[str]:
        trace: list[str] = []
        workers = [Countdown(str(index), count, trace) for index, count in enumerate(left)]
        await settle(lambda: workers, SeededChooser(Random(seed)))
        return trace

    first = await played()
    assert first == await played()
    assert sorted(first) == [str(index) for index, count in enumerate(left) for _ in range(count)]


async def test_settle_waits_for_quiet_and_tells_of_each_step() -> None:
    trace: list[str] = []

    async def quiet() -> None:
        trace.append("quiet")

    def stepped(worker: Worker) -> None:
        trace.append(f"after {worker.name}")

    worker = Countdown("a", 1, trace)
    await settle(lambda: [worker], InOrderChooser(), wait_for_delivery=quiet, after_step=stepped)
    assert trace == ["quiet", "a", "after a", "quiet"]


async def test_a_step_may_start_other_workers() -> None:
    trace: list[str] = []
    workers: list[Countdown] = []

    class Starter(Countdown):
        async def step(self) -> None:
            await super().step()
            workers.append(Countdown("late", 1, trace))

    workers.append(Starter("first", 1, trace))
    assert await settle(lambda: workers, InOrderChooser()) == 2
    assert trace == ["first", "late"]


async def test_workers_that_never_rest_are_found_out() -> None:
    worker = Countdown("a", 100, [])
    with pytest.raises(LivelockError, match="10 steps"):
        await settle(lambda: [worker], InOrderChooser(), steps_max=10)


async def test_run_steps_whenever_there_is_something_to_do() -> None:
    trace: list[str] = []
    worker = Countdown("a", 2, trace)
    done = asyncio.Event()

    class Last(Countdown):
        async def step(self) -> None:
            await super().step()
            done.set()

    last = Last("b", 0, trace)
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(run_worker(one, RealClock())) for one in (worker, last)]
        await asyncio.sleep(0)
        last.left = 1
        last.signal.notify()
        await done.wait()
        for task in running:
            task.cancel()
    assert sorted(trace) == ["a", "a", "b"]


async def test_run_wakes_by_itself_when_the_time_has_come() -> None:
    clock = RealClock()
    done = asyncio.Event()

    class Timed(Countdown):
        at = clock.monotonic() + 0.01

        def is_ready(self) -> bool:
            return self.left > 0 and clock.monotonic() >= self.at

        def wake_at(self) -> float | None:
            return self.at if self.left else None

        async def step(self) -> None:
            await super().step()
            done.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_worker(Timed("a", 1, []), clock))
        await done.wait()
        task.cancel()
