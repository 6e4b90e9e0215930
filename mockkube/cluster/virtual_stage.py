"""Where workers take their steps in virtual time: one after the other, and time moves only when all are at rest."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import Final

from mockkube.runtime.steps import STEPS_MAX, Bell, InOrder, LivelockError, Worker, settle
from mockkube.runtime.virtual import VirtualClock, advance

_LOG: Final = logging.getLogger("mockkube.cluster")


class _Turn:
    """A worker whose step may be held up in the middle; then the others go on without it."""

    def __init__(self, worker: Worker, group: asyncio.TaskGroup) -> None:
        self.worker = worker
        self._group = group
        self._task: asyncio.Task[None] | None = None
        self._held = False
        self._halted = asyncio.Event()

    @property
    def name(self) -> str:
        """That of the worker."""
        return self.worker.name

    @property
    def bell(self) -> Bell:
        """That of the worker."""
        return self.worker.bell

    def ready(self) -> bool:
        """Whether the worker is, and not in the middle of a step."""
        return self._task is None and self.worker.ready()

    def wake_at(self) -> float | None:
        """When the worker wakes, unless it is in the middle of a step."""
        return None if self._task is not None else self.worker.wake_at()

    async def step(self) -> None:
        """Take a step; return when it is done, or held up."""
        self._task = self._group.create_task(self._step(), name=self.name)
        await self.halt()

    async def _step(self) -> None:
        _TURN.set(self)
        try:
            await self.worker.step()
        finally:
            self._task, self._held = None, False
            self._halted.set()
            self.bell.ring()

    async def hold(self, clock: VirtualClock, seconds: float) -> None:
        """Hold up the step this is called from."""
        self._held = True
        self._halted.set()
        try:
            await clock.sleep(seconds)
        finally:
            self._held = False

    async def halt(self) -> None:
        """Return when no step goes on, or it is held up."""
        while self._task is not None and not self._held:
            self._halted.clear()
            await self._halted.wait()

    async def end(self) -> None:
        """Let a step come to its end, but cancel one that is held up."""
        await self.halt()
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.wait((task,))


_TURN: Final[ContextVar[_Turn]] = ContextVar("turn")


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
        self._turns: dict[int, _Turn] = {}
        self._heeding: dict[int, asyncio.Task[None]] = {}
        self._target = clock.now()
        self._reached: list[tuple[datetime, asyncio.Future[None]]] = []

    async def __aenter__(self) -> "VirtualStage":
        await self._group.__aenter__()
        self._running = self._group.create_task(self._run())
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for task in (self._running, *self._heeding.values()):
            if task is not None:
                task.cancel()
        for turn in self._turns.values():
            await turn.end()
        await self._group.__aexit__(None, None, None)

    def enter(self, workers: Sequence[Worker]) -> None:
        """Let them take their turn."""
        for worker in workers:
            self._turns[id(worker)] = _Turn(worker, self._group)
            self._heeding[id(worker)] = self._group.create_task(self._heed(worker))
        self._bell.ring()

    async def leave(self, workers: Sequence[Worker]) -> None:
        """Pass them over from now on, and wait for the end of a step in hand."""
        for worker in workers:
            self._heeding.pop(id(worker)).cancel()
            await self._turns.pop(id(worker)).end()

    async def pause(self, seconds: float) -> None:
        """Hold up the step that asks for it; when nobody else has anything left to do, time may pass."""
        turn = _TURN.get(None)
        if turn is None:
            await self._clock.sleep(seconds)
        else:
            await turn.hold(self._clock, seconds)

    async def move_to(self, moment: datetime) -> None:
        """Let time pass until a moment, stopping wherever something happens; return when all are at rest there.

        Raises LivelockError when workers keep each other busy on the way: then time stands still.
        """
        self._target = max(self._target, moment)
        reached = asyncio.get_running_loop().create_future()
        self._reached.append((moment, reached))
        self._bell.ring()
        await reached

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
                self._give_up(error)
            self._tell()

    async def _work(self) -> None:
        """Bring all to rest, now and at every moment on the way to where time is to go."""
        await self._settle()
        while (seconds := (self._target - self._clock.now()).total_seconds()) > 0:
            await advance(self._clock, seconds, self._present, self._settle)

    def _present(self) -> Sequence[Worker]:
        return list(self._turns.values())

    async def _settle(self) -> None:
        await settle(self._present, InOrder(), quiet=self._quiet, steps_max=self._steps_max)

    async def _quiet(self) -> None:
        for turn in list(self._turns.values()):
            await turn.halt()
        await self._seen()

    def _give_up(self, error: LivelockError) -> None:
        waiting, self._reached = self._reached, []
        for _, reached in waiting:
            if not reached.done():
                reached.set_exception(error)

    def _tell(self) -> None:
        now, waiting = self._clock.now(), self._reached
        self._reached = [(moment, reached) for moment, reached in waiting if moment > now]
        for moment, reached in waiting:
            if moment <= now and not reached.done():
                reached.set_result(None)
