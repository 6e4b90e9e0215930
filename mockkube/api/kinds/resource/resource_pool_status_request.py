"""ResourcePoolStatusRequest: defaults and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import elements, name_of, number, sections, string, value_at
from mockkube.api.printers.ages import format_time_since
from mockkube.api.printers.table import NAME_COLUMN, NONE, Cell, Printer, integer_column, text_column
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass


def default_pool_status_request(request: Object, caps: Capabilities) -> None:
    """Default the limit to 100 pools."""
    # upstream 1.36: pkg/apis/resource/v1alpha3/defaults.go
    request.setdefault("spec", {}).setdefault("limit", 100)


_DEVICE_COUNTS = ("totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices")


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Status and completion time of a request."""

    status: str
    completed: str = NONE


def pool_request_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ResourcePoolStatusRequest, with sums over all pools."""
    outcome = _find_outcome(obj, now)
    return [
        name_of(obj),
        string(obj, "spec", "driver"),
        *_sum_devices(obj, outcome.status),
        number(obj, "status", "poolCount"),
        outcome.status,
        outcome.completed,
    ]


def _find_outcome(obj: ReadOnlyObject, now: datetime) -> _Outcome:
    for condition in sections(obj, "status", "conditions"):
        match condition.get("type"), condition.get("status"):
            case "Complete", "True":
                return _Outcome(_format_complete(obj), format_time_since(string(condition, "lastTransitionTime"), now))
            case "Failed", "True":
                return _Outcome("Failed")
    return _Outcome("Pending")


def _format_complete(obj: ReadOnlyObject) -> str:
    shown, count = len(elements(obj, "status", "pools")), number(obj, "status", "poolCount")
    return f"Complete ({shown}/{count} pools)" if count > shown else "Complete"


def _sum_devices(obj: ReadOnlyObject, status: str) -> list[str]:
    # Dashes tell an unanswered request from one whose pools are empty.
    if value_at(obj, "status") is None or status == "Failed":
        return ["-"] * (len(_DEVICE_COUNTS) + 1)
    pools = sections(obj, "status", "pools")
    errors = sum(pool.get("validationError") is not None for pool in pools)
    return [*[str(sum(number(pool, key) for pool in pools)) for key in _DEVICE_COUNTS], str(errors)]


RESOURCE_POOL_STATUS_REQUEST = Printer(
    (
        NAME_COLUMN,
        text_column("Driver", "The driver of the requested pools."),
        text_column("Total", "Number of devices."),
        text_column("Available", "Devices that are free."),
        text_column("Allocated", "Devices in use."),
        text_column("Unavailable", "Devices that cannot be used."),
        text_column("Errors", "Pools with validation errors."),
        integer_column("Pools", "Number of matching pools."),
        text_column("Status", "Status of the request."),
        text_column("Completed", "Time since the request was completed."),
    ),
    pool_request_cells,
)

KIND: Final = Kind(
    "resource.k8s.io",
    "ResourcePoolStatusRequest",
    "resourcepoolstatusrequests",
    namespaced=False,
    versions=("v1alpha3",),
    subresources=(STATUS,),
    defaults={"v1alpha3": default_pool_status_request},
    printer=RESOURCE_POOL_STATUS_REQUEST,
)
