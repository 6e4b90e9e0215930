"""Printer columns of Scale."""

from datetime import datetime

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import name_of, number
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Column, Printer, integer_column


def scale_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Scale."""
    return [name_of(obj), number(obj, "spec", "replicas"), number(obj, "status", "replicas"), format_age(obj, now)]


SCALE = Printer(
    (
        Column(NAME_COLUMN.name, description=NAME_COLUMN.description),
        integer_column("Desired", "Number of desired pods."),
        integer_column("Available", "Number of existing pods."),
        AGE_COLUMN,
    ),
    scale_cells,
)
