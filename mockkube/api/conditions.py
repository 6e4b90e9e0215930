"""The conditions in a status: found by type, and set so that each tells since when its status has been what it is.

upstream 1.36: apimachinery/pkg/api/meta/conditions.go, pkg/api/v1/pod/util.go
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.features.capabilities import Capabilities

TRACKING_GATE: Final = "PodObservedGenerationTracking"


def condition(kind: str, *, holds: bool, reason: str, message: str) -> Object:
    """Return a condition without its time."""
    return {"type": kind, "status": "True" if holds else "False", "reason": reason, "message": message}


def find_condition(conditions: Sequence[ReadOnlyObject], kind: str) -> ReadOnlyObject | None:
    """Return the condition of a type."""
    return next((one for one in conditions if one["type"] == kind), None)


def transition_time(old: ReadOnlyObject | None, status: str, moment: str) -> str:
    """Return since when a condition has this status: as long as before, or since this moment."""
    since = old.get("lastTransitionTime") if old is not None and old.get("status") == status else None
    return since or moment


def dated(wanted: ReadOnlyObject, old: ReadOnlyObject | None, moment: str) -> Object:
    """Return a condition with its time, given the one before."""
    return {**wanted, "lastTransitionTime": transition_time(old, wanted["status"], moment)}


def with_condition(conditions: Sequence[ReadOnlyObject], wanted: ReadOnlyObject, moment: str) -> list[ReadOnlyObject]:
    """Return the conditions with one set in its place, or after the others."""
    old = find_condition(conditions, wanted["type"])
    new = dated(wanted, old, moment)
    return [*conditions, new] if old is None else [new if one is old else one for one in conditions]


def pod_generation(pod: ReadOnlyObject, old: ReadOnlyObject | None, caps: Capabilities) -> int:
    """Return the generation that a condition of a pod is of; zero where it does not say so, and did not before."""
    if caps.enabled(TRACKING_GATE) or (old is not None and old.get("observedGeneration")):
        generation: int = pod["metadata"].get("generation", 0)
        return generation
    return 0
