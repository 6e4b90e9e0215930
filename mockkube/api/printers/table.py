"""Tables: columns, rows, and printers that turn an object into a row."""

from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime
from typing import TypedDict

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

Cell = str | int | float | bool | None

NONE = "<none>"
UNSET = "<unset>"


@dataclass(frozen=True, slots=True)
class Column:
    """Header of a column; priority 0 is always shown, 1 only with `-o wide`."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class RowCondition(TypedDict):
    """Condition of a whole row; the only one is that the object is completed."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Row:
    """One object in a table."""

    cells: list[Cell]
    conditions: Sequence[RowCondition] = field(default=())


def no_row_conditions(obj: ReadOnlyObject) -> Sequence[RowCondition]:
    """Return no row conditions."""
    return ()


@dataclass(frozen=True, slots=True)
class Printer:
    """Printer of a kind. `cells` is pure, follows the order of `columns`, and never fails on missing fields."""

    columns: tuple[Column, ...]
    cells: Callable[[ReadOnlyObject, datetime], list[Cell]]
    conditions: Callable[[ReadOnlyObject], Sequence[RowCondition]] = no_row_conditions

    def row(self, obj: ReadOnlyObject, now: datetime) -> Row:
        """Return the row of one object at the present time."""
        return Row(self.cells(obj, now), self.conditions(obj))


def text_column(name: str, description: str = "") -> Column:
    """Return a column of text."""
    return Column(name, description=description)


def integer_column(name: str, description: str = "") -> Column:
    """Return a column of whole numbers."""
    return Column(name, "integer", description=description)


def boolean_column(name: str, description: str = "") -> Column:
    """Return a column of booleans."""
    return Column(name, "boolean", description=description)


def wide_column(name: str, description: str = "") -> Column:
    """Return a column of text for `-o wide`."""
    return Column(name, description=description, priority=1)


NAME_COLUMN = Column(
    "Name", format="name", description="What the object is called; no other of its kind shares it here."
)
AGE_COLUMN = text_column("Age", "How long ago the object was created.")
WORKLOAD_COLUMNS = (
    wide_column("Containers", "The containers of the pod template."),
    wide_column("Images", "The images those containers run."),
)
SELECTOR_COLUMN = wide_column("Selector", "The labels of the pods it looks after.")
