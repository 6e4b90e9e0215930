"""Printer columns that several workload kinds share."""

from collections.abc import Sequence
from datetime import datetime

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import name_of, number, section
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.lists import container_cells
from mockkube.api.printers.table import (
    AGE_COLUMN,
    NAME_COLUMN,
    SELECTOR_COLUMN,
    WORKLOAD_COLUMNS,
    Cell,
    integer_column,
    text_column,
)

READY_COLUMN = text_column("Ready", "Ready pods, of the desired ones.")


def read_numbers(obj: ReadOnlyObject, part: str, *keys: str) -> Sequence[int]:
    """Return the numbers of these keys in a part of an object."""
    return [number(obj, part, key) for key in keys]


def template_container_cells(obj: ReadOnlyObject) -> list[str]:
    """Return names and images of the template's containers."""
    return container_cells(section(obj, "spec", "template"))


def format_ready(obj: ReadOnlyObject) -> str:
    """Return `ready/desired` replicas."""
    return f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}"


def replica_cells(obj: ReadOnlyObject, now: datetime, selector: str) -> list[Cell]:
    """Return the table cells of a ReplicaSet or ReplicationController."""
    current = read_numbers(obj, "status", "replicas", "readyReplicas")
    return [
        name_of(obj),
        number(obj, "spec", "replicas"),
        *current,
        format_age(obj, now),
        *template_container_cells(obj),
        selector,
    ]


REPLICA_COLUMNS = (
    NAME_COLUMN,
    integer_column("Desired", "Number of desired pods."),
    integer_column("Current", "Number of existing pods."),
    integer_column("Ready", "Pods that are ready."),
    AGE_COLUMN,
    *WORKLOAD_COLUMNS,
    SELECTOR_COLUMN,
)
