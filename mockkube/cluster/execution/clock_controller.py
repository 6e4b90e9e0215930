"""Controller of the Clock: advances virtual time to the requested moment, and reports the time."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime

from mockkube.api.conditions import make_condition
from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.cluster.control.clock import ARRIVED_MESSAGE, AT_REST_CONDITION, CLOCK_NAME, format_now, get_target
from mockkube.cluster.control.component_status import set_transition_times
from mockkube.cluster.control.control_api import ControlApi
from mockkube.cluster.control.reconciler import Reconciler
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import LivelockError

# Returns when time has reached a moment and all workers are at rest there.
AdvanceTo = Callable[[datetime], Awaitable[None]]


class ClockController:
    """Reconciles the clock; without `advance_to` (in real time) it only reports."""

    def __init__(self, control_api: ControlApi, clock: Clock, mode: str, advance_to: AdvanceTo | None) -> None:
        self._control_api = control_api
        self._clock = clock
        self._mode = mode
        self._advance_to = advance_to
        self.reconciler = Reconciler(control_api.get_collection("clocks"), clock, self._reconcile)

    async def _reconcile(self, names: Iterable[str]) -> None:
        obj = self._control_api.load_objects("clocks").get(CLOCK_NAME)
        if obj is None:
            return
        conditions = [] if self._advance_to is None else [await self._advance(obj, self._advance_to)]
        now = self._clock.now()
        status: Object = {
            "observedGeneration": obj["metadata"]["generation"],
            "mode": self._mode,
            "now": format_now(now, self._mode),
            **({"conditions": set_transition_times(obj, conditions, now)} if conditions else {}),
        }
        with suppress(NotFound):
            await self._control_api.update_status("clocks", obj, status)

    async def _advance(self, obj: ReadOnlyObject, advance_to: AdvanceTo) -> Object:
        """Advance time to the clock's target; return the condition AtRest."""
        try:
            await advance_to(get_target(obj) or self._clock.now())
        except LivelockError as error:
            return make_condition(AT_REST_CONDITION, holds=False, reason="Livelock", message=str(error))
        return make_condition(AT_REST_CONDITION, holds=True, reason="Arrived", message=ARRIVED_MESSAGE)
