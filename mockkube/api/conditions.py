"""Status conditions: find and set them by type, with the time of their last transition.

upstream 1.36: apimachinery/pkg/api/meta/conditions.go, pkg/api/v1/pod/util.go
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.features.capabilities import Capabilities

TRACKING_GATE: Final = "PodObservedGenerationTracking"


def make_condition(kind: str, *, holds: bool, reason: str, message: str) -> Object:
    """Return a condition without a transition time."""
    return {"type": kind, "status": "True" if holds else "False", "reason": reason, "message": message}


def find_condition(conditions: Sequence[ReadOnlyObject], kind: str) -> ReadOnlyObject | None:
    """Return the condition of a type, None if there is none."""
    return next((one for one in conditions if one["type"] == kind), None)


def transition_time(old: ReadOnlyObject | None, status: str, moment: str) -> str:
    """Return since when a condition has this status: the old time if it has not changed, else `moment`."""
    since = old.get("lastTransitionTime") if old is not None and old.get("status") == status else None
    return since or moment


def with_transition_time(condition: ReadOnlyObject, old: ReadOnlyObject | None, moment: str) -> Object:
    """Return a condition with its transition time, given the old one."""
    return {**condition, "lastTransitionTime": transition_time(old, condition["status"], moment)}


def with_condition(
    conditions: Sequence[ReadOnlyObject], condition: ReadOnlyObject, moment: str
) -> list[ReadOnlyObject]:
    """Return the conditions with one replaced, or appended if its type is new."""
    old = find_condition(conditions, condition["type"])
    new = with_transition_time(condition, old, moment)
    return [*conditions, new] if old is None else [new if one is old else one for one in conditions]


def calculate_observed_generation(pod: ReadOnlyObject, old: ReadOnlyObject | None, caps: Capabilities) -> int:
    """Return the `observedGeneration` of a pod's condition; 0 if it neither has nor gets one."""
    # A condition that has a generation keeps it up to date with the gate off, too: a stale one would mislead.
    if caps.enabled(TRACKING_GATE) or (old is not None and old.get("observedGeneration")):
        generation: int = pod["metadata"].get("generation", 0)
        return generation
    return 0
