"""Workers cut into steps; in real time all run, in virtual time a chooser picks the next step.

A step is the unit of interleaving: a worker does nothing outside its steps, so the order of steps determines the whole
run.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Final, Protocol

from mockkube.runtime.clock import Clock

# Steps without rest after which a simulation gives up: workers then wake each other for ever.
STEPS_MAX: Final = 1_000_000
# How long a worker takes steps before it lets the other tasks run.
SLICE_SECONDS: Final = 0.004


class LivelockError(Exception):
    """Raised when workers keep each other busy for ever."""


class Signal:
    """Notifies the runner of a worker that it may have become ready; cheap, idempotent, never waits."""

    __slots__ = ("_notified", "_waiter", "listeners", "notifications")

    def __init__(self) -> None:
        # Number of notifications so far.
        self.notifications = 0
        # Called with each notification.
        self.listeners: tuple[Callable[[], None], ...] = ()
        self._notified = False
        self._waiter: asyncio.Future[None] | None = None

    def notify(self) -> None:
        """Wake the waiter, or make the next wait return immediately."""
        self.notifications += 1
        self._notified = True
        for listener in self.listeners:
            listener()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        """Return once it was notified since the last wait; one waiter at a time."""
        if not self._notified:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        self._notified = False


class Worker(Protocol):
    """Work that is done in steps.

    `is_ready` and `wake_at` are cheap, have no side effect, and change only through a step, through the passing of
    time, or when something from outside arrives (a watch event, another worker's step, an answer from the network); in
    the last case `signal` is notified. A worker whose step fails handles the failure itself (logs, counts, retries
    later): only a bug leaves `step`. A cancelled step leaves the worker unusable but nothing of it running.
    """

    @property
    def name(self) -> str:
        """Name for traces, unique in the process and the same in each run (`kube-scheduler/cycle`)."""
        ...

    @property
    def signal(self) -> Signal:
        """Signal that is notified when something from outside may have made the worker ready."""
        ...

    def is_ready(self) -> bool:
        """Return whether there is a step to take now."""
        ...

    def wake_at(self) -> float | None:
        """Return when, on the clock's `monotonic`, the worker becomes ready through time alone; None if it does not."""
        ...

    async def step(self) -> None:
        """Take one step; called only when the worker is ready, and never while another step of it runs."""
        ...


async def yield_to_event_loop() -> None:
    """Let other tasks of the event loop run in the middle of a long step."""
    await asyncio.sleep(0)


async def run_worker(worker: Worker, clock: Clock) -> None:
    """Run a worker in real time until cancelled."""
    while True:
        until = clock.monotonic() + SLICE_SECONDS
        while worker.is_ready():
            await worker.step()
            # A worker that is always ready must not starve the other tasks.
            if clock.monotonic() >= until:
                await asyncio.sleep(0)
                until = clock.monotonic() + SLICE_SECONDS
        await _wait_until_ready(worker, clock)


async def _wait_until_ready(worker: Worker, clock: Clock) -> None:
    at = worker.wake_at()
    if at is None:
        await worker.signal.wait()
        return
    try:
        async with asyncio.timeout(max(at - clock.monotonic(), 0.0)):
            await worker.signal.wait()
    except TimeoutError:
        pass


class Chooser(Protocol):
    """Chooses the worker that takes the next step; the only source of order in a simulation."""

    def choose(self, ready: Sequence[Worker]) -> Worker:
        """Return one of the workers; `ready` is not empty and in the order of the workers."""
        ...


class InOrderChooser:
    """Chooser that always takes the first worker."""

    def choose(self, ready: Sequence[Worker]) -> Worker:
        """Return the first worker."""
        return ready[0]


class SeededChooser:
    """Chooser that takes a random worker from a seeded stream."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def choose(self, ready: Sequence[Worker]) -> Worker:
        """Return a random worker."""
        # Without a choice no number is drawn, so that only real choices advance the random stream.
        return ready[0] if len(ready) == 1 else ready[self._random.randrange(len(ready))]


async def _do_nothing() -> None:
    return None


async def settle(
    workers: Callable[[], Sequence[Worker]],
    chooser: Chooser,
    *,
    wait_for_delivery: Callable[[], Awaitable[None]] = _do_nothing,
    after_step: Callable[[Worker], None] = lambda worker: None,
    steps_max: int = STEPS_MAX,
) -> int:
    """Step the workers until none is ready; return the steps taken.

    `workers` is called before each step, for a step may start or stop some. `wait_for_delivery` is awaited before each
    choice: it returns when everything written so far has reached the watchers. `after_step` is called after each step.
    """
    for taken in range(steps_max):
        await wait_for_delivery()
        ready = [worker for worker in workers() if worker.is_ready()]
        if not ready:
            return taken
        worker = chooser.choose(ready)
        await worker.step()
        after_step(worker)
    raise LivelockError(f"no rest after {steps_max} steps: workers undo each other")
