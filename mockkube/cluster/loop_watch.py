"""Has it reported which components get nowhere with what: when that begins, and now and then while it lasts."""

from collections.abc import Callable
from typing import Final

from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal

REPORT_SECONDS: Final = 10.0
"""How often loops are reported anew while there are any."""


class LoopWatch:
    """Waits for the bell that components ring; `report` is to look at what they show."""

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
