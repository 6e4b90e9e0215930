"""Dumps objects as Go does for hashing, where upstream orders objects by such hashes.

upstream 1.36: k8s.io/utils/dump, which is spew's `%#v`; pkg/util/hash/hash.go
"""

from collections.abc import Sequence
from typing import Any, Final

from mockkube.lazy_dataclasses import dataclass

_FNV_OFFSET: Final = 144066263297769815596495629667062367629
_FNV_PRIME: Final = 309485009821345068724781371
_MASK: Final = (1 << 128) - 1


@dataclass(frozen=True, slots=True)
class GoScalar:
    """A number or string type of Go; `zero` is printed when the JSON value is missing."""

    type: str
    zero: str = ""


@dataclass(frozen=True, slots=True)
class GoField:
    """A field of a Go struct, with its names in Go and in JSON."""

    name: str
    key: str
    shape: "GoShape"


@dataclass(frozen=True, slots=True)
class GoStruct:
    """A Go struct."""

    type: str
    fields: tuple[GoField, ...]


@dataclass(frozen=True, slots=True)
class GoPointer:
    """A Go pointer."""

    target: "GoScalar | GoStruct"


@dataclass(frozen=True, slots=True)
class GoSlice:
    """A Go slice."""

    element: "GoScalar | GoStruct"


GoShape = GoScalar | GoStruct | GoPointer | GoSlice


def dump(value: Any, shape: GoShape) -> str:
    """Return a JSON value as spew prints a Go value of that shape."""
    return f"({_type_name(shape)}){_dump_value(value, shape)}"


def _type_name(shape: GoShape) -> str:
    match shape:
        case GoPointer(to):
            return f"*{to.type}"
        case GoSlice(of):
            return f"[]{of.type}"
    return shape.type


def _dump_value(value: Any, shape: GoShape) -> str:
    match shape:
        case GoPointer(to):
            return "<nil>" if value is None else _dump_value(value, to)
        case GoSlice(of):
            # Spew prints elements without their type, since that of the slice implies it.
            return "<nil>" if value is None else f"[{' '.join(_dump_value(one, of) for one in value)}]"
        case GoStruct():
            parts = (f"{field.name}:{dump(value.get(field.key), field.shape)}" for field in shape.fields)
            return f"{{{' '.join(parts)}}}"
    return shape.zero if value is None else str(value)


def fnv_128a(text: str) -> int:
    """Return the 128-bit FNV-1a hash; as numbers hashes compare like their bytes."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _FNV_PRIME & _MASK
    return value


def sort_by_hash(values: Sequence[Any], shape: GoShape) -> list[Any]:
    """Return the values ordered by the hashes of their dumps."""
    return sorted(values, key=lambda value: fnv_128a(dump(value, shape)))
