"""Steps of workers, divided before their requests."""

import asyncio

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
