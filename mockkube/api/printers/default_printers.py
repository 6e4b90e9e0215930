"""Default printers for kinds without columns of their own: name and age, or name and creation time."""

from datetime import datetime
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import name_of, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Column, Printer


def name_and_age_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the cells of name and age."""
    return [name_of(obj), format_age(obj, now)]


NAME_AND_AGE_PRINTER = Printer((NAME_COLUMN, AGE_COLUMN), name_and_age_cells)


def _created_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    return [name_of(obj), string(obj, "metadata", "creationTimestamp", missing="0001-01-01T00:00:00Z")]


# Printer of kinds without columns upstream, such as limit ranges, roles and custom resource definitions.
CREATED_AT_PRINTER: Final = Printer(
    (NAME_COLUMN, Column("Created At", "date", description="When the object was created.")),
    _created_cells,
)
