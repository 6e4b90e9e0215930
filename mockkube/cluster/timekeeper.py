"""Moves virtual time to where the clock of the control API is told to go, and reports where it is."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime

from mockkube.api.conditions import condition
from mockkube.api.errors import NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.cluster.control.clock import AT_REST, CLOCK, render_now, target_of
from mockkube.cluster.control.following import Follower
from mockkube.cluster.control.plane import ControlPlane
from mockkube.cluster.control.reporting import dated
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import LivelockError

Move = Callable[[datetime], Awaitable[None]]
"""Returns when time has come to a moment, and everything that was to happen until then has."""


class TimeKeeper:
    """Follows the clock of a cluster; without `move` time passes by itself, and there is nothing to do but report."""

    def __init__(self, control: ControlPlane, clock: Clock, mode: str, move: Move | None) -> None:
        self._control = control
        self._clock = clock
        self._mode = mode
        self._move = move
        self.follower = Follower(control.collection("clocks"), self._act)

    async def _act(self, names: Iterable[str]) -> None:
        obj = self._control.objects("clocks").get(CLOCK)
        if obj is None:
            return
        conditions = [] if self._move is None else [await self._advance(obj, self._move)]
        now = self._clock.now()
        status: Object = {
            "observedGeneration": obj["metadata"]["generation"],
            "mode": self._mode,
            "now": render_now(now, self._mode),
            **({"conditions": dated(obj, conditions, now)} if conditions else {}),
        }
        with suppress(NotFound):
            await self._control.report("clocks", obj, status)

    async def _advance(self, obj: ReadOnlyObject, move: Move) -> Object:
        """Let time pass to where it is told to go; return the condition that tells what came of it."""
        try:
            await move(target_of(obj) or self._clock.now())
        except LivelockError as error:
            return condition(AT_REST, holds=False, reason="Livelock", message=str(error))
        message = "nobody has anything left to do until time passes"
        return condition(AT_REST, holds=True, reason="Arrived", message=message)
