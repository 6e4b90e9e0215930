"""Object and patch literals: `Object{...}`, `Object.spec{...}` and `JSONPatch{...}`.

The checker does not know the fields of an object: it accepts every name and every value. Type names that do not match
their path are found after evaluation, by `type_name_errors`.

upstream 1.36: apiserver/pkg/cel/mutation
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mockkube_cel import types
from mockkube_cel.golang.gotime import format_duration, format_timestamp
from mockkube_cel.types import CelType
from mockkube_cel.values import Duration, ObjectLiteral, Timestamp, from_key, go_type_name

OBJECT: Final = types.struct("Object")
PATCH: Final = types.struct("JSONPatch")


class _AnyField(dict[str, CelType]):
    """Fields of a type that accepts every field name."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> CelType:
        return types.DYN


_ANY_FIELD: Final = _AnyField()
_PATCH_FIELDS: Final = {"op": types.STRING, "path": types.STRING, "from": types.STRING, "value": types.DYN}


class NotJson(Exception):
    """Value without a JSON form; the message names its type."""


def is_object_type(name: str) -> bool:
    """Return whether the name is a type of object literals (or parts of them) or of patches."""
    return name in (OBJECT.name, PATCH.name) or name.startswith(f"{OBJECT.name}.")


def fields_of(name: str) -> Mapping[str, CelType]:
    """Return the fields of an object or patch type."""
    return _PATCH_FIELDS if name == PATCH.name else _ANY_FIELD


def type_name_errors(value: Any, path: str = OBJECT.name) -> Iterator[str]:
    """Yield an error for each part of an object literal whose type name does not match its path."""
    if isinstance(value, ObjectLiteral):
        if value.type_name != path:
            yield (
                f'unexpected type name "{value.type_name}", expected "{path}", which matches field name path from root'
                " Object type"
            )
        for name, part in value.items():
            yield from type_name_errors(part, f"{path}.{name}")
    elif isinstance(value, dict):
        for part in value.values():
            yield from type_name_errors(part, path)
    elif isinstance(value, list):
        for part in value:
            yield from type_name_errors(part, path)


def to_json(value: Any) -> Any:
    """Return the value as JSON; raise NotJson if it has no JSON form."""
    match value:
        case None | bool() | float() | str():
            return value
        case int():
            return int(value)
        case bytes():
            return base64.b64encode(value).decode()
        case Duration():
            return format_duration(value)
        case Timestamp():
            return format_timestamp(value)
        case list():
            return [to_json(item) for item in value]
        case dict():
            return {_json_key(key): to_json(item) for key, item in value.items()}
    raise NotJson(f"no JSON for a value of type {go_type_name(value)}")


def _json_key(key: Any) -> str:
    found = from_key(key)
    if not isinstance(found, str):
        raise NotJson(f"map key of type {go_type_name(found)} is not a string")
    return found
