"""Executor whose owner decides when a worker takes a step, one at a time."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from math import inf
from typing import Final

from mockkube.runtime.steps import Signal, Worker
from mockkube.runtime.virtual_time import VirtualClock


class SteppedWorker:
    """Worker whose step may be suspended in the middle, so that others continue meanwhile."""

    def __init__(self, worker: Worker, group: asyncio.TaskGroup, active: "dict[SteppedWorker, None]") -> None:
        """Run steps as tasks of `group`; be in `active` while a step has not ended."""
        self.worker = worker
        self._group = group
        self._active = active
        self._task: asyncio.Task[None] | None = None
        self._is_suspended = False
        # What the step is about to do when it is next chosen; None: it is not at such a point.
        self._next_request: str | None = None
        self._resumed = asyncio.Event()
        self._halted_event = asyncio.Event()
        # When the worker was last found not to be ready, how often its signal had been notified by then, and until
        # when it stays like this unless it is notified.
        self._rested_at = self._rests_until = -1.0
        self._rested_notifications = -1
        self._own_signal = worker.signal

    @property
    def name(self) -> str:
        """Name of the worker."""
        return self.worker.name

    @property
    def signal(self) -> Signal:
        """Signal of the worker."""
        return self.worker.signal

    @property
    def next_request(self) -> str | None:
        """Request before which a step is halted until it is chosen again; None: it is not halted there."""
        return self._next_request

    def is_ready(self) -> bool:
        """Return whether the worker is ready, and not in the middle of a step, or halted before a request of it."""
        if self._task is not None:
            return self._next_request is not None
        return self.worker.is_ready()

    # hot: per step, for each worker of the cluster
    def is_ready_at(self, now: float) -> bool:
        """Return whether the worker is ready at this time; do not ask it again before its signal or time says so."""
        if self._next_request is not None:
            return True
        notifications = self._own_signal.notifications
        if self._rested_notifications == notifications and (now < self._rests_until or now == self._rested_at):
            return False
        if self.is_ready():
            return True
        at = None if self._task is not None else self.worker.wake_at()
        self._rested_at, self._rests_until = now, inf if at is None else at
        self._rested_notifications = notifications
        return False

    def wake_at(self) -> float | None:  # hot: per moment, for each worker of the cluster
        """Return when the worker wakes, None in the middle of a step."""
        if self._task is not None:
            return None
        until = self._rests_until
        if self._rested_notifications == self._own_signal.notifications and until > self._rested_at:
            return None if until == inf else until
        return self.worker.wake_at()

    async def step(self) -> None:
        """Start a step, or go on with a halted one; return when it ends, or is suspended or halted."""
        if self._next_request is not None:
            self._next_request, self._is_suspended = None, False
            self._resumed.set()
            await self.wait_until_halted()
            return
        self._active[self] = None
        self._task = self._group.create_task(self._run_step(), name=self.name)
        await self.wait_until_halted()

    async def _run_step(self) -> None:
        _CURRENT_WORKER.set(self)
        try:
            await self.worker.step()
        finally:
            self._task, self._is_suspended = None, False
            del self._active[self]
            self._halted_event.set()
            self.signal.notify()

    async def suspend(self, clock: VirtualClock, seconds: float) -> None:
        """Suspend the step that calls this until virtual time has passed."""
        self._is_suspended = True
        self._halted_event.set()
        try:
            await clock.sleep(seconds)
        finally:
            self._is_suspended = False

    async def halt(self, request: str) -> None:
        """Halt the step that calls this before a request, until the worker is chosen again."""
        # Requests that a step sends in parallel are not told apart.
        if asyncio.current_task() is not self._task:
            return
        self._next_request, self._is_suspended = request, True
        self._resumed.clear()
        self._halted_event.set()
        try:
            await self._resumed.wait()
        finally:
            self._next_request, self._is_suspended = None, False

    @property
    def is_halted(self) -> bool:
        """True if no step runs, or the running one is suspended."""
        return self._task is None or self._is_suspended

    async def wait_until_halted(self) -> None:
        """Return when no step runs, or it is suspended."""
        # A loop: the step may have resumed before this task ran.
        while not self.is_halted:
            self._halted_event.clear()
            await self._halted_event.wait()

    async def finish(self) -> None:
        """Wait for the end of a step; cancel a suspended one."""
        await self.wait_until_halted()
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.wait((task,))


_CURRENT_WORKER: Final[ContextVar[SteppedWorker]] = ContextVar("turn")


class SteppedExecutor:
    """Executor that takes no steps itself."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._group = asyncio.TaskGroup()
        self._workers: dict[int, SteppedWorker] = {}
        self._active: dict[SteppedWorker, None] = {}
        self._workers_in_order: list[SteppedWorker] = []
        # Whether the steps of a worker, by its name, are divided at their requests.
        self.divides: Callable[[str], bool] = lambda worker: False

    async def __aenter__(self) -> "SteppedExecutor":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for worker in self._workers.values():
            await worker.finish()
        await self._group.__aexit__(None, None, None)

    def get_workers(self) -> Sequence[SteppedWorker]:
        """Return the workers in the order in which they were added."""
        return self._workers_in_order

    def list_ready_workers(self) -> Iterator[SteppedWorker]:
        """Yield the workers that are ready, in their order."""
        now = self._clock.monotonic()
        return (worker for worker in self._workers_in_order if worker.is_ready_at(now))

    def add_workers(self, workers: Sequence[Worker]) -> None:
        """Add workers after the present ones."""
        for worker in workers:
            self._workers[id(worker)] = SteppedWorker(worker, self._group, self._active)
        self._workers_in_order = list(self._workers.values())

    async def remove_workers(self, workers: Sequence[Worker]) -> None:
        """Remove the workers, after the end of a running step."""
        leaving = [self._workers.pop(id(worker)) for worker in workers]
        self._workers_in_order = list(self._workers.values())
        for stepped_worker in leaving:
            await stepped_worker.finish()

    async def pause_step(self, seconds: float) -> None:
        """Suspend the step that calls this; virtual time may pass once all others are at rest."""
        worker = _CURRENT_WORKER.get(None)
        # Requests from outside of any step, as those of a test's client, just wait.
        if worker is None:
            await self._clock.sleep(seconds)
        else:
            await worker.suspend(self._clock, seconds)

    async def halt_step(self, request: str) -> None:
        """Halt the step that calls this before a request, if its worker is one of those whose steps are divided."""
        worker = _CURRENT_WORKER.get(None)
        if worker is not None and self.divides(worker.name):
            await worker.halt(request)

    async def wait_until_halted(self) -> None:
        """Return when no step runs except suspended ones."""
        for worker in tuple(self._active):
            await worker.wait_until_halted()
