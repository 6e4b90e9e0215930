"""ComponentStatus: printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, sections, string
from mockkube.api.printers.table import NAME_COLUMN, Cell, Printer, text_column


def component_status_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ComponentStatus."""
    condition = next((item for item in sections(obj, "conditions") if item.get("type") == "Healthy"), None)
    if condition is None:
        return [name_of(obj), "Unknown", "", ""]
    status = "Healthy" if condition.get("status") == "True" else "Unhealthy"
    return [name_of(obj), status, string(condition, "message"), string(condition, "error")]


COMPONENT_STATUS = Printer(
    (
        NAME_COLUMN,
        text_column("Status", "Whether the component is healthy."),
        text_column("Message", "Message of the health check."),
        text_column("Error", "Error of the health check."),
    ),
    component_status_cells,
)

KIND: Final = Kind(
    "",
    "ComponentStatus",
    "componentstatuses",
    namespaced=False,
    short_names=("cs",),
    verbs=("get", "list"),
    deprecation="v1 ComponentStatus is deprecated in v1.19+",
    printer=COMPONENT_STATUS,
)
