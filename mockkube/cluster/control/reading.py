"""What is read of control objects in several places."""

from mockkube.api.conditions import find_condition
from mockkube.api.types import ReadOnlyObject


def condition_of(obj: ReadOnlyObject, kind: str) -> ReadOnlyObject:
    """Return the condition of a type; nothing in it if nobody has reported on that yet."""
    return find_condition(obj.get("status", {}).get("conditions", ()), kind) or {}
