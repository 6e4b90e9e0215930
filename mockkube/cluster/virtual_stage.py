"""Executor in virtual time: one step after the other; time advances only when all workers are at rest."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final

from mockkube.cluster.turns import Turns
from mockkube.runtime.steps import STEPS_MAX, InOrderChooser, LivelockError, Signal, Worker, settle
from mockkube.runtime.virtual import VirtualClock, advance
from mockkube.runtime.waiters import Waiters

_LOG: Final = logging.getLogger("mockkube.cluster")


class VirtualStage:
    """One task that takes the steps of all workers in order, and advances the clock."""

    def __init__(
        self, clock: VirtualClock, *, quiet: Callable[[], Awaitable[None]], steps_max: int = STEPS_MAX
    ) -> None:
        self._clock = clock
        # Steps at one moment after which a livelock is reported.
        self._steps_max = steps_max
        # Returns when all writes have reached their watchers.
        self._seen = quiet
        self._bell = Signal()
        self._group = asyncio.TaskGroup()
        self._running: asyncio.Task[None] | None = None
        self._turns = Turns(clock)
        self._heeding: dict[int, asyncio.Task[None]] = {}
        self._target = clock.now()
        self._waiters: Waiters[datetime] = Waiters()

    async def __aenter__(self) -> "VirtualStage":
        await self._group.__aenter__()
        await self._turns.__aenter__()
        self._running = self._group.create_task(self._run())
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for task in (self._running, *self._heeding.values()):
            if task is not None:
                task.cancel()
        await self._turns.__aexit__(None, None, None)
        await self._group.__aexit__(None, None, None)

    def enter(self, workers: Sequence[Worker]) -> None:
        """Add workers, and wake up whenever one is ready."""
        self._turns.enter(workers)
        for worker in workers:
            self._heeding[id(worker)] = self._group.create_task(self._heed(worker))
        self._bell.notify()

    async def leave(self, workers: Sequence[Worker]) -> None:
        """Remove the workers, after the end of a running step."""
        for worker in workers:
            self._heeding.pop(id(worker)).cancel()
        await self._turns.leave(workers)

    async def pause(self, seconds: float) -> None:
        """Suspend the step that calls this; virtual time may pass once all others are at rest."""
        await self._turns.pause(seconds)

    async def move_to(self, moment: datetime) -> None:
        """Advance time to a moment, stopping wherever a worker wakes; return when all are at rest there.

        Raises LivelockError when workers keep each other busy on the way: then time stands still.
        """
        # Requests may overlap: each waits for its own moment, and time goes to the latest.
        self._target = max(self._target, moment)
        self._bell.notify()
        await self._waiters.wait(moment)

    async def _heed(self, worker: Worker) -> None:
        """Forward a worker's signal."""
        while True:
            await worker.signal.wait()
            self._bell.notify()

    async def _run(self) -> None:
        while True:
            await self._bell.wait()
            try:
                await self._work()
            except LivelockError as error:  # waiting callers get the error, and can change something
                _LOG.error("time stands still: %s", error)
                self._waiters.fail(error)
            self._waiters.release(self._clock.now())

    async def _work(self) -> None:
        """Settle now and at every moment on the way to the target time."""
        await self._settle()
        while (seconds := (self._target - self._clock.now()).total_seconds()) > 0:
            await advance(self._clock, seconds, self._turns.present, self._settle)

    async def _settle(self) -> None:
        await settle(self._turns.present, InOrderChooser(), wait_for_delivery=self._quiet, steps_max=self._steps_max)

    async def _quiet(self) -> None:
        await self._turns.halted()
        await self._seen()
