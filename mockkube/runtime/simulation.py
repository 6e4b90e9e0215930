"""Virtual time and work in steps, put together: what a test or a scenario drives."""

from collections.abc import Awaitable, Callable, Sequence

from mockkube.runtime.steps import Chooser, InOrder, Worker, settle
from mockkube.runtime.virtual import VirtualClock, advance, next_moment


async def _nothing() -> None:
    return None


class Simulation:
    """Some workers on a clock of their own. Nothing happens but what `settle`, `advance` and `until` let happen."""

    def __init__(
        self,
        workers: Callable[[], Sequence[Worker]],
        *,
        clock: VirtualClock | None = None,
        chooser: Chooser | None = None,
        quiet: Callable[[], Awaitable[None]] = _nothing,
        stepped: Callable[[Worker], None] = lambda worker: None,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.steps = 0
        """How many steps were taken so far."""
        self._workers, self._chooser = workers, chooser or InOrder()
        self._quiet, self._stepped = quiet, stepped

    async def settle(self) -> int:
        """Let all that can happen now happen; return the steps taken."""
        taken = await settle(self._workers, self._chooser, quiet=self._quiet, stepped=self._stepped)
        self.steps += taken
        return taken

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everything happen at its moment."""
        await advance(self.clock, seconds, self._workers, self.settle)

    async def until(self, holds: Callable[[], bool], seconds_max: float) -> bool:
        """Let time pass until something holds, at most so long; return whether it does.

        It is asked whenever all is at rest, so the clock stands at the moment from which it holds.
        """
        deadline = self.clock.monotonic() + seconds_max
        await self.settle()
        while not holds():
            moment = next_moment(self.clock, self._workers())
            if moment is None or moment > deadline:
                await self.advance(deadline - self.clock.monotonic())
                return holds()
            await self.advance(moment - self.clock.monotonic())
        return True
