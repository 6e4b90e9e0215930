"""Conditions of a terminating namespace.

upstream 1.36: pkg/controller/namespace/deletion/status_condition_utils.go
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from datetime import datetime
from typing import Final

from mockkube.api.conditions import find_condition, with_transition_time
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.lazy_dataclasses import dataclass

_CONTENT_FAILURE: Final = "NamespaceDeletionContentFailure"
_CONTENT_REMAINING: Final = "NamespaceContentRemaining"
_FINALIZERS_REMAINING: Final = "NamespaceFinalizersRemaining"
_OK_CONDITIONS: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    _CONTENT_FAILURE: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    _CONTENT_REMAINING: ("ContentRemoved", "All content successfully removed"),
    _FINALIZERS_REMAINING: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@dataclass(slots=True)
class RemainingContent:
    """Content and errors that a deletion pass left behind in a namespace."""

    # Number of remaining objects by `plural.group`.
    resources: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    # Estimated time until the content is gone; zero if unknown or if nothing is left.
    estimate_seconds: int = 0


def updated_conditions(
    namespace: ReadOnlyObject, remaining: RemainingContent, now: datetime, *, counted: bool
) -> list[Object]:
    """Return the conditions after a pass; remaining content is reported only if all was `counted`."""
    new = {one["type"]: one for one in _problem_conditions(remaining, counted=counted)}
    old: Sequence[ReadOnlyObject] = namespace.get("status", {}).get("conditions", ())
    kept = [dict(one) for one in old if one["type"] not in _OK_CONDITIONS]
    own = [
        with_transition_time(new.get(kind) or _ok_condition(kind), find_condition(old, kind), render_time(now))
        for kind in _OK_CONDITIONS
    ]
    # Existing conditions keep their position, so that an unchanged list is not written again.
    order = {one["type"]: at for at, one in enumerate(old)}
    return sorted([*kept, *own], key=lambda one: order.get(one["type"], len(order)))


def _problem_conditions(remaining: RemainingContent, *, counted: bool) -> Iterator[Object]:
    """Yield the conditions that are True after a pass."""
    if remaining.errors:
        texts = ", ".join(sorted(remaining.errors))
        message = f"Failed to delete all resource types, {len(remaining.errors)} remaining: {texts}"
        yield _new_condition(_CONTENT_FAILURE, "True", "ContentDeletionFailed", message)
    if counted and remaining.resources:
        parts = sorted(f"{name} has {count} resource instances" for name, count in remaining.resources.items())
        message = f"Some resources are remaining: {', '.join(parts)}"
        yield _new_condition(_CONTENT_REMAINING, "True", "SomeResourcesRemain", message)
    if counted and remaining.finalizers:
        parts = sorted(f"{name} in {count} resource instances" for name, count in remaining.finalizers.items())
        message = f"Some content in the namespace has finalizers remaining: {', '.join(parts)}"
        yield _new_condition(_FINALIZERS_REMAINING, "True", "SomeFinalizersRemain", message)


def _ok_condition(kind: str) -> Object:
    return _new_condition(kind, "False", *_OK_CONDITIONS[kind])


def _new_condition(kind: str, status: str, reason: str, message: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message}
