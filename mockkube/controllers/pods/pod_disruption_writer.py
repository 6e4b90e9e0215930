"""Pod disruption writer: sets the condition DisruptionTarget and the phase Failed of pods.

upstream 1.36: pkg/api/v1/pod/util.go, pkg/util/pod/pod.go
"""

from datetime import datetime

from mockkube.api.conditions import TRACKING_GATE, calculate_observed_generation, find_condition, with_condition
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.client.protocol import Client, key_of
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import DISRUPTION_TARGET


@dataclass(frozen=True, slots=True)
class PodDisruptionWriter:
    """Computes and writes pod statuses for disruptions and failures, with the gates of one component."""

    client: Client
    capabilities: Capabilities

    def with_disruption_target(
        self, pod: ReadOnlyObject, now: datetime, *, reason: str, message: str, observe_generation: bool = True
    ) -> Object:
        """Return the pod's status with condition DisruptionTarget, and the generation it is about.

        An equal condition is left alone, even if it is about another generation of the pod.
        """
        condition: Object = {"type": DISRUPTION_TARGET, "status": "True", "reason": reason, "message": message}
        known = find_condition(pod.get("status", {}).get("conditions", ()), DISRUPTION_TARGET) or {}
        if all(known.get(name) == value for name, value in condition.items()):
            return dict(pod["status"])
        return self._with_condition(pod, condition, now, observe_generation=observe_generation)

    def without_disruption_target(self, pod: ReadOnlyObject, now: datetime) -> Object:
        """Return the pod's status with condition DisruptionTarget set to False."""
        return self._with_condition(pod, {"type": DISRUPTION_TARGET, "status": "False"}, now)

    def _with_condition(
        self, pod: ReadOnlyObject, condition: Object, now: datetime, *, observe_generation: bool = True
    ) -> Object:
        status = pod.get("status", {})
        conditions = status.get("conditions", ())
        if observe_generation and (
            generation := calculate_observed_generation(
                pod, find_condition(conditions, condition["type"]), self.capabilities
            )
        ):
            condition["observedGeneration"] = generation
        return {**status, "conditions": with_condition(conditions, condition, render_time(now))}

    def with_failed_phase(self, pod: ReadOnlyObject, status: ReadOnlyObject) -> Object:
        """Return a status of the pod with phase Failed."""
        new: Object = {**status, "phase": "Failed"}
        if status.get("observedGeneration") or self.capabilities.enabled(TRACKING_GATE):
            new["observedGeneration"] = pod["metadata"].get("generation", 0)
        return new

    async def write(self, pod: ReadOnlyObject, status: ReadOnlyObject) -> None:
        """Patch what differs in the pod's status, if anything; Conflict if the pod has another uid."""
        changes = status_patch(pod.get("status", {}), status)
        if changes:
            patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": changes}
            await self.client.patch("Pod", key_of(pod), patch, subresource="status")


def status_patch(old: ReadOnlyObject, new: ReadOnlyObject) -> Object:
    """Return the strategic merge patch between two statuses; empty when they are equal."""
    changes: Object = {name: value for name, value in new.items() if name != "conditions" and value != old.get(name)}
    changes.update((name, None) for name in old if name != "conditions" and name not in new)
    before, after = old.get("conditions", ()), new.get("conditions", ())
    changed = [condition for condition in after if condition not in before]
    if changed:
        changes["conditions"] = changed
        # The merge key of conditions is their type: only changed ones are sent, so conditions that others wrote
        # meanwhile stay.
        changes["$setElementOrder/conditions"] = [{"type": condition["type"]} for condition in after]
    return changes
