"""The internal form in which a Go server prints an object of its own in an error: Go's names, all fields, in order."""

from typing import Any, TypeAlias

from mockkube.api.types import ReadOnlyObject

Shape: TypeAlias = tuple[tuple[str, str, Any], ...]
"""Go name, JSON name, and the zero value or the shape of what is inside."""


def internal(obj: ReadOnlyObject | None, shape: Shape) -> dict[str, Any] | None:
    """Return the object in its internal form; null stays null."""
    if obj is None:
        return None
    return {go: _value(obj.get(name), inside) for go, name, inside in shape}


def optional(shape: Shape) -> list[Shape]:
    """Mark a shape as that of a pointer: null when absent."""
    return [shape]


def _value(value: Any, inside: Any) -> Any:
    match inside:
        case tuple():
            return internal(value or {}, inside)
        case [shape]:
            if isinstance(value, list):
                return [internal(item, shape) for item in value]
            return internal(value, shape)
        case _:
            return inside if value is None else value
