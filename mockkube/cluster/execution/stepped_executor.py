"""Executor whose owner decides when a worker takes a step, one at a time."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from heapq import heappop, heappush
from math import inf
from typing import Final

from mockkube.runtime.steps import Signal, Worker
from mockkube.runtime.virtual_time import VirtualClock


class SteppedWorker:
    """Worker whose step may be suspended in the middle, so that others continue meanwhile."""

    def __init__(
        self,
        worker: Worker,
        group: asyncio.TaskGroup,
        active: "dict[SteppedWorker, None]",
        resting: "RestingWorkers",
    ) -> None:
        """Run steps as tasks of `group`; be in `active` while a step has not ended, and tell `resting` when to ask."""
        self.worker = worker
        # Place in the order in which workers were added.
        self.number = resting.take_number()
        self._resting = resting
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
        self._wake = resting.make_waker(self)
        self._own_signal.listeners += (self._wake,)
        self._wake()

    @property
    def is_notified(self) -> bool:
        """True if the worker was notified since, or while, it was last asked and not ready."""
        return self._rested_notifications != self._own_signal.notifications

    @property
    def rests_until(self) -> float:
        """Time until which the worker rests unless it is notified, as found when it was last asked."""
        return self._rests_until

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
        self._wake()
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
        self._own_signal.listeners = tuple(one for one in self._own_signal.listeners if one is not self._wake)
        self._resting.remove(self)


class RestingWorkers:
    """Workers that rest until a time or a notification, so that only others are asked whether they are ready."""

    def __init__(self) -> None:
        # Workers that may be ready, by number.
        self._awake: dict[int, SteppedWorker] = {}
        # Times until which workers rest; each worker's earliest, by number, is in `_due`.
        self._timers: list[tuple[float, int]] = []
        self._due: dict[int, tuple[float, SteppedWorker]] = {}
        self._last_number = 0

    def take_number(self) -> int:
        """Return a number for a new worker."""
        self._last_number += 1
        return self._last_number

    def make_waker(self, worker: SteppedWorker) -> Callable[[], None]:
        """Return a function that marks a worker as possibly ready, for each change that a watch delivers."""
        return partial(self._awake.__setitem__, worker.number, worker)

    def remove(self, worker: SteppedWorker) -> None:
        """Forget a worker."""
        self._awake.pop(worker.number, None)
        self._due.pop(worker.number, None)

    def list_ready(self, now: float) -> Iterator[SteppedWorker]:  # hot: per step
        """Yield the workers that are ready, in their order; those that are not will rest."""
        timers, awake = self._timers, self._awake
        while timers and timers[0][0] <= now:
            at, number = heappop(timers)
            if (due := self._due.get(number)) is not None and due[0] == at:
                awake[number] = self._due.pop(number)[1]
        for number in sorted(awake):
            worker = awake[number]
            if worker.is_ready_at(now):
                yield worker
            elif not worker.is_notified:
                del awake[number]
                self._rest(worker)

    def _rest(self, worker: SteppedWorker) -> None:
        until = worker.rests_until
        due = self._due.get(worker.number)
        # A later time than one that is known is found when the worker is asked at that.
        if until < (inf if due is None else due[0]):
            self._due[worker.number] = until, worker
            heappush(self._timers, (until, worker.number))


_CURRENT_WORKER: Final[ContextVar[SteppedWorker]] = ContextVar("turn")


class SteppedExecutor:
    """Executor that takes no steps itself."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._group = asyncio.TaskGroup()
        self._workers: dict[int, SteppedWorker] = {}
        self._active: dict[SteppedWorker, None] = {}
        self._workers_in_order: list[SteppedWorker] = []
        self._resting = RestingWorkers()
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
        return self._resting.list_ready(self._clock.monotonic())

    def add_workers(self, workers: Sequence[Worker]) -> None:
        """Add workers after the present ones."""
        for worker in workers:
            self._workers[id(worker)] = SteppedWorker(worker, self._group, self._active, self._resting)
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
