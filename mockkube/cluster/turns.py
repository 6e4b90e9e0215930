"""Executor whose owner decides when a worker takes a step, one at a time."""

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Final

from mockkube.runtime.steps import Signal, Worker
from mockkube.runtime.virtual import VirtualClock


class Turn:
    """Worker whose step may be suspended in the middle, so that others continue meanwhile."""

    def __init__(self, worker: Worker, group: asyncio.TaskGroup, going: "dict[Turn, None]") -> None:
        """Run steps as tasks of `group`; be in `active` while a step has not ended."""
        self.worker = worker
        self._group = group
        self._going = going
        self._task: asyncio.Task[None] | None = None
        self._held = False
        self._halted = asyncio.Event()

    @property
    def name(self) -> str:
        """Name of the worker."""
        return self.worker.name

    @property
    def signal(self) -> Signal:
        """Signal of the worker."""
        return self.worker.signal

    def is_ready(self) -> bool:
        """Return whether the worker is ready and not in the middle of a step."""
        return self._task is None and self.worker.is_ready()

    def wake_at(self) -> float | None:
        """Return when the worker wakes, None in the middle of a step."""
        return None if self._task is not None else self.worker.wake_at()

    async def step(self) -> None:
        """Start a step; return when it ends or is suspended."""
        self._going[self] = None
        self._task = self._group.create_task(self._step(), name=self.name)
        await self.halt()

    async def _step(self) -> None:
        _TURN.set(self)
        try:
            await self.worker.step()
        finally:
            self._task, self._held = None, False
            del self._going[self]
            self._halted.set()
            self.signal.notify()

    async def hold(self, clock: VirtualClock, seconds: float) -> None:
        """Suspend the step that calls this until virtual time has passed."""
        self._held = True
        self._halted.set()
        try:
            await clock.sleep(seconds)
        finally:
            self._held = False

    @property
    def halted(self) -> bool:
        """True if no step runs, or the running one is suspended."""
        return self._task is None or self._held

    async def halt(self) -> None:
        """Return when no step runs, or it is suspended."""
        # A loop: the step may have resumed before this task ran.
        while not self.halted:
            self._halted.clear()
            await self._halted.wait()

    async def end(self) -> None:
        """Wait for the end of a step; cancel a suspended one."""
        await self.halt()
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.wait((task,))


_TURN: Final[ContextVar[Turn]] = ContextVar("turn")


class Turns:
    """Executor that takes no steps itself."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._group = asyncio.TaskGroup()
        self._turns: dict[int, Turn] = {}
        self._going: dict[Turn, None] = {}
        self._present: list[Turn] = []

    async def __aenter__(self) -> "Turns":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for worker in self._turns.values():
            await worker.end()
        await self._group.__aexit__(None, None, None)

    def present(self) -> Sequence[Turn]:
        """Return the workers in the order in which they were added."""
        return self._present

    def enter(self, workers: Sequence[Worker]) -> None:
        """Add workers after the present ones."""
        for worker in workers:
            self._turns[id(worker)] = Turn(worker, self._group, self._going)
        self._present = list(self._turns.values())

    async def leave(self, workers: Sequence[Worker]) -> None:
        """Remove the workers, after the end of a running step."""
        leaving = [self._turns.pop(id(worker)) for worker in workers]
        self._present = list(self._turns.values())
        for turn in leaving:
            await turn.end()

    async def pause(self, seconds: float) -> None:
        """Suspend the step that calls this; virtual time may pass once all others are at rest."""
        turn = _TURN.get(None)
        # Requests from outside of any step, as those of a test's client, just wait.
        if turn is None:
            await self._clock.sleep(seconds)
        else:
            await turn.hold(self._clock, seconds)

    async def halted(self) -> None:
        """Return when no step runs except suspended ones."""
        for turn in tuple(self._going):
            await turn.halt()
