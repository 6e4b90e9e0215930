"""Where the workers of a cluster's parts take their steps. In real time each has a task of its own."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Worker, run


class Stage(Protocol):
    """Runs workers. It is entered before the first comes, and left after the last has gone."""

    async def __aenter__(self) -> "Stage": ...

    async def __aexit__(self, *exc_info: object) -> None: ...

    def enter(self, workers: Sequence[Worker]) -> None:
        """Let workers take steps from now on. A step must not raise."""
        ...

    async def pause(self, seconds: float) -> None:
        """Hold up the step that asks for it, and nobody else."""
        ...

    async def leave(self, workers: Sequence[Worker]) -> None:
        """Return once none of these takes a step any more; one in hand is cancelled, or ends."""
        ...


class RealStage:
    """A task for each worker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._group = asyncio.TaskGroup()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def __aenter__(self) -> "RealStage":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for task in self._tasks.values():
            task.cancel()
        await self._group.__aexit__(None, None, None)

    def enter(self, workers: Sequence[Worker]) -> None:
        """Start their tasks."""
        for worker in workers:
            self._tasks[id(worker)] = self._group.create_task(run(worker, self._clock), name=worker.name)

    async def pause(self, seconds: float) -> None:
        """Sleep: nobody waits for this task."""
        await self._clock.sleep(seconds)

    async def leave(self, workers: Sequence[Worker]) -> None:
        """Cancel their tasks and wait for the end of them."""
        tasks = [self._tasks.pop(id(worker)) for worker in workers]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
