"""Reconcile stored roles and bindings with the default ones: add what is missing.

This is how a newer version gives its components new permissions. Additions of an administrator stay; what they removed
is added again, unless they set the autoupdate annotation to "false".
"""

# upstream 1.36: component-helpers/auth/rbac/reconciliation
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.authorization.policy_comparator import find_uncovered
from mockkube.apiserver.authorization.rules import PolicyRule

AUTO_UPDATE_ANNOTATION: Final = "rbac.authorization.kubernetes.io/autoupdate"


def is_protected(stored: ReadOnlyObject) -> bool:
    """Return whether an administrator has disabled updates of the object."""
    return (stored["metadata"].get("annotations") or {}).get(AUTO_UPDATE_ANNOTATION) == "false"


def has_other_role(stored: ReadOnlyObject, expected: ReadOnlyObject) -> bool:
    """Return whether a binding refers to another role than expected, so that it must be replaced."""
    return bool(stored.get("roleRef") != expected.get("roleRef"))


def reconcile(stored: ReadOnlyObject, expected: ReadOnlyObject) -> Object:
    """Return the stored object with what it lacks; equal to it if it lacks nothing."""
    metadata = dict(stored["metadata"])
    for field in ("labels", "annotations"):
        # Stored values win, so that an administrator can change labels and annotations.
        metadata[field] = {**expected["metadata"][field], **(metadata.get(field) or {})}
    merged = {**stored, "metadata": metadata}
    if "roleRef" in expected:
        return _append(merged, "subjects", _missing_subjects(stored, expected))
    merged = _append(merged, "rules", _missing_rules(stored, expected))
    if expected.get("aggregationRule") != stored.get("aggregationRule"):
        return _add_selectors(merged, expected.get("aggregationRule"))
    return merged


def _append(obj: Object, field: str, more: list[Object]) -> Object:
    return {**obj, field: [*(obj.get(field) or ()), *more]} if more else obj


def _missing_subjects(stored: ReadOnlyObject, expected: ReadOnlyObject) -> list[Object]:
    there = stored.get("subjects") or ()
    return [subject for subject in expected.get("subjects") or () if subject not in there]


def _missing_rules(stored: ReadOnlyObject, expected: ReadOnlyObject) -> list[Object]:
    there, wanted = stored.get("rules") or [], expected.get("rules") or []
    if there == wanted:
        return []
    return [
        rule.to_object()
        for rule in find_uncovered([*map(PolicyRule.from_object, there)], map(PolicyRule.from_object, wanted))
    ]


def _add_selectors(role: Object, expected: ReadOnlyObject | None) -> Object:
    """Return the role with the expected aggregation selectors added, or without aggregation if none is expected."""
    if expected is None:
        return {field: value for field, value in role.items() if field != "aggregationRule"}
    there = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    more = [selector for selector in expected["clusterRoleSelectors"] if selector not in there]
    return {**role, "aggregationRule": {"clusterRoleSelectors": [*there, *more]}}
