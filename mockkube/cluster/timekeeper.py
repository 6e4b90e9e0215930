"""Controller of the Clock: advances virtual time to the requested moment, and reports the time."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime

from mockkube.api.conditions import make_condition
from mockkube.api.errors import NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.cluster.control.clock import AT_REST, CLOCK, render_now, target_of
from mockkube.cluster.control.following import Follower
from mockkube.cluster.control.plane import ControlPlane
from mockkube.cluster.control.reporting import dated
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import LivelockError

# Returns when time has reached a moment and all workers are at rest there.
Move = Callable[[datetime], Awaitable[None]]


class TimeKeeper:
    """Reconciles the clock; without `move` (in real time) it only reports."""

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
        """Advance time to the clock's target; return the condition AtRest."""
        try:
            await move(target_of(obj) or self._clock.now())
        except LivelockError as error:
            return make_condition(AT_REST, holds=False, reason="Livelock", message=str(error))
        message = "nobody has anything left to do until time passes"
        return make_condition(AT_REST, holds=True, reason="Arrived", message=message)
