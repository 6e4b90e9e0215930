"""Executors run the workers of components; in real time each worker has a task of its own."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Worker, run_worker


class Executor(Protocol):
    """Interface that runs workers; it is entered before the first is added and left after the last is removed."""

    async def __aenter__(self) -> "Executor": ...

    async def __aexit__(self, *exc_info: object) -> None: ...

    def add_workers(self, workers: Sequence[Worker]) -> None:
        """Run workers from now on. A step must not raise."""
        ...

    async def pause_step(self, seconds: float) -> None:
        """Suspend the step that calls this, and no other."""
        ...

    async def remove_workers(self, workers: Sequence[Worker]) -> None:
        """Return once no step of these workers runs; a running step is cancelled, or completes."""
        ...


class RealTimeExecutor:
    """Executor in real time: a task for each worker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._group = asyncio.TaskGroup()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def __aenter__(self) -> "RealTimeExecutor":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for task in self._tasks.values():
            task.cancel()
        await self._group.__aexit__(None, None, None)

    def add_workers(self, workers: Sequence[Worker]) -> None:
        """Start a task for each worker."""
        for worker in workers:
            # By identity: workers need not be hashable, and two may have the same name.
            self._tasks[id(worker)] = self._group.create_task(run_worker(worker, self._clock), name=worker.name)

    async def pause_step(self, seconds: float) -> None:
        """Sleep in the worker's own task."""
        await self._clock.sleep(seconds)

    async def remove_workers(self, workers: Sequence[Worker]) -> None:
        """Cancel the tasks of the workers and wait for their end."""
        tasks = [self._tasks.pop(id(worker)) for worker in workers]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
