"""What a schema says of a value: complaints in upstream's words, and how much of the value fitted."""

# upstream 1.36: k8s.io/kube-openapi/pkg/validation/{validate/result.go,errors/schema.go}, and
# apiextensions-apiserver/pkg/apiserver/validation/validation.go, which makes field errors of them

from dataclasses import dataclass, field
from typing import Any, Final

from mockkube.api import fields
from mockkube.api.fields import ErrorType, FieldError, go_json, invalid, not_supported, quoted, required

NOWHERE: Final = "<nil>"
"""The field of a complaint that has none."""


@dataclass(slots=True)
class Outcome:
    """The complaints of one schema, each text once, and how many of its checks were content."""

    complaints: dict[str, FieldError] = field(default_factory=dict)
    matches: int = 0

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self.complaints

    def add(self, text: str, error: FieldError) -> None:
        """Add a complaint, unless one of the same text is there."""
        self.complaints.setdefault(text, error)

    def merge(self, other: "Outcome") -> None:
        """Take over what another schema says."""
        for text, error in other.complaints.items():
            self.complaints.setdefault(text, error)
        self.matches += other.matches


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: the path upstream prints, and what it stands under in the object."""

    path: str = ""
    root: str = ""

    @property
    def field(self) -> str:
        """The field a complaint names."""
        name = self.path.removeprefix(".")
        if not name:
            return self.root or NOWHERE
        return f"{self.root}.{name}" if self.root else name

    def property(self, name: str) -> "Place":
        """A field that the schema names."""
        return Place(f"{self.path}.{name}" if self.path else name, self.root)

    def entry(self, name: str) -> "Place":
        """Any other field; at the root its path begins with a dot."""
        return Place(f"{self.path}.{name}", self.root)

    def item(self, index: int) -> "Place":
        """An item of a list."""
        return Place(f"{self.path}[{index}]", self.root)


def wrong_type(outcome: Outcome, place: Place, wanted: str, found: str) -> None:
    """The value is of another type, or not in its format."""
    text = f"{place.path} in body must be of type {wanted}: {quoted(found)}"
    outcome.add(text, FieldError(place.field, text, ErrorType.TYPE_INVALID, found))


def missing(outcome: Outcome, place: Place) -> None:
    """A required field is not there."""
    outcome.add(f"{place.path} in body is required", required(place.field))


def none_of(outcome: Outcome, place: Place, value: Any, allowed: list[Any]) -> None:
    """The value is not among those allowed."""
    words = [one if isinstance(one, str) else go_json(one) for one in allowed]
    outcome.add(f"{place.path} in body should be one of {words}", not_supported(place.field, value, words))


def unfit(outcome: Outcome, place: Place, value: Any, what: str) -> None:
    """The value does not fit; `what` it should be or do."""
    text = f"{place.path} in body {what}"
    outcome.add(text, invalid(place.field, value, text))


def too_many(outcome: Outcome, place: Place, count: int, most: int, unit: str) -> None:
    """There are more items or properties than allowed."""
    outcome.add(f"{place.path} in body should have at most {most} {unit}", fields.too_many(place.field, count, most))


def too_long(outcome: Outcome, place: Place, most: int) -> None:
    """The text is too long."""
    outcome.add(f"{place.path} in body should be at most {most} chars long", fields.too_long(place.field, most))


def unplaced(outcome: Outcome, place: Place, text: str) -> None:
    """A complaint that upstream gives no field, and no value."""
    outcome.add(text, invalid(place.root or NOWHERE, "", text))
