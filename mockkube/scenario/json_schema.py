"""Generate the JSON schema of scenario files from the dataclasses that parse them."""

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Final, Literal, Union, get_args, get_origin

from mockkube.scenario.fields import Seconds, Tree, list_arguments

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_EXPRESSION: Final = {"type": "string", "pattern": r"^\(.*\)$"}
_SCALAR_TYPES: Final[Mapping[Any, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}


def make_schema_for_type(hint: Any) -> dict[str, Any]:
    """Return the schema of a type; an expression may replace any scalar."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [make_schema_for_type(option) for option in get_args(hint) if option is not type(None)]}
    if origin is Literal:
        words = list(get_args(hint))
        # YAML reads an unquoted `false` as a truth value, so editors must accept it beside the word.
        return {"anyOf": [{"enum": [*words, False] if "false" in words else words}, _EXPRESSION]}
    if origin is tuple:
        return {"type": "array", "items": make_schema_for_type(get_args(hint)[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": make_schema_for_type(get_args(hint)[1])}
    if hint is Seconds:
        return {"type": ["string", "number"], "description": "a duration, like 30s"}
    if hint is Tree or hint is Any or hint is object:
        return {}
    if hint is str:
        # Versions such as 1.36 are numbers in YAML unless quoted.
        return {"type": ["string", "number"]}
    if hint in _SCALAR_TYPES:
        return {"anyOf": [{"type": _SCALAR_TYPES[hint]}, _EXPRESSION]}
    return make_schema(hint)


def make_schema(cls: Any) -> dict[str, Any]:
    """Return the schema of a dataclass, with the shorter forms that its `adapt` accepts."""
    assert dataclasses.is_dataclass(cls), f"{cls} is read from YAML"
    known = list_arguments(cls)
    properties = {}
    for key, one in known.items():
        properties[key] = {**make_schema_for_type(one.hint), **({"description": one.text} if one.text else {})}
    required = [key for key, one in known.items() if one.required]
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    schema |= {"description": _first_line(cls)}
    if required:
        schema["required"] = required
    if getattr(cls, "adapt", None) is not None:
        return {"anyOf": [schema, {"type": ["string", "number", "array", "null", "object"]}]}
    return schema


def _first_line(cls: Any) -> str:
    return (cls.__doc__ or "").strip().split("\n")[0]
