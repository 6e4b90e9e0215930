"""What is read of control objects in several places."""

from mockkube.api.types import ReadOnlyObject


def condition_of(obj: ReadOnlyObject, kind: str) -> ReadOnlyObject:
    """Return the condition of a type; nothing in it if nobody has reported on that yet."""
    return next((one for one in obj.get("status", {}).get("conditions", ()) if one["type"] == kind), {})
