"""Accessors for decoded objects whose empty fields may be absent."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockkube.api.json_objects import ReadOnlyObject

_NOTHING: Mapping[str, Any] = {}


def value_at(obj: ReadOnlyObject, *path: str) -> Any:
    """Return the value at the path, or None."""
    here: Any = obj
    for step in path:
        if not isinstance(here, Mapping):
            return None
        here = here.get(step)
    return here


def section(obj: ReadOnlyObject, *path: str) -> ReadOnlyObject:
    """Return the object at the path, empty if there is none."""
    found = value_at(obj, *path)
    return found if isinstance(found, Mapping) else _NOTHING


def elements(obj: ReadOnlyObject, *path: str) -> Sequence[Any]:
    """Return the list at the path, empty if there is none."""
    found = value_at(obj, *path)
    return found if isinstance(found, list) else ()


def sections(obj: ReadOnlyObject, *path: str) -> list[ReadOnlyObject]:
    """Return the objects of the list at the path."""
    return [item for item in elements(obj, *path) if isinstance(item, Mapping)]


def string(obj: ReadOnlyObject, *path: str, missing: str = "") -> str:
    """Return the text at the path, `missing` if there is none; a stored empty text stays empty."""
    found = value_at(obj, *path)
    return missing if found is None else str(found)


def number(obj: ReadOnlyObject, *path: str) -> int:
    """Return the integer at the path, 0 if there is none."""
    found = value_at(obj, *path)
    return int(found) if isinstance(found, int | float) else 0


def truth(obj: ReadOnlyObject, *path: str, missing: bool = False) -> bool:
    """Return the boolean at the path, `missing` if there is none."""
    found = value_at(obj, *path)
    return found if isinstance(found, bool) else missing


def name_of(obj: ReadOnlyObject) -> str:
    """Return the object's name."""
    return string(obj, "metadata", "name")


def is_deleting(obj: ReadOnlyObject) -> bool:
    """Return whether the object has a deletion timestamp."""
    return value_at(obj, "metadata", "deletionTimestamp") is not None


def condition(obj: ReadOnlyObject, kind: str) -> ReadOnlyObject | None:
    """Return the first condition of that type in the status."""
    return next((found for found in sections(obj, "status", "conditions") if found.get("type") == kind), None)


def has_condition(obj: ReadOnlyObject, kind: str) -> bool:
    """Return whether the first condition of that type is true."""
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True"
