"""Workers on a virtual clock, driven by a test."""

from collections.abc import Awaitable, Callable, Sequence

from mockkube.runtime.steps import Chooser, InOrderChooser, Worker, settle
from mockkube.runtime.virtual_time import VirtualClock, advance, next_moment


async def _do_nothing() -> None:
    return None


class Simulation:
    """Workers on a virtual clock; nothing runs except in `settle`, `advance` and `advance_until`."""

    def __init__(
        self,
        workers: Callable[[], Sequence[Worker]],
        *,
        clock: VirtualClock | None = None,
        chooser: Chooser | None = None,
        wait_for_delivery: Callable[[], Awaitable[None]] = _do_nothing,
        after_step: Callable[[Worker], None] = lambda worker: None,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.steps = 0
        """Steps taken so far."""
        self._workers, self._chooser = workers, chooser or InOrderChooser()
        self._wait_for_delivery, self._after_step = wait_for_delivery, after_step

    async def settle(self) -> int:
        """Run steps until no worker is ready at the present time; return the steps taken."""
        taken = await settle(
            self._workers, self._chooser, wait_for_delivery=self._wait_for_delivery, after_step=self._after_step
        )
        self.steps += taken
        return taken

    async def advance(self, seconds: float) -> None:
        """Advance the clock, and run everything that becomes due at its moment."""
        await advance(self.clock, seconds, self._workers, self.settle)

    async def advance_until(self, holds: Callable[[], bool], seconds_max: float) -> bool:
        """Advance the clock until a condition holds, at most so long; return whether it does.

        The condition is checked whenever all workers are at rest, so the clock stands at the moment from which it
        holds.
        """
        deadline = self.clock.monotonic() + seconds_max
        await self.settle()
        while not holds():
            moment = next_moment(self.clock, self._workers())
            # Nothing happens before the deadline any more, but the clock still has to reach it.
            if moment is None or moment > deadline:
                await self.advance(deadline - self.clock.monotonic())
                return holds()
            await self.advance(moment - self.clock.monotonic())
        return True
