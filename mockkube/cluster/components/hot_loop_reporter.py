"""Trigger status reports while components have hot loops."""

from collections.abc import Callable
from typing import Final

from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal

# Interval of reports while there is a hot loop: its rate changes, and its end gives no signal.
REPORT_SECONDS: Final = 10.0


class HotLoopReporter:
    """Calls `report` after each signal of hot loops, then periodically until none is left."""

    def __init__(
        self, clock: Clock, signal: Signal, has_hot_loops: Callable[[], bool], report: Callable[[], None]
    ) -> None:
        self._clock, self._signal = clock, signal
        self._has_hot_loops, self._report = has_hot_loops, report

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            await self._signal.wait()
            self._report()
            while self._has_hot_loops():
                await self._clock.sleep(REPORT_SECONDS)
                self._report()
