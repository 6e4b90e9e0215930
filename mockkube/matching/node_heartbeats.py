"""Heartbeats of nodes: updates of the times in their conditions, after which nobody has anything to do."""

from typing import Any

from mockkube.api.json_objects import ReadOnlyObject


def is_heartbeat(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:  # hot: per heartbeat, per component
    """Return whether an update of a node changed times of heartbeats and nothing else."""
    for name in old.keys() | new.keys():
        before, after = old.get(name), new.get(name)
        if before is after:
            continue
        if name == "metadata":
            if not _are_equal_but(before, after, ("resourceVersion", "managedFields")):
                return False
        elif name == "status":
            if not _is_heartbeat_status(before, after):
                return False
        elif before != after:
            return False
    return True


def _are_equal_but(before: Any, after: Any, names: tuple[str, ...]) -> bool:
    """Return whether two objects are equal, but for some fields."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    return all(before.get(name) == after.get(name) for name in before.keys() | after.keys() if name not in names)


def _is_heartbeat_status(before: Any, after: Any) -> bool:
    """Return whether two statuses are equal, but for the times of heartbeats in their conditions."""
    if not _are_equal_but(before, after, ("conditions",)):
        return False
    old, new = before.get("conditions"), after.get("conditions")
    if not isinstance(old, list) or not isinstance(new, list) or len(old) != len(new):
        return False
    return all(
        one is other or _are_equal_but(one, other, ("lastHeartbeatTime",)) for one, other in zip(old, new, strict=True)
    )
