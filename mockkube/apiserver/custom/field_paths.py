"""Resolve the `fieldPath` of a validation rule, which names the field that an error is reported at."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, ValidFieldPath

import re
from typing import Final

from mockkube.api.custom.structural import Structural
from mockkube.api.fields import map_entry_path

_PATH_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """Error for a path that cannot be parsed or does not exist in the schema."""


def resolve_field_path(path: str, schema: Structural) -> str:
    """Return the path as field errors write it; raise FieldPathError."""
    at, start = "", 0
    while start < len(path):
        step = _PATH_STEP.match(path, start)
        if step is None:
            raise FieldPathError(path)
        name = step[1] if step[1] is not None else _unescape(step[2])
        if schema.properties:
            at = f"{at}.{name}" if at else name
            child = schema.properties.get(name)
        else:
            at, child = map_entry_path(at, name), schema.additional_properties
        if child is None:
            raise FieldPathError(path)
        schema, start = child, step.end()
    return at


def _unescape(text: str) -> str:
    def replace(found: re.Match[str]) -> str:
        letter = found[1]
        if letter not in _ESCAPES:
            raise FieldPathError(text)
        return _ESCAPES[letter]

    return re.sub(r"\\(.)", replace, text)
