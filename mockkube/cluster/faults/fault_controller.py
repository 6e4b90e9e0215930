"""Controller of Faults: brings them into force, and reports how often each was injected."""

from collections.abc import Callable, Iterable
from contextlib import suppress

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object
from mockkube.cluster.control.control_api import ControlApi
from mockkube.cluster.control.reconciler import Reconciler
from mockkube.cluster.faults.faults import ActiveFault, Faults
from mockkube.runtime.clock import Clock


class FaultController:
    """Reconciles the faults of a cluster."""

    def __init__(
        self, control_api: ControlApi, faults: Faults, clock: Clock, *, cut_watches: Callable[[list[str]], None]
    ) -> None:
        self._control_api = control_api
        self._faults = faults
        # Cuts open watches that match new faults.
        self._cut_watches = cut_watches
        self.reconciler = Reconciler(control_api.get_collection("faults"), clock, self._reconcile)
        # Called for each injection; the reports of many injections are combined into one.
        faults.on_injected = self.reconciler.enqueue

    async def _reconcile(self, names: Iterable[str]) -> None:
        objects = self._control_api.load_objects("faults")
        if changed := list(names):
            self._faults.replace_faults(objects)
            self._cut_watches(changed)
        for name, obj in objects.items():
            fault = self._faults.get(name)
            if fault is not None:
                with suppress(NotFound):
                    await self._control_api.update_status("faults", obj, _make_status(obj, fault))


def _make_status(obj: Object, fault: ActiveFault) -> Object:
    return {
        **obj.get("status", {}),
        "observedGeneration": obj["metadata"]["generation"],
        "phase": "Exhausted" if fault.is_exhausted else "Active",
        "injected": fault.injected,
    }
