"""The time, as everything that runs is given it."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where running code takes the time from. Nobody else reads the machine's clock, so a simulation may own it.

    `now` and `monotonic` never go backwards on one clock's owner unless the machine's own clock is set back, which
    `monotonic` never notices: deadlines and durations are computed from `monotonic`, what is written into objects is
    taken from `now`. All three advance together: after `sleep(s)` both have moved by at least `s`.
    """

    def now(self) -> datetime:
        """Return the present, aware and in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds since some fixed point of this clock."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return once the clock has advanced by `seconds`; at the next turn of the loop for zero or less.

        Cancelling the caller ends the sleep at once and leaves nothing behind.
        """
        ...


class RealClock:
    """The machine's own clock."""

    __slots__ = ()

    def now(self) -> datetime:
        """Return the present, aware and in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds since some fixed point, the same for the whole process."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of real time."""
        await asyncio.sleep(max(seconds, 0.0))
