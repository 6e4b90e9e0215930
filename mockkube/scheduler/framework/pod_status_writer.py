"""Patch the status of pods: a condition and the nominated node, and nothing else.

upstream 1.36: pkg/scheduler/schedule_one.go (updatePod), pkg/api/v1/pod/util.go
"""

from mockkube.api.conditions import calculate_observed_generation, find_condition, transition_time
from mockkube.api.json_objects import Object
from mockkube.api.times import render_time
from mockkube.client.protocol import Client
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.scheduler.framework.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class PodCondition:
    """Condition to write."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PodStatusWriter:
    """Patches the status of pods where it differs."""

    client: Client
    caps: Capabilities
    clock: Clock

    async def write(self, pod: PodInfo, condition: PodCondition | None = None, nomination: str | None = None) -> None:
        """Set a condition and the nominated node (empty: clear it, None: keep it), unless both are set already."""
        changes: Object = {}
        if condition is not None and (changed := self._condition_patch(pod, condition)) is not None:
            changes["conditions"] = [changed]
        if nomination is not None and nomination != pod.nominated_node:
            changes["nominatedNodeName"] = nomination or None
        if changes:
            # With the uid the API server rejects the patch if the pod was replaced by another of the same name.
            patch = {"metadata": {"uid": pod.uid}, "status": changes}
            await self.client.patch("Pod", pod.key, patch, subresource="status")

    def _condition_patch(self, pod: PodInfo, wanted: PodCondition) -> Object | None:
        old = find_condition(pod.status.get("conditions") or (), wanted.type)
        new: Object = {
            "type": wanted.type,
            "status": wanted.status,
            "reason": wanted.reason,
            "message": wanted.message,
            "lastProbeTime": None,
            "lastTransitionTime": transition_time(old, wanted.status, render_time(self.clock.now())),
        }
        if generation := calculate_observed_generation(pod.obj, old, self.caps):
            new["observedGeneration"] = generation
        # upstream: a condition that differs in times only is not written, or each attempt would update the pod.
        same = old is not None and all(old.get(name) == new[name] for name in ("status", "reason", "message"))
        return None if same else new
