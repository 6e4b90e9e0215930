"""Where workers take their steps in virtual time: one after the other, and time moves only when all are at rest."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final

from mockkube.cluster.turns import Turns
from mockkube.runtime.steps import STEPS_MAX, Bell, InOrder, LivelockError, Worker, settle
from mockkube.runtime.virtual import VirtualClock, advance
from mockkube.runtime.waiters import Waiters

_LOG: Final = logging.getLogger("mockkube.cluster")


class VirtualStage:
    """One task takes the steps of all workers, in their order, and moves the clock."""

    def __init__(
        self, clock: VirtualClock, *, quiet: Callable[[], Awaitable[None]], steps_max: int = STEPS_MAX
    ) -> None:
        self._clock = clock
        self._steps_max = steps_max
        """How many steps may be taken at one moment, until it is said that there is no end to them."""
        self._seen = quiet
        """Returns when what was written has reached those who watch."""
        self._bell = Bell()
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
        """Let them take their turn."""
        self._turns.enter(workers)
        for worker in workers:
            self._heeding[id(worker)] = self._group.create_task(self._heed(worker))
        self._bell.ring()

    async def leave(self, workers: Sequence[Worker]) -> None:
        """Pass them over from now on, and wait for the end of a step in hand."""
        for worker in workers:
            self._heeding.pop(id(worker)).cancel()
        await self._turns.leave(workers)

    async def pause(self, seconds: float) -> None:
        """Hold up the step that asks for it; when nobody else has anything left to do, time may pass."""
        await self._turns.pause(seconds)

    async def move_to(self, moment: datetime) -> None:
        """Let time pass until a moment, stopping wherever something happens; return when all are at rest there.

        Raises LivelockError when workers keep each other busy on the way: then time stands still.
        """
        self._target = max(self._target, moment)
        self._bell.ring()
        await self._waiters.wait(moment)

    async def _heed(self, worker: Worker) -> None:
        while True:
            await worker.bell.wait()
            self._bell.ring()

    async def _run(self) -> None:
        while True:
            await self._bell.wait()
            try:
                await self._work()
            except LivelockError as error:  # whoever waits is told, and can change something
                _LOG.error("time stands still: %s", error)
                self._waiters.fail(error)
            self._waiters.release(self._clock.now())

    async def _work(self) -> None:
        """Bring all to rest, now and at every moment on the way to where time is to go."""
        await self._settle()
        while (seconds := (self._target - self._clock.now()).total_seconds()) > 0:
            await advance(self._clock, seconds, self._turns.present, self._settle)

    async def _settle(self) -> None:
        await settle(self._turns.present, InOrder(), quiet=self._quiet, steps_max=self._steps_max)

    async def _quiet(self) -> None:
        await self._turns.halted()
        await self._seen()
