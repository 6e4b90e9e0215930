"""Printers for resource.k8s.io: claims, slices, taint rules and pool status requests."""

from dataclasses import dataclass
from datetime import datetime

from mockkube.api.printers.ages import age, since
from mockkube.api.printers.reading import elements, is_deleting, name_of, number, sections, string, value_at
from mockkube.api.printers.table import AGE, NAME, NONE, Cell, Printer, integer_column, text_column
from mockkube.api.types import ReadOnlyObject

_DEVICE_COUNTS = ("totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices")


def claim_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ResourceClaim."""
    return [name_of(obj), ",".join(_claim_states(obj)), age(obj, now)]


def _claim_states(obj: ReadOnlyObject) -> list[str]:
    states = ["deleted"] if is_deleting(obj) else []
    if value_at(obj, "status", "allocation") is None:
        return states or ["pending"]
    reserved = ["reserved"] if elements(obj, "status", "reservedFor") else []
    return [*states, "allocated", *reserved]


def slice_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ResourceSlice."""
    return [
        name_of(obj),
        string(obj, "spec", "nodeName"),
        string(obj, "spec", "driver"),
        string(obj, "spec", "pool", "name"),
        age(obj, now),
    ]


def taint_rule_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a DeviceTaintRule: the taint, without its selector."""
    added = string(obj, "spec", "taint", "timeAdded")
    return [
        name_of(obj),
        *[string(obj, "spec", "taint", key) for key in ("key", "value", "effect")],
        since(added, now) if added else "",
        age(obj, now),
    ]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Status and completion time of a request."""

    status: str
    completed: str = NONE


def pool_request_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ResourcePoolStatusRequest: sums over pools, once answered."""
    outcome = _outcome(obj, now)
    return [
        name_of(obj),
        string(obj, "spec", "driver"),
        *_sums(obj, outcome.status),
        number(obj, "status", "poolCount"),
        outcome.status,
        outcome.completed,
    ]


def _outcome(obj: ReadOnlyObject, now: datetime) -> _Outcome:
    for found in sections(obj, "status", "conditions"):
        match found.get("type"), found.get("status"):
            case "Complete", "True":
                return _Outcome(_complete(obj), since(string(found, "lastTransitionTime"), now))
            case "Failed", "True":
                return _Outcome("Failed")
    return _Outcome("Pending")


def _complete(obj: ReadOnlyObject) -> str:
    shown, count = len(elements(obj, "status", "pools")), number(obj, "status", "poolCount")
    return f"Complete ({shown}/{count} pools)" if count > shown else "Complete"


def _sums(obj: ReadOnlyObject, status: str) -> list[str]:
    if value_at(obj, "status") is None or status == "Failed":
        return ["-"] * (len(_DEVICE_COUNTS) + 1)
    pools = sections(obj, "status", "pools")
    errors = sum(pool.get("validationError") is not None for pool in pools)
    return [*[str(sum(number(pool, key) for pool in pools)) for key in _DEVICE_COUNTS], str(errors)]


RESOURCE_CLAIM = Printer((NAME, text_column("State", "Whether devices are allocated, and in use."), AGE), claim_cells)
RESOURCE_SLICE = Printer(
    (
        NAME,
        text_column("Node", "The node the devices are on."),
        text_column("Driver", "The driver that offers them."),
        text_column("Pool", "The pool they belong to."),
        AGE,
    ),
    slice_cells,
)
DEVICE_TAINT_RULE = Printer(
    (
        NAME,
        text_column("Key", "The key of the taint."),
        text_column("Value", "Its value."),
        text_column("Effect", "What it does to pods that do not tolerate it."),
        text_column("TimeAdded", "How long it has been in force."),
        AGE,
    ),
    taint_rule_cells,
)
RESOURCE_POOL_STATUS_REQUEST = Printer(
    (
        NAME,
        text_column("Driver", "The driver whose pools are asked for."),
        text_column("Total", "All devices."),
        text_column("Available", "Devices that are free."),
        text_column("Allocated", "Devices in use."),
        text_column("Unavailable", "Devices that cannot be used."),
        text_column("Errors", "Pools that make no sense."),
        integer_column("Pools", "How many pools there are."),
        text_column("Status", "What has become of the request."),
        text_column("Completed", "How long ago it was answered."),
    ),
    pool_request_cells,
)
