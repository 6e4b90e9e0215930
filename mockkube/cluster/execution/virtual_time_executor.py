"""Executor in virtual time: one step after the other; time advances only when all workers are at rest."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from mockkube.cluster.execution.stepped_executor import SteppedExecutor
from mockkube.runtime.steps import STEPS_MAX, InOrderChooser, LivelockError, Signal, Worker, settle
from mockkube.runtime.virtual_time import VirtualClock, advance, next_moment
from mockkube.runtime.waiters import Waiters

_LOG: Final = logging.getLogger("mockkube.cluster")


class VirtualTimeExecutor:
    """One task that takes the steps of all workers in order, and advances the clock."""

    def __init__(
        self, clock: VirtualClock, *, wait_for_delivery: Callable[[], Awaitable[None]], steps_max: int = STEPS_MAX
    ) -> None:
        self._clock = clock
        # Steps at one moment after which a livelock is reported.
        self._steps_max = steps_max
        # Returns when all writes have reached their watchers.
        self._wait_for_writes = wait_for_delivery
        self._signal = Signal()
        self._group = asyncio.TaskGroup()
        self._task: asyncio.Task[None] | None = None
        self._stepped = SteppedExecutor(clock)
        self._forwarding_tasks: dict[int, asyncio.Task[None]] = {}
        self._target = clock.now()
        self._waiters: Waiters[datetime] = Waiters()

    async def __aenter__(self) -> "VirtualTimeExecutor":
        await self._group.__aenter__()
        await self._stepped.__aenter__()
        self._task = self._group.create_task(self._run())
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for task in (self._task, *self._forwarding_tasks.values()):
            if task is not None:
                task.cancel()
        await self._stepped.__aexit__(None, None, None)
        await self._group.__aexit__(None, None, None)

    def add_workers(self, workers: Sequence[Worker]) -> None:
        """Add workers, and wake up whenever one is ready."""
        self._stepped.add_workers(workers)
        for worker in workers:
            self._forwarding_tasks[id(worker)] = self._group.create_task(self._forward_signal(worker))
        self._signal.notify()

    async def remove_workers(self, workers: Sequence[Worker]) -> None:
        """Remove the workers, after the end of a running step."""
        for worker in workers:
            self._forwarding_tasks.pop(id(worker)).cancel()
        await self._stepped.remove_workers(workers)

    async def pause_step(self, seconds: float) -> None:
        """Suspend the step that calls this; virtual time may pass once all others are at rest."""
        await self._stepped.pause_step(seconds)

    async def advance_to(self, moment: datetime) -> None:
        """Advance time to a moment, stopping wherever a worker wakes; return when all are at rest there.

        Raises LivelockError when workers keep each other busy on the way: then time stands still.
        """
        # Requests may overlap: each waits for its own moment, and time goes to the latest.
        self._target = max(self._target, moment)
        self._signal.notify()
        await self._waiters.wait(moment)

    def find_next_moment(self) -> datetime | None:
        """Return the next time at which something is due, rounded up to a microsecond; None if nothing is."""
        moment = next_moment(self._clock, self._stepped.get_workers())
        if moment is None:
            return None
        seconds = moment - self._clock.monotonic()
        return self._clock.now() + timedelta(microseconds=ceil(round(seconds * 1e6, 3)))

    async def _forward_signal(self, worker: Worker) -> None:
        """Forward a worker's signal."""
        while True:
            await worker.signal.wait()
            self._signal.notify()

    async def _run(self) -> None:
        while True:
            await self._signal.wait()
            try:
                await self._advance_to_target()
            except LivelockError as error:  # waiting callers get the error, and can change something
                _LOG.error("time stands still: %s", error)
                self._waiters.fail(error)
            self._waiters.release(self._clock.now())

    async def _advance_to_target(self) -> None:
        """Settle now and at every moment on the way to the target time."""
        await self._settle()
        while (seconds := (self._target - self._clock.now()).total_seconds()) > 0:
            await advance(self._clock, seconds, self._stepped.get_workers, self._settle)

    async def _settle(self) -> None:
        await settle(
            self._stepped.get_workers,
            InOrderChooser(),
            wait_for_delivery=self._wait_for_delivery,
            steps_max=self._steps_max,
        )

    async def _wait_for_delivery(self) -> None:
        await self._stepped.wait_until_halted()
        await self._wait_for_writes()
