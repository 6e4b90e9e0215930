"""Objects and patches that expressions write out: `Object{...}`, `Object.spec{...}` and `JSONPatch{...}`.

Nothing is known of an object's fields while an expression is checked: any name will do, and any value. What is wrong
with the names of types is found out afterwards, by `misnamed`.

upstream 1.36: apiserver/pkg/cel/mutation
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mockkube_cel import types
from mockkube_cel.golang.gotime import show_duration, show_timestamp
from mockkube_cel.types import CelType
from mockkube_cel.values import Built, Duration, Timestamp, from_key, go_type_name

OBJECT: Final = types.struct("Object")
PATCH: Final = types.struct("JSONPatch")


class _AnyField(dict[str, CelType]):
    """The fields of a type that has every field."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> CelType:
        return types.DYN


_ANY_FIELD: Final = _AnyField()
_PATCH_FIELDS: Final = {"op": types.STRING, "path": types.STRING, "from": types.STRING, "value": types.DYN}


class NotJson(Exception):
    """A value that JSON has nothing for; the text says which."""


def is_built(name: str) -> bool:
    """Whether this is the name of a type of objects, of parts of them, or of patches."""
    return name in (OBJECT.name, PATCH.name) or name.startswith(f"{OBJECT.name}.")


def fields(name: str) -> Mapping[str, CelType]:
    """The fields of such a type."""
    return _PATCH_FIELDS if name == PATCH.name else _ANY_FIELD


def misnamed(value: Any, path: str = OBJECT.name) -> Iterator[str]:
    """Complain of each part of an object that is not written as the type its place in the object asks for."""
    if isinstance(value, Built):
        if value.type_name != path:
            yield (
                f'unexpected type name "{value.type_name}", expected "{path}", which matches field name path from root'
                " Object type"
            )
        for name, part in value.items():
            yield from misnamed(part, f"{path}.{name}")
    elif isinstance(value, dict):
        for part in value.values():
            yield from misnamed(part, path)
    elif isinstance(value, list):
        for part in value:
            yield from misnamed(part, path)


def to_json(value: Any) -> Any:
    """The JSON of a value; NotJson if there is none."""
    match value:
        case None | bool() | float() | str():
            return value
        case int():
            return int(value)
        case bytes():
            return base64.b64encode(value).decode()
        case Duration():
            return show_duration(value)
        case Timestamp():
            return show_timestamp(value)
        case list():
            return [to_json(item) for item in value]
        case dict():
            return {_key(key): to_json(item) for key, item in value.items()}
    raise NotJson(f"no JSON for a value of type {go_type_name(value)}")


def _key(key: Any) -> str:
    found = from_key(key)
    if not isinstance(found, str):
        raise NotJson(f"map key of type {go_type_name(found)} is not a string")
    return found
