"""Result of validating a value: errors in upstream's words, and how many checks the value passed."""

# upstream 1.36: k8s.io/kube-openapi/pkg/validation/{validate/result.go,errors/schema.go}, and
# apiextensions-apiserver/pkg/apiserver/validation/validation.go, which makes field errors of them

from dataclasses import field
from typing import Any, Final

from mockkube.api import fields
from mockkube.api.fields import (
    ErrorType,
    FieldError,
    invalid,
    not_supported,
    quote,
    required,
    to_go_json,
    with_sorted_keys,
)
from mockkube.lazy_dataclasses import dataclass

# Field of errors without a path, as Go prints a nil path.
NO_FIELD: Final = "<nil>"


@dataclass(slots=True)
class ValidationResult:
    """Errors of one schema by their text, and the number of checks that passed."""

    # Keyed by text, because upstream reports each text once.
    errors: dict[str, FieldError] = field(default_factory=dict)
    # Of several alternatives that all fail, upstream reports the one with the most matches.
    matches: int = 0

    @property
    def is_valid(self) -> bool:
        """True if there are no errors."""
        return not self.errors

    def add(self, text: str, error: FieldError) -> None:
        """Add an error, unless there is one with the same text."""
        self.errors.setdefault(text, error)

    def merge(self, other: "ValidationResult") -> None:
        """Add the errors and matches of another result."""
        for text, error in other.errors.items():
            self.errors.setdefault(text, error)
        self.matches += other.matches


@dataclass(frozen=True, slots=True)
class ValuePath:
    """Path of a value as upstream prints it, and the path in the object that it is relative to."""

    path: str = ""
    root: str = ""

    @property
    def field(self) -> str:
        """Path of the field in errors."""
        name = self.path.removeprefix(".")
        if not name:
            return self.root or NO_FIELD
        return f"{self.root}.{name}" if self.root else name

    def property(self, name: str) -> "ValuePath":
        """Return the path of a field that the schema declares."""
        return ValuePath(f"{self.path}.{name}" if self.path else name, self.root)

    def entry(self, name: str) -> "ValuePath":
        """Return the path of any other field; at the root it begins with a dot."""
        return ValuePath(f"{self.path}.{name}", self.root)

    def item(self, index: int) -> "ValuePath":
        """Return the path of a list item."""
        return ValuePath(f"{self.path}[{index}]", self.root)


def add_type_error(result: ValidationResult, path: ValuePath, wanted: str, found: str) -> None:
    """Add an error: the value has another type or format."""
    text = f"{path.path} in body must be of type {wanted}: {quote(found)}"
    result.add(text, FieldError(path.field, text, ErrorType.TYPE_INVALID, found))


def add_missing(result: ValidationResult, path: ValuePath) -> None:
    """Add an error: a required field is absent."""
    result.add(f"{path.path} in body is required", required(path.field))


def add_not_supported(result: ValidationResult, path: ValuePath, value: Any, allowed: list[Any]) -> None:
    """Add an error: the value is not one of the allowed ones."""
    words = [one if isinstance(one, str) else to_go_json(one, sort_keys=True) for one in allowed]
    result.add(
        f"{path.path} in body should be one of {words}", not_supported(path.field, with_sorted_keys(value), words)
    )


def add_invalid(result: ValidationResult, path: ValuePath, value: Any, what: str) -> None:
    """Add an error with a text about what the value should be."""
    text = f"{path.path} in body {what}"
    result.add(text, invalid(path.field, value, text))


def add_too_many(result: ValidationResult, path: ValuePath, count: int, most: int, unit: str) -> None:
    """Add an error: there are too many items or properties."""
    result.add(f"{path.path} in body should have at most {most} {unit}", fields.too_many(path.field, count, most))


def add_too_long(result: ValidationResult, path: ValuePath, most: int) -> None:
    """Add an error: the string is too long."""
    result.add(f"{path.path} in body should be at most {most} chars long", fields.too_long(path.field, most))


def add_without_field(result: ValidationResult, path: ValuePath, text: str) -> None:
    """Add an error for which upstream reports neither field nor value."""
    result.add(text, invalid(path.root or NO_FIELD, "", text))
