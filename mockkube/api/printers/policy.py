"""Printer for PodDisruptionBudgets."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import name, number, string
from mockkube.api.printers.table import AGE, NAME, Cell, Printer, integer, text
from mockkube.api.types import ReadOnlyObject

NOT_GIVEN = "N/A"


def disruption_budget_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PodDisruptionBudget."""
    return [
        name(obj),
        string(obj, "spec", "minAvailable", missing=NOT_GIVEN),
        string(obj, "spec", "maxUnavailable", missing=NOT_GIVEN),
        number(obj, "status", "disruptionsAllowed"),
        age(obj, now),
    ]


POD_DISRUPTION_BUDGET = Printer(
    (
        NAME,
        text("Min Available", "How many pods must stay."),
        text("Max Unavailable", "How many pods may be gone."),
        integer("Allowed Disruptions", "How many pods may be disturbed now."),
        AGE,
    ),
    disruption_budget_cells,
)
