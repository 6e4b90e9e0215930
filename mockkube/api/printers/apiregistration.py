"""Printer for APIServices."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import condition, name_of, section, string, value_at
from mockkube.api.printers.table import AGE, NAME, Cell, Printer, text_column
from mockkube.api.types import ReadOnlyObject


def api_service_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an APIService."""
    # upstream 1.36: kube-aggregator/pkg/registry/apiservice/etcd
    return [name_of(obj), _service(obj), _available(obj), age(obj, now)]


def _service(obj: ReadOnlyObject) -> str:
    if value_at(obj, "spec", "service") is None:
        return "Local"
    service = section(obj, "spec", "service")
    return f"{string(service, 'namespace')}/{string(service, 'name_of')}"


def _available(obj: ReadOnlyObject) -> str:
    """Return the availability, with the reason if it is not available."""
    found = condition(obj, "Available")
    if found is None:
        return "Unknown"
    status, reason = string(found, "status"), string(found, "reason")
    return f"{status} ({reason})" if reason and status != "True" else status


API_SERVICE = Printer(
    (
        NAME,
        text_column("Service", "The service behind it."),
        text_column("Available", "Whether it answers."),
        AGE,
    ),
    api_service_cells,
)
