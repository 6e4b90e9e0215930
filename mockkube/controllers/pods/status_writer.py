"""What controllers write into the status of pods: conditions, and patches that hold only what changed.

upstream 1.36: pkg/api/v1/pod/util.go, pkg/util/pod/pod.go
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mockkube.api.conditions import TRACKING_GATE, find_condition, pod_generation, with_condition
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client, key_of
from mockkube.features.capabilities import Capabilities

DISRUPTION_TARGET: Final = "DisruptionTarget"
FINISHED: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class PodStatusWriter:
    """Makes statuses for pods, with the gates of one component."""

    client: Client
    capabilities: Capabilities

    def disrupted(
        self, pod: ReadOnlyObject, now: datetime, *, reason: str, message: str, of_generation: bool = True
    ) -> Object:
        """Return the pod's status with the condition that says why it is about to be deleted, and of which generation.

        What says so already stays, also when it was said of another generation of the pod.
        """
        told: Object = {"type": DISRUPTION_TARGET, "status": "True", "reason": reason, "message": message}
        known = find_condition(pod.get("status", {}).get("conditions", ()), DISRUPTION_TARGET) or {}
        if all(known.get(name) == value for name, value in told.items()):
            return dict(pod["status"])
        return self._with_condition(pod, told, now, of_generation=of_generation)

    def spared(self, pod: ReadOnlyObject, now: datetime) -> Object:
        """Return the pod's status once it is not about to be deleted after all."""
        return self._with_condition(pod, {"type": DISRUPTION_TARGET, "status": "False"}, now)

    def _with_condition(
        self, pod: ReadOnlyObject, told: Object, now: datetime, *, of_generation: bool = True
    ) -> Object:
        status = pod.get("status", {})
        conditions = status.get("conditions", ())
        if of_generation and (
            generation := pod_generation(pod, find_condition(conditions, told["type"]), self.capabilities)
        ):
            told["observedGeneration"] = generation
        return {**status, "conditions": with_condition(conditions, told, render_time(now))}

    def failed(self, pod: ReadOnlyObject, status: ReadOnlyObject) -> Object:
        """Return a status of the pod with phase Failed."""
        new: Object = {**status, "phase": "Failed"}
        if status.get("observedGeneration") or self.capabilities.enabled(TRACKING_GATE):
            new["observedGeneration"] = pod["metadata"].get("generation", 0)
        return new

    async def write(self, pod: ReadOnlyObject, status: ReadOnlyObject) -> None:
        """Patch the pod's status with what differs, if anything does; a pod of another uid is a Conflict."""
        changes = status_changes(pod.get("status", {}), status)
        if changes:
            patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": changes}
            await self.client.patch("Pod", key_of(pod), patch, subresource="status")


def status_changes(old: ReadOnlyObject, new: ReadOnlyObject) -> Object:
    """Return the strategic merge patch that makes the new status of the old one; empty when nothing differs."""
    changes: Object = {name: value for name, value in new.items() if name != "conditions" and value != old.get(name)}
    changes.update((name, None) for name in old if name != "conditions" and name not in new)
    before, after = old.get("conditions", ()), new.get("conditions", ())
    changed = [condition for condition in after if condition not in before]
    if changed:
        changes["conditions"] = changed
        changes["$setElementOrder/conditions"] = [{"type": condition["type"]} for condition in after]
    return changes
