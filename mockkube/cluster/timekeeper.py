"""Moves virtual time to where the clock of the control API is told to go, and reports where it is."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime

from mockkube.api.errors import NotFound
from mockkube.cluster.control.clock import CLOCK, render_now, target_of
from mockkube.cluster.control.following import Follower
from mockkube.cluster.control.plane import ControlPlane
from mockkube.runtime.clock import Clock

Move = Callable[[datetime], Awaitable[None]]
"""Returns when time has come to a moment, and everything that was to happen until then has."""


class TimeKeeper:
    """Follows the clock of a cluster; without `move` time passes by itself, and there is nothing to do but report."""

    def __init__(self, control: ControlPlane, clock: Clock, mode: str, move: Move | None) -> None:
        self._control = control
        self._clock = clock
        self._mode = mode
        self._move = move
        self._follower = Follower(control.collection("clocks"), self._act)

    async def run(self) -> None:
        """Follow until cancelled."""
        await self._follower.run()

    async def _act(self, names: Iterable[str]) -> None:
        obj = self._control.objects("clocks").get(CLOCK)
        if obj is None:
            return
        target = target_of(obj)
        if self._move is not None and target is not None:
            await self._move(target)
        status = {
            "observedGeneration": obj["metadata"]["generation"],
            "mode": self._mode,
            "now": render_now(self._clock.now(), self._mode),
        }
        with suppress(NotFound):
            await self._control.report("clocks", obj, status)
