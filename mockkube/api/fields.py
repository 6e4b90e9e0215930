"""Field errors: validation errors of single fields, in upstream's words.

A validator returns a list of `FieldError`, all of them, in field order. A path is plain text
(`spec.containers[0].name`); a validator composes it with f-strings and `map_entry_path`.
"""

import json
from collections.abc import Hashable, Iterable, Sequence
from enum import StrEnum
from typing import Any, Final

from mockkube_cel.golang.strconv import quote as quote  # field errors quote values as Go does

from mockkube.lazy_dataclasses import dataclass


class ErrorType(StrEnum):
    """Reason of a cause in a `Status`."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TOO_FEW = "FieldValueTooFew"
    INTERNAL = "InternalError"
    TYPE_INVALID = "FieldValueTypeInvalid"


_TITLES: Final = {
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.REQUIRED: "Required value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.TOO_FEW: "Too few",
    ErrorType.INTERNAL: "Internal error",
    ErrorType.TYPE_INVALID: "Invalid value",
}


class _Omitted:
    """Marker of an error that shows no value."""

    def __repr__(self) -> str:
        return "<omitted>"


OMITTED: Final = _Omitted()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One validation error at one field."""

    field: str
    detail: str = ""
    type: ErrorType = ErrorType.INVALID
    value: Any = OMITTED

    @property
    def message(self) -> str:
        """Text of the cause, without the field's path."""
        title = _TITLES[self.type]
        if self.value is not OMITTED:
            title += f": {format_value(self.value)}"
        return f"{title}: {self.detail}" if self.detail else title

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


_HTML_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ESCAPED_ASCII: Final = tuple((one.encode(), to.encode()) for one, to in _HTML_ESCAPES.items() if one.isascii())
_ESCAPED_LINE_ENDS: Final = tuple((one.encode(), to.encode()) for one, to in _HTML_ESCAPES.items() if not one.isascii())


class TypedString(str):
    """Text whose Go type is a string type of its own, like an operator: printed as JSON."""

    __slots__ = ()


def format_value(value: Any) -> str:
    """Print a bad value as Go's field errors do: text quoted, objects as compact JSON."""
    match value:
        case TypedString():
            return to_go_json(value)
        case str():
            return quote(value)
        case bool():
            return str(value).lower()
        case None:
            return "null"
        case _:
            return to_go_json(value)


def to_go_json(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """Encode a value as Go does: characters of HTML escaped; `sort_keys` as for maps."""
    separators = (",", ": " if indent else ":")
    text = json.dumps(value, separators=separators, ensure_ascii=False, indent=indent, sort_keys=sort_keys)
    for plain, escaped in _HTML_ESCAPES.items():
        if plain in text:
            text = text.replace(plain, escaped)
    return text


def escape_html(text: bytes) -> bytes:
    """Escape the characters of HTML in encoded JSON, as Go's encoder does."""
    # Searching for one byte is fast, for several bytes slow.
    for plain, escaped in _ESCAPED_ASCII if text.isascii() else _ESCAPED_ASCII + _ESCAPED_LINE_ENDS:
        if plain in text:
            text = text.replace(plain, escaped)
    return text


def with_sorted_keys(value: Any) -> Any:
    """Return a value whose objects list their fields by name, as Go encodes maps."""
    match value:
        case dict():
            return {name: with_sorted_keys(value[name]) for name in sorted(value)}
        case list():
            return [with_sorted_keys(item) for item in value]
    return value


def find_duplicate_indexes(values: Sequence[Hashable]) -> frozenset[int]:
    """Return the indexes of the values that have occurred before."""
    # A table of first occurrences: comparing each value with all before it took seconds for thousands of items.
    first = dict[Hashable, int]()
    return frozenset(index for index, value in enumerate(values) if first.setdefault(value, index) != index)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """Return the error for a malformed or out-of-range value."""
    return FieldError(field, detail, ErrorType.INVALID, value)


def required(field: str, detail: str = "") -> FieldError:
    """Return the error for a missing value."""
    return FieldError(field, detail, ErrorType.REQUIRED)


def duplicate(field: str, value: Any, detail: str = "") -> FieldError:
    """Return the error for a value that occurs twice."""
    return FieldError(field, detail, ErrorType.DUPLICATE, value)


def forbidden(field: str, detail: str) -> FieldError:
    """Return the error for a field that may not be set or changed."""
    return FieldError(field, detail, ErrorType.FORBIDDEN)


def not_found(field: str, value: Any, detail: str = "") -> FieldError:
    """Return the error for a reference to something that does not exist."""
    return FieldError(field, detail, ErrorType.NOT_FOUND, value)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """Return the error for a value that is none of `supported`, which are shown in that order."""
    choices = ", ".join(quote(choice) for choice in supported)
    word = TypedString(value) if isinstance(value, str) else value
    return FieldError(field, f"supported values: {choices}" if choices else "", ErrorType.NOT_SUPPORTED, word)


def too_long(field: str, bytes_max: int) -> FieldError:
    """Return the error for a text longer than `bytes_max` bytes."""
    unit = "byte" if bytes_max == 1 else "bytes"
    return FieldError(field, f"may not be more than {bytes_max} {unit}", ErrorType.TOO_LONG)


def too_many(field: str, actual: int, items_max: int) -> FieldError:
    """Return the error for a list with more than `items_max` items."""
    unit = "item" if items_max == 1 else "items"
    return FieldError(field, f"must have at most {items_max} {unit}", ErrorType.TOO_MANY, actual)


def internal(field: str, detail: str) -> FieldError:
    """Return the error for a failure that the user did not cause."""
    return FieldError(field, detail, ErrorType.INTERNAL)


def map_entry_path(field: str, key: str) -> str:
    """Return the path of a map entry: `data[key]`."""
    return f"{field}[{key}]"
