"""Phases and conditions of pods, as all components read them.

upstream 1.36: pkg/api/v1/pod/util.go
"""

from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import ReadOnlyObject

# Phases of pods that have ended.
FINISHED: Final = ("Succeeded", "Failed")
# Condition of a pod that is evicted, preempted or deleted because of a taint.
DISRUPTION_TARGET: Final = "DisruptionTarget"


def is_finished(pod: ReadOnlyObject) -> bool:
    """Return whether a pod's phase is Succeeded or Failed."""
    return (pod.get("status") or {}).get("phase") in FINISHED


def is_ready(pod: ReadOnlyObject) -> bool:
    """Return whether a pod's condition Ready is True."""
    condition = find_condition((pod.get("status") or {}).get("conditions") or (), "Ready")
    return condition is not None and condition.get("status") == "True"


def is_active(pod: ReadOnlyObject) -> bool:
    """Return whether a pod is neither finished nor terminating."""
    return not is_finished(pod) and not pod["metadata"].get("deletionTimestamp")


def is_terminating(pod: ReadOnlyObject) -> bool:
    """Return whether a pod is terminating and not finished."""
    return not is_finished(pod) and bool(pod["metadata"].get("deletionTimestamp"))
