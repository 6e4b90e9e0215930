"""Resolve the `fieldPath` of a validation rule, which names the field that an error is reported at."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, ValidFieldPath

import re
from typing import Final

from mockkube.api.custom.structural import Structural
from mockkube.api.fields import map_entry_path

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class BadPath(ValueError):
    """Error for a path that cannot be parsed or does not exist in the schema."""


def resolve(path: str, schema: Structural) -> str:
    """Return the path as field errors write it; raise FieldPathError."""
    at, start = "", 0
    while start < len(path):
        step = _STEP.match(path, start)
        if step is None:
            raise BadPath(path)
        name = step[1] if step[1] is not None else _unescaped(step[2])
        if schema.properties:
            at = f"{at}.{name}" if at else name
            child = schema.properties.get(name)
        else:
            at, child = map_entry_path(at, name), schema.additional
        if child is None:
            raise BadPath(path)
        schema, start = child, step.end()
    return at


def _unescaped(text: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        letter = found[1]
        if letter not in _ESCAPES:
            raise BadPath(text)
        return _ESCAPES[letter]

    return re.sub(r"\\(.)", replaced, text)
