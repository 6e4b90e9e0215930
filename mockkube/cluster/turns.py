"""The workers of a stage on which whoever owns the clock takes the steps, one at a time."""

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Final

from mockkube.runtime.steps import Bell, Worker
from mockkube.runtime.virtual import VirtualClock


class Turn:
    """A worker whose step may be held up in the middle; then the others go on without it."""

    def __init__(self, worker: Worker, group: asyncio.TaskGroup, going: "dict[Turn, None]") -> None:
        """Work in tasks of a group; while a step goes on, be among those that are `going`."""
        self.worker = worker
        self._group = group
        self._going = going
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
            self.bell.ring()

    async def hold(self, clock: VirtualClock, seconds: float) -> None:
        """Hold up the step this is called from."""
        self._held = True
        self._halted.set()
        try:
            await clock.sleep(seconds)
        finally:
            self._held = False

    @property
    def halted(self) -> bool:
        """Whether no step goes on, or it is held up."""
        return self._task is None or self._held

    async def halt(self) -> None:
        """Return when no step goes on, or it is held up."""
        while not self.halted:
            self._halted.clear()
            await self._halted.wait()

    async def end(self) -> None:
        """Let a step come to its end, but cancel one that is held up."""
        await self.halt()
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.wait((task,))


_TURN: Final[ContextVar[Turn]] = ContextVar("turn")


class Turns:
    """A stage without a will of its own: nobody takes a step unless it is let."""

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
        for turn in self._turns.values():
            await turn.end()
        await self._group.__aexit__(None, None, None)

    def present(self) -> Sequence[Turn]:
        """Return the workers there are, in the order in which they came."""
        return self._present

    def enter(self, workers: Sequence[Worker]) -> None:
        """Let them take their turn."""
        for worker in workers:
            self._turns[id(worker)] = Turn(worker, self._group, self._going)
        self._present = list(self._turns.values())

    async def leave(self, workers: Sequence[Worker]) -> None:
        """Pass them over from now on, and wait for the end of a step in hand."""
        leaving = [self._turns.pop(id(worker)) for worker in workers]
        self._present = list(self._turns.values())
        for turn in leaving:
            await turn.end()

    async def pause(self, seconds: float) -> None:
        """Hold up the step that asks for it; when nobody else has anything left to do, time may pass."""
        turn = _TURN.get(None)
        if turn is None:
            await self._clock.sleep(seconds)
        else:
            await turn.hold(self._clock, seconds)

    async def halted(self) -> None:
        """Return when no step goes on but those that are held up."""
        for turn in tuple(self._going):
            await turn.halt()
