"""What controllers write into the status of pods: conditions, and patches that hold only what changed.

upstream 1.36: pkg/api/v1/pod/util.go, pkg/util/pod/pod.go
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client, key_of
from mockkube.features.capabilities import Capabilities

TRACKING_GATE: Final = "PodObservedGenerationTracking"
DISRUPTION_TARGET: Final = "DisruptionTarget"
FINISHED: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class PodStatusWriter:
    """Makes statuses for pods, with the gates of one component."""

    client: Client
    capabilities: Capabilities

    def disrupted(self, pod: ReadOnlyObject, now: datetime, *, reason: str, message: str) -> Object:
        """Return the pod's status with the condition that says why it is about to be deleted."""
        condition: Object = {"type": DISRUPTION_TARGET, "status": "True", "reason": reason, "message": message}
        status = pod.get("status", {})
        if generation := self._condition_generation(pod, DISRUPTION_TARGET):
            condition["observedGeneration"] = generation
        return {**status, "conditions": with_condition(status.get("conditions", ()), condition, now)}

    def spared(self, pod: ReadOnlyObject, now: datetime) -> Object:
        """Return the pod's status once it is not about to be deleted after all."""
        condition: Object = {"type": DISRUPTION_TARGET, "status": "False"}
        status = pod.get("status", {})
        if generation := self._condition_generation(pod, DISRUPTION_TARGET):
            condition["observedGeneration"] = generation
        return {**status, "conditions": with_condition(status.get("conditions", ()), condition, now)}

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

    def _condition_generation(self, pod: ReadOnlyObject, kind: str) -> int:
        known = find_condition(pod.get("status", {}).get("conditions", ()), kind)
        if self.capabilities.enabled(TRACKING_GATE) or (known and known.get("observedGeneration")):
            generation: int = pod["metadata"].get("generation", 0)
            return generation
        return 0


def find_condition(conditions: Sequence[ReadOnlyObject], kind: str) -> ReadOnlyObject | None:
    """Return the condition of a type."""
    return next((condition for condition in conditions if condition["type"] == kind), None)


def with_condition(conditions: Sequence[ReadOnlyObject], wanted: Object, now: datetime) -> list[ReadOnlyObject]:
    """Return the conditions with one set; its time of transition is the old one's unless its status is new."""
    old = find_condition(conditions, wanted["type"])
    if old is None:
        return [*conditions, {**wanted, "lastTransitionTime": render_time(now)}]
    moved = old.get("lastTransitionTime") if old.get("status") == wanted["status"] else render_time(now)
    new = {**wanted, "lastTransitionTime": moved}
    return [new if condition is old else condition for condition in conditions]


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
