"""Trigger times of endpoints: last change of a pod's readiness or of the service.

upstream 1.36: staging/src/k8s.io/endpointslice/util/trigger_time_tracker.go
"""

from collections.abc import Iterable
from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key, key_of

ANNOTATION: Final = "endpoints.kubernetes.io/last-change-trigger-time"


class TriggerTimeTracker:
    """Last known times by service; as strings they compare like times."""

    def __init__(self) -> None:
        self._last_times: dict[Key, dict[str, str]] = {}

    def forget(self, service: Key) -> None:
        """Forget a deleted service."""
        self._last_times.pop(service, None)

    def compute_trigger_time(self, service: ReadOnlyObject, pods: Iterable[ReadOnlyObject]) -> str:
        """Return the earliest time that is new since the last call; empty if none is."""
        before = self._last_times.get(key_of(service), {})
        now = {pod["metadata"]["name"]: moved for pod in pods if (moved := _ready_transition_time(pod))}
        now[""] = service["metadata"]["creationTimestamp"]
        self._last_times[key_of(service)] = now
        return min((time for name, time in now.items() if time > before.get(name, "")), default="")


def _ready_transition_time(pod: ReadOnlyObject) -> str:
    ready = find_condition(pod.get("status", {}).get("conditions", ()), "Ready")
    return (ready or {}).get("lastTransitionTime") or ""
