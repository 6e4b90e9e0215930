"""Work in steps: what runs is a set of workers, each with a next step. Real time runs them all, a simulation picks.

A step is the unit of interleaving: nothing of a worker happens outside its steps, so whoever chooses the order of steps
has chosen everything.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Final, Protocol

from mockkube.runtime.clock import Clock

STEPS_MAX: Final = 1_000_000
"""Steps without rest after which a simulation gives up."""


class LivelockError(Exception):
    """Workers keep each other busy for ever."""


class Bell:
    """Tells whoever runs a worker that it may have become ready. Ringing is cheap, idempotent and never waits."""

    __slots__ = ("_rung", "_waiter")

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Wake the one who waits, or let the next wait return at once."""
        self._rung = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        """Return once it has rung since the last wait; one waiter at a time."""
        if not self._rung:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        self._rung = False


class Worker(Protocol):
    """Something that works in steps.

    `ready` and `wake_at` are cheap, have no side effect, and may change only through a step, through the passing of
    time, or when something from outside (a watch event, another worker's step, an answer from the network) arrives; in
    the last case `bell` rings. A worker whose step fails deals with the failure itself (logs, counts, comes back
    later): only a bug leaves `step`. A step that is cancelled leaves the worker unusable but nothing of it running.
    """

    @property
    def name(self) -> str:
        """Who it is, for traces: unique in its process and the same in each run (`kube-scheduler/cycle`)."""
        ...

    @property
    def bell(self) -> Bell:
        """Rings when it may have become ready by what came from outside."""
        ...

    def ready(self) -> bool:
        """Whether there is a step to take now."""
        ...

    def wake_at(self) -> float | None:
        """Return when, on the clock's `monotonic`, it becomes ready by itself; None if only from outside."""
        ...

    async def step(self) -> None:
        """Take one step; called only when `ready`, and never while another step of it runs."""
        ...


async def give_way() -> None:
    """Let the other tasks of the event loop go on, in the middle of a step that does not wait for anything."""
    await asyncio.sleep(0)


async def run(worker: Worker, clock: Clock) -> None:
    """Run a worker in real time until cancelled. Other tasks get a turn after each step."""
    while True:
        while worker.ready():
            await worker.step()
            await asyncio.sleep(0)
        await _rest(worker, clock)


async def _rest(worker: Worker, clock: Clock) -> None:
    at = worker.wake_at()
    if at is None:
        await worker.bell.wait()
        return
    try:
        async with asyncio.timeout(max(at - clock.monotonic(), 0.0)):
            await worker.bell.wait()
    except TimeoutError:
        pass


class Chooser(Protocol):
    """Decides who goes next; a simulation's only source of order."""

    def choice(self, ready: Sequence[Worker]) -> Worker:
        """Return one of them; `ready` has at least one and stands in the order of the workers."""
        ...


class InOrder:
    """Always the first: the plain order."""

    def choice(self, ready: Sequence[Worker]) -> Worker:
        """Return the first."""
        return ready[0]


class Shuffled:
    """Any of them, as a seeded stream draws."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def choice(self, ready: Sequence[Worker]) -> Worker:
        """Draw one."""
        return ready[0] if len(ready) == 1 else ready[self._random.randrange(len(ready))]


async def _nothing() -> None:
    return None


async def settle(
    workers: Callable[[], Sequence[Worker]],
    chooser: Chooser,
    *,
    quiet: Callable[[], Awaitable[None]] = _nothing,
    stepped: Callable[[Worker], None] = lambda worker: None,
    steps_max: int = STEPS_MAX,
) -> int:
    """Step the workers until none has work left; return the steps taken.

    `workers` is asked anew each time, for a step may start or stop some. `quiet` is awaited before each choice: it
    returns when everything written so far has reached those who watch. `stepped` is told after each step.
    """
    for taken in range(steps_max):
        await quiet()
        ready = [worker for worker in workers() if worker.ready()]
        if not ready:
            return taken
        worker = chooser.choice(ready)
        await worker.step()
        stepped(worker)
    raise LivelockError(f"no rest after {steps_max} steps: workers undo each other")
