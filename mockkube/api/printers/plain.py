"""Printer of name and age, for kinds without columns of their own."""

from datetime import datetime
from typing import Final

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import name_of, string
from mockkube.api.printers.table import AGE, NAME, Cell, Column, Printer
from mockkube.api.types import ReadOnlyObject


def plain_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the name and the age."""
    return [name_of(obj), age(obj, now)]


PLAIN = Printer((NAME, AGE), plain_cells)


def _created_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    return [name_of(obj), string(obj, "metadata", "creationTimestamp", missing="0001-01-01T00:00:00Z")]


CREATED: Final = Printer(
    (NAME, Column("Created At", "date", description="When the object was created.")),
    _created_cells,
)
"""Printer of kinds without their own, such as limit ranges, roles and custom resource definitions."""
