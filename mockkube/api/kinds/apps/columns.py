"""Printer columns that several workload kinds share."""

from collections.abc import Sequence
from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.lists import containers
from mockkube.api.printers.reading import name_of, number, section
from mockkube.api.printers.table import AGE, NAME, SELECTOR, WORKLOAD_COLUMNS, Cell, integer_column, text_column
from mockkube.api.types import ReadOnlyObject

_READY = text_column("Ready", "Ready pods, of the desired ones.")


def _numbers(obj: ReadOnlyObject, part: str, *keys: str) -> Sequence[int]:
    return [number(obj, part, key) for key in keys]


def _template(obj: ReadOnlyObject) -> list[str]:
    """Return names and images of the template's containers."""
    return containers(section(obj, "spec", "template"))


def _ready(obj: ReadOnlyObject) -> str:
    """Return `ready/desired` replicas."""
    return f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}"


def replica_cells(obj: ReadOnlyObject, now: datetime, selector: str) -> list[Cell]:
    """Return the table cells of a ReplicaSet or ReplicationController."""
    current = _numbers(obj, "status", "replicas", "readyReplicas")
    return [name_of(obj), number(obj, "spec", "replicas"), *current, age(obj, now), *_template(obj), selector]


_REPLICAS = (
    NAME,
    integer_column("Desired", "Number of desired pods."),
    integer_column("Current", "Number of existing pods."),
    integer_column("Ready", "Pods that are ready."),
    AGE,
    *WORKLOAD_COLUMNS,
    SELECTOR,
)
