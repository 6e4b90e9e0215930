"""Field errors: what a validator says of one field, in upstream's words.

A validator returns a list of `FieldError`, all of them, in field order. A path is plain text
(`spec.containers[0].name`); a validator composes it with f-strings and `keyed`.
"""

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from mockkube_cel.golang.strconv import quoted as quoted  # fields of an error are quoted as Go quotes


class ErrorType(StrEnum):
    """The reasons a `Status` cause may carry."""

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
    """The value of an error that shows none."""

    def __repr__(self) -> str:
        return "<omitted>"


OMITTED: Final = _Omitted()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One complaint about one field."""

    field: str
    detail: str = ""
    type: ErrorType = ErrorType.INVALID
    value: Any = OMITTED

    @property
    def message(self) -> str:
        """The text of the cause, without the field's name."""
        title = _TITLES[self.type]
        if self.value is not OMITTED:
            title += f": {shown(self.value)}"
        return f"{title}: {self.detail}" if self.detail else title

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


_HTML: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Word(str):
    """A text that has a type of its own in Go, like an operator or the name of a resource: shown as JSON."""

    __slots__ = ()


def shown(value: Any) -> str:
    """Print a bad value as Go's field errors do: text quoted, objects as compact JSON, null as such."""
    match value:
        case Word():
            return go_json(value)
        case str():
            return quoted(value)
        case bool():
            return str(value).lower()
        case None:
            return "null"
        case _:
            return go_json(value)


def go_json(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """Write a value as JSON the way Go does, with the characters of HTML escaped; Go sorts the keys of maps."""
    separators = (",", ": " if indent else ":")
    text = json.dumps(value, separators=separators, ensure_ascii=False, indent=indent, sort_keys=sort_keys)
    for plain, escaped in _HTML.items():
        if plain in text:
            text = text.replace(plain, escaped)
    return text


def repeated_indexes(values: Sequence[Hashable]) -> frozenset[int]:
    """Return the indexes of the values that occur before, too."""
    first = dict[Hashable, int]()
    return frozenset(index for index, value in enumerate(values) if first.setdefault(value, index) != index)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """The value is malformed or out of range."""
    return FieldError(field, detail, ErrorType.INVALID, value)


def required(field: str, detail: str = "") -> FieldError:
    """A value that must be there is not."""
    return FieldError(field, detail, ErrorType.REQUIRED)


def duplicate(field: str, value: Any, detail: str = "") -> FieldError:
    """The value stands twice where it may stand once."""
    return FieldError(field, detail, ErrorType.DUPLICATE, value)


def forbidden(field: str, detail: str) -> FieldError:
    """The field may not be set, or not changed."""
    return FieldError(field, detail, ErrorType.FORBIDDEN)


def not_found(field: str, value: Any, detail: str = "") -> FieldError:
    """The value names something that is not there."""
    return FieldError(field, detail, ErrorType.NOT_FOUND, value)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """The value, a word of its kind, is none of the known ones; `supported` is shown in the order given."""
    choices = ", ".join(quoted(choice) for choice in supported)
    word = Word(value) if isinstance(value, str) else value
    return FieldError(field, f"supported values: {choices}" if choices else "", ErrorType.NOT_SUPPORTED, word)


def too_long(field: str, bytes_max: int) -> FieldError:
    """The text is longer than `bytes_max` bytes."""
    unit = "byte" if bytes_max == 1 else "bytes"
    return FieldError(field, f"may not be more than {bytes_max} {unit}", ErrorType.TOO_LONG)


def too_many(field: str, actual: int, items_max: int) -> FieldError:
    """The list has more than `items_max` items."""
    unit = "item" if items_max == 1 else "items"
    return FieldError(field, f"must have at most {items_max} {unit}", ErrorType.TOO_MANY, actual)


def internal(field: str, detail: str) -> FieldError:
    """Something went wrong that the user did not cause."""
    return FieldError(field, detail, ErrorType.INTERNAL)


def keyed(field: str, key: str) -> str:
    """The path of a map entry: `data[key]`."""
    return f"{field}[{key}]"
