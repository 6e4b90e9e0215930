"""Workers on a stage: in real time each for itself, in virtual time one after the other while the clock stands."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest
import pytest_asyncio

from mockkube.cluster.execution.executor import RealTimeExecutor
from mockkube.cluster.execution.virtual_time_executor import VirtualTimeExecutor
from mockkube.runtime.clock import RealClock
from mockkube.runtime.steps import LivelockError, Signal
from mockkube.runtime.virtual_time import EPOCH, VirtualClock


class Ticker:
    """Takes a step each so many seconds, and for each time it is rung."""

    def __init__(self, name: str, clock: VirtualClock | RealClock, seconds: float, act: Callable[[], Awaitable[None]]):
        self.name, self.signal, self._clock, self._seconds, self._act = name, Signal(), clock, seconds, act
        self._next = clock.monotonic() + seconds
        self._rung = False

    def ring(self) -> None:
        self._rung = True
        self.signal.notify()

    def is_ready(self) -> bool:
        return self._rung or self._clock.monotonic() >= self._next

    def wake_at(self) -> float | None:
        return self._next

    async def step(self) -> None:
        self._rung = False
        self._next = self._clock.monotonic() + self._seconds
        await self._act()


async def nothing() -> None:
    return None


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest_asyncio.fixture
async def stage(clock: VirtualClock) -> AsyncIterator[VirtualTimeExecutor]:
    async def quiet() -> None:
        await clock.sleep(0)

    async with VirtualTimeExecutor(clock, wait_for_delivery=quiet) as entered:
        yield entered


def noting(log: list[str], name: str, clock: VirtualClock, seconds: float) -> Ticker:
    async def note() -> None:
        log.append(f"{name} {clock.monotonic():g}")

    return Ticker(name, clock, seconds, note)


async def test_time_stops_wherever_something_happens(stage: VirtualTimeExecutor, clock: VirtualClock) -> None:
    log: list[str] = []
    stage.add_workers([noting(log, "a", clock, 10), noting(log, "b", clock, 15)])
    await stage.advance_to(EPOCH + timedelta(seconds=31))
    assert log == ["a 10", "b 15", "a 20", "a 30", "b 30"]
    assert clock.now() == EPOCH + timedelta(seconds=31)


async def test_work_is_done_while_time_stands_still(stage: VirtualTimeExecutor, clock: VirtualClock) -> None:
    log: list[str] = []
    ticker = noting(log, "a", clock, 10)
    stage.add_workers([ticker])
    ticker.ring()
    await stage.advance_to(EPOCH)
    assert (log, clock.now()) == (["a 0"], EPOCH)


async def test_one_that_has_left_takes_no_step(stage: VirtualTimeExecutor, clock: VirtualClock) -> None:
    log: list[str] = []
    gone, stays = noting(log, "gone", clock, 1), noting(log, "stays", clock, 1)
    stage.add_workers([gone, stays])
    await stage.remove_workers([gone])
    await stage.advance_to(EPOCH + timedelta(seconds=1))
    assert log == ["stays 1"]


async def test_a_step_that_is_held_up_goes_on_later_and_the_others_meanwhile(
    stage: VirtualTimeExecutor, clock: VirtualClock
) -> None:
    log: list[str] = []

    async def slow() -> None:
        log.append(f"begun {clock.monotonic():g}")
        await stage.pause_step(25)
        log.append(f"done {clock.monotonic():g}")

    stage.add_workers([Ticker("slow", clock, 10, slow), noting(log, "a", clock, 20)])
    await stage.advance_to(EPOCH + timedelta(seconds=40))
    assert log == ["begun 10", "a 20", "done 35", "begun 35", "a 40"]


async def test_one_that_leaves_in_the_middle_of_a_step_is_cancelled(
    stage: VirtualTimeExecutor, clock: VirtualClock
) -> None:
    ended = []

    async def endless() -> None:
        try:
            await stage.pause_step(1000)
        finally:
            ended.append(True)

    worker = Ticker("endless", clock, 1, endless)
    stage.add_workers([worker])
    await stage.advance_to(EPOCH + timedelta(seconds=5))
    await stage.remove_workers([worker])
    assert ended == [True]


async def test_workers_that_keep_each_other_busy_stop_time(clock: VirtualClock) -> None:
    log: list[str] = []
    busy = noting(log, "busy", clock, 0)

    async def quiet() -> None:
        await clock.sleep(0)

    async with VirtualTimeExecutor(clock, wait_for_delivery=quiet, steps_max=50) as stage:
        stage.add_workers([busy])
        with pytest.raises(LivelockError):
            await stage.advance_to(EPOCH + timedelta(seconds=5))
        await stage.remove_workers([busy])
        await stage.advance_to(EPOCH + timedelta(seconds=5))
    assert (len(log) >= 50, clock.now()) == (True, EPOCH + timedelta(seconds=5))


async def test_real_workers_run_until_they_leave() -> None:
    clock, ran = RealClock(), asyncio.Event()

    async def tell() -> None:
        ran.set()

    async with RealTimeExecutor(clock) as real:
        worker = Ticker("a", clock, 0.01, tell)
        real.add_workers([worker])
        await ran.wait()
        await real.remove_workers([worker])
        ran.clear()
        worker.ring()
        await clock.sleep(0)
        assert not ran.is_set()


async def test_a_real_pause_is_a_sleep() -> None:
    async with RealTimeExecutor(RealClock()) as real:
        before = RealClock().monotonic()
        await real.pause_step(0.01)
        assert RealClock().monotonic() - before >= 0.01
