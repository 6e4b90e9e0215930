"""Clock interface, and the machine's own clock."""

import asyncio
import time
from datetime import UTC, datetime
from functools import partial
from typing import Protocol


class Clock(Protocol):
    """Source of the current time; nothing else may read the machine's clock, so that a simulation can replace it.

    `now` and `monotonic` never go backwards, unless the machine's own clock is set back, which `monotonic` does not
    notice. Deadlines and durations are therefore computed from `monotonic`, times in objects are taken from `now`. All
    three advance together: after `sleep(s)` both have moved by at least `s`.
    """

    def now(self) -> datetime:
        """Return the current time, aware and in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds since some fixed point of this clock."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return once the clock has advanced by `seconds`; for zero or less, after the other tasks had a chance to run.

        Cancelling the caller ends the sleep immediately and leaves nothing behind.
        """
        ...


class RealClock:
    """Clock of the machine."""

    __slots__ = ()

    # The functions of the library themselves: scheduling a pod asks for the time about 50 times.
    now = staticmethod(partial(datetime.now, UTC))
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of real time."""
        await asyncio.sleep(max(seconds, 0.0))
