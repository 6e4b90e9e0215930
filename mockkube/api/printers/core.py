"""Printers for small kinds of the core group: namespaces, config maps, secrets, quotas, component statuses."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import name_of, section, sections, string
from mockkube.api.printers.table import AGE, NAME, Cell, Printer, text_column
from mockkube.api.types import ReadOnlyObject


def namespace_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Namespace."""
    return [name_of(obj), string(obj, "status", "phase"), age(obj, now)]


def config_map_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ConfigMap."""
    return [name_of(obj), len(section(obj, "data")) + len(section(obj, "binaryData")), age(obj, now)]


def secret_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Secret: the number of entries, never their content."""
    return [name_of(obj), string(obj, "type"), len(section(obj, "data")), age(obj, now)]


def plain_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the name and the age."""
    return [name_of(obj), age(obj, now)]


def resource_quota_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ResourceQuota: usage by resource, limits apart from requests."""
    used = section(obj, "status", "used")
    requests: list[str] = []
    limits: list[str] = []
    for resource, hard in sorted(section(obj, "status", "hard").items()):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {string(used, resource, missing='0')}/{hard}")
    return [name_of(obj), ", ".join(requests), ", ".join(limits), age(obj, now)]


def component_status_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ComponentStatus."""
    found = next((item for item in sections(obj, "conditions") if item.get("type") == "Healthy"), None)
    if found is None:
        return [name_of(obj), "Unknown", "", ""]
    status = "Healthy" if found.get("status") == "True" else "Unhealthy"
    return [name_of(obj), status, string(found, "message"), string(found, "error")]


PLAIN = Printer((NAME, AGE), plain_cells)
NAMESPACE = Printer((NAME, text_column("Status", "Whether it is in use or going away."), AGE), namespace_cells)
CONFIG_MAP = Printer((NAME, text_column("Data", "How many entries it has."), AGE), config_map_cells)
SECRET = Printer(
    (NAME, text_column("Type", "What its entries are for."), text_column("Data", "How many entries it has."), AGE),
    secret_cells,
)
RESOURCE_QUOTA = Printer(
    (
        NAME,
        text_column("Request", "What is used, and what may be, of all but limits."),
        text_column("Limit", "What the limits sum up to, and what they may."),
        AGE,
    ),
    resource_quota_cells,
)
COMPONENT_STATUS = Printer(
    (
        NAME,
        text_column("Status", "Whether the component is healthy."),
        text_column("Message", "What it answered."),
        text_column("Error", "What went wrong."),
    ),
    component_status_cells,
)
