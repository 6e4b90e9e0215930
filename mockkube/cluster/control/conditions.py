"""Conditions of control objects."""

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import ReadOnlyObject


def get_condition(obj: ReadOnlyObject, kind: str) -> ReadOnlyObject:
    """Return the condition of a type; empty if it was not reported yet."""
    return find_condition(obj.get("status", {}).get("conditions", ()), kind) or {}
