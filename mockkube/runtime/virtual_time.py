"""Virtual time: a clock that only its owner moves, and `advance`, which moves it from one due moment to the next."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from mockkube.runtime.steps import LivelockError, Worker
from mockkube.runtime.waiters import Waiters

# Default start of virtual time.
EPOCH: Final = datetime(2030, 1, 1, tzinfo=UTC)
# How often in a row a worker may be due at the same moment before that counts as an error.
STANDSTILLS_MAX: Final = 1000


class VirtualClock:
    """Clock that its owner moves; sleepers wake in the order of their moments."""

    __slots__ = ("_elapsed", "_now", "_sleepers", "_start")

    def __init__(self, start: datetime = EPOCH) -> None:
        self._start = self._now = start
        self._elapsed = 0.0
        self._sleepers: Waiters[float] = Waiters()

    def now(self) -> datetime:
        """Return the current time, aware and in UTC."""
        return self._now

    def monotonic(self) -> float:
        """Return the virtual seconds since the clock was created."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Return once the clock was advanced by `seconds`; for zero or less, after other tasks had a chance to run."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        await self._sleepers.wait(self._elapsed + seconds)

    def next_timer(self) -> float | None:
        """Return the moment of the next sleeper; None if there is none."""
        return self._sleepers.next_point()

    def move_to(self, moment: float) -> None:
        """Set the clock to a moment, never back, and wake the sleepers that are due."""
        if moment > self._elapsed:
            self._elapsed = moment
            self._now = self._start + timedelta(seconds=moment)
        self._sleepers.release(self._elapsed)


def next_moment(clock: VirtualClock, workers: Sequence[Worker]) -> float | None:
    """Return the next moment at which a worker or sleeper becomes due; None if there is none."""
    moments = [moment for worker in workers if (moment := worker.wake_at()) is not None]
    if (timer := clock.next_timer()) is not None:
        moments.append(timer)
    return max(min(moments), clock.monotonic()) if moments else None


async def advance(
    clock: VirtualClock,
    seconds: float,
    workers: Callable[[], Sequence[Worker]],
    settle: Callable[[], Awaitable[object]],
) -> None:
    """Advance the clock by `seconds`, stopping at each moment at which something is due.

    `settle` runs all workers until they are at rest. It is awaited at the start, at every such moment, and at the end.
    Raises LivelockError when something is due again and again at one moment: a worker names a time at which it then has
    nothing to do.
    """
    target = clock.monotonic() + seconds
    standstills = 0
    await settle()
    while (moment := next_moment(clock, workers())) is not None and moment <= target:
        standstills = 0 if moment > clock.monotonic() else standstills + 1
        if standstills > STANDSTILLS_MAX:
            due = [worker.name for worker in workers() if (at := worker.wake_at()) is not None and at <= moment]
            raise LivelockError(f"time stands still at {moment:.3f} s: {', '.join(due) or 'a sleeper'}")
        clock.move_to(moment)
        await settle()
    clock.move_to(target)
    await settle()
