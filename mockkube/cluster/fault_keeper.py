"""Controller of Faults: brings them into force, and reports how often each was injected."""

from collections.abc import Callable, Iterable
from contextlib import suppress

from mockkube.api.errors import NotFound
from mockkube.api.types import Object
from mockkube.cluster.control.following import Follower
from mockkube.cluster.control.plane import ControlPlane
from mockkube.cluster.faults import Fault, Faults


class FaultKeeper:
    """Reconciles the faults of a cluster."""

    def __init__(self, control: ControlPlane, faults: Faults, *, recheck: Callable[[list[str]], None]) -> None:
        self._control = control
        self._faults = faults
        # Cuts open watches that match new faults.
        self._recheck = recheck
        self.follower = Follower(control.collection("faults"), self._act)
        # Called for each injection; the reports of many injections are combined into one.
        faults.told = self.follower.look

    async def _act(self, names: Iterable[str]) -> None:
        objects = self._control.objects("faults")
        if changed := list(names):
            self._faults.learn(objects)
            self._recheck(changed)
        for name, obj in objects.items():
            fault = self._faults.get(name)
            if fault is not None:
                with suppress(NotFound):
                    await self._control.report("faults", obj, _status_of(obj, fault))


def _status_of(obj: Object, fault: Fault) -> Object:
    return {
        **obj.get("status", {}),
        "observedGeneration": obj["metadata"]["generation"],
        "phase": "Exhausted" if fault.exhausted else "Active",
        "injected": fault.injected,
    }
