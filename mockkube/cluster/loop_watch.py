"""Trigger status reports while components have hot loops."""

from collections.abc import Callable
from typing import Final

from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal

# Interval of reports while there is a hot loop: its rate changes, and its end notifies nobody.
REPORT_SECONDS: Final = 10.0


class LoopWatch:
    """Calls `report` after each signal of hot loops, then periodically until none is left."""

    def __init__(self, clock: Clock, bell: Signal, looping: Callable[[], bool], report: Callable[[], None]) -> None:
        self._clock, self._bell = clock, bell
        self._looping, self._report = looping, report

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            await self._bell.wait()
            self._report()
            while self._looping():
                await self._clock.sleep(REPORT_SECONDS)
                self._report()
