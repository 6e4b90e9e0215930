"""What a table is made of: columns, rows, and the printer that turns an object into a row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypedDict

from mockkube.api.types import ReadOnlyObject

Cell = str | int | float | bool | None

NONE = "<none>"
UNSET = "<unset>"


@dataclass(frozen=True, slots=True)
class Column:
    """The heading of a column; priority 0 is always shown, 1 only when wide output is asked for."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class RowCondition(TypedDict):
    """What a client should know of a row as a whole: so far only that its object is done."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Row:
    """One object in a table."""

    cells: list[Cell]
    conditions: Sequence[RowCondition] = field(default=())


def unconditional(obj: ReadOnlyObject) -> Sequence[RowCondition]:
    """Say nothing about the row."""
    return ()


@dataclass(frozen=True, slots=True)
class Printer:
    """How a kind is printed. `cells` is pure, answers in the order of `columns`, and never raises on gaps."""

    columns: tuple[Column, ...]
    cells: Callable[[ReadOnlyObject, datetime], list[Cell]]
    conditions: Callable[[ReadOnlyObject], Sequence[RowCondition]] = unconditional

    def row(self, obj: ReadOnlyObject, now: datetime) -> Row:
        """Print one object as of now."""
        return Row(self.cells(obj, now), self.conditions(obj))


def text(name: str, description: str = "") -> Column:
    """Return a column of text."""
    return Column(name, description=description)


def integer(name: str, description: str = "") -> Column:
    """Return a column of whole numbers."""
    return Column(name, "integer", description=description)


def boolean(name: str, description: str = "") -> Column:
    """Return a column of truth values."""
    return Column(name, "boolean", description=description)


def wide(name: str, description: str = "") -> Column:
    """Return a column of text for wide output."""
    return Column(name, description=description, priority=1)


NAME = Column("Name", format="name", description="What the object is called; no other of its kind shares it here.")
AGE = text("Age", "How long ago the object was created.")
WORKLOAD = (
    wide("Containers", "The containers of the pod template."),
    wide("Images", "The images those containers run."),
)
SELECTOR = wide("Selector", "The labels of the pods it looks after.")
