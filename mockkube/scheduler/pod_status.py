"""What the scheduler writes into the status of pods: a condition, a nomination, in patches that hold nothing else.

upstream 1.36: pkg/scheduler/schedule_one.go (updatePod), pkg/api/v1/pod/util.go
"""

from dataclasses import dataclass
from typing import Final

from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.features.capabilities import Capabilities
from mockkube.runtime.clock import Clock
from mockkube.scheduler.framework.pods import PodInfo

_TRACKING: Final = "PodObservedGenerationTracking"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as it is to be."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PodStatusWriter:
    """Patches the status of pods where something differs."""

    client: Client
    caps: Capabilities
    clock: Clock

    async def write(self, pod: PodInfo, condition: Condition | None = None, nomination: str | None = None) -> None:
        """Set a condition, and the nominated node (empty: clear it, None: leave it), unless all of it is so already."""
        changes: Object = {}
        if condition is not None and (changed := self._changed(pod, condition)) is not None:
            changes["conditions"] = [changed]
        if nomination is not None and nomination != pod.nominated_node:
            changes["nominatedNodeName"] = nomination or None
        if changes:
            patch = {"metadata": {"uid": pod.uid}, "status": changes}
            await self.client.patch("Pod", pod.key, patch, subresource="status")

    def _changed(self, pod: PodInfo, wanted: Condition) -> Object | None:
        conditions = pod.status.get("conditions") or ()
        old = next((one for one in conditions if one.get("type") == wanted.type), None)
        new: Object = {
            "type": wanted.type,
            "status": wanted.status,
            "reason": wanted.reason,
            "message": wanted.message,
            "lastProbeTime": None,
            "lastTransitionTime": self._moved(old, wanted),
        }
        if generation := self._generation(pod, old):
            new["observedGeneration"] = generation
        same = old is not None and all(old.get(name) == new[name] for name in ("status", "reason", "message"))
        return None if same else new

    def _moved(self, old: ReadOnlyObject | None, wanted: Condition) -> str:
        if old is not None and old.get("status") == wanted.status and "lastTransitionTime" in old:
            moment: str = old["lastTransitionTime"]
            return moment
        return render_time(self.clock.now())

    def _generation(self, pod: PodInfo, old: ReadOnlyObject | None) -> int:
        if self.caps.enabled(_TRACKING) or (old is not None and old.get("observedGeneration")):
            generation: int = pod.obj["metadata"].get("generation", 0)
            return generation
        return 0
