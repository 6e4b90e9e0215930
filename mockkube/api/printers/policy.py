"""Printer for PodDisruptionBudgets."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import name_of, number, string
from mockkube.api.printers.table import AGE, NAME, Cell, Printer, integer_column, text_column
from mockkube.api.types import ReadOnlyObject

NOT_GIVEN = "N/A"


def disruption_budget_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PodDisruptionBudget."""
    return [
        name_of(obj),
        string(obj, "spec", "minAvailable", missing=NOT_GIVEN),
        string(obj, "spec", "maxUnavailable", missing=NOT_GIVEN),
        number(obj, "status", "disruptionsAllowed"),
        age(obj, now),
    ]


POD_DISRUPTION_BUDGET = Printer(
    (
        NAME,
        text_column("Min Available", "How many pods must stay."),
        text_column("Max Unavailable", "How many pods may be gone."),
        integer_column("Allowed Disruptions", "How many pods may be disturbed now."),
        AGE,
    ),
    disruption_budget_cells,
)
