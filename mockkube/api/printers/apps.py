"""Printers for Deployments, ReplicaSets, DaemonSets, StatefulSets and ReplicationControllers."""

from collections.abc import Sequence
from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.labels import format_labels, format_selector, selector_text
from mockkube.api.printers.lists import containers
from mockkube.api.printers.reading import name_of, number, section, sections, string
from mockkube.api.printers.table import AGE, NAME, NONE, SELECTOR, WORKLOAD, Cell, Printer, integer_column, text_column
from mockkube.api.types import ReadOnlyObject

_READY = text_column("Ready", "Pods that are ready, of all that should run.")


def _numbers(obj: ReadOnlyObject, part: str, *keys: str) -> Sequence[int]:
    return [number(obj, part, key) for key in keys]


def _template(obj: ReadOnlyObject) -> list[str]:
    return containers(section(obj, "spec", "template"))


def _ready(obj: ReadOnlyObject) -> str:
    return f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}"


def deployment_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Deployment; unlike other kinds it shows a missing selector as empty."""
    selector = selector_text(section(obj, "spec", "selector"))
    return [
        name_of(obj),
        _ready(obj),
        *_numbers(obj, "status", "updatedReplicas", "availableReplicas"),
        age(obj, now),
        *_template(obj),
        "<invalid>" if selector is None else selector,
    ]


def _replica_cells(obj: ReadOnlyObject, now: datetime, selector: str) -> list[Cell]:
    current = _numbers(obj, "status", "replicas", "readyReplicas")
    return [name_of(obj), number(obj, "spec", "replicas"), *current, age(obj, now), *_template(obj), selector]


def replica_set_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ReplicaSet."""
    return _replica_cells(obj, now, format_selector(section(obj, "spec", "selector")))


def replication_controller_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ReplicationController, whose selector is a plain map."""
    return _replica_cells(obj, now, format_labels(section(obj, "spec", "selector")))


def daemon_set_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a DaemonSet."""
    scheduled = _numbers(obj, "status", "desiredNumberScheduled", "currentNumberScheduled")
    progress = _numbers(obj, "status", "numberReady", "updatedNumberScheduled", "numberAvailable")
    return [
        name_of(obj),
        *scheduled,
        *progress,
        format_labels(section(obj, "spec", "template", "spec", "nodeSelector")),
        age(obj, now),
        *_template(obj),
        format_selector(section(obj, "spec", "selector")),
    ]


def stateful_set_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a StatefulSet."""
    return [name_of(obj), _ready(obj), age(obj, now), *_template(obj)]


def controller_revision_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ControllerRevision."""
    return [name_of(obj), _controller(obj), number(obj, "revision"), age(obj, now)]


def _controller(obj: ReadOnlyObject) -> str:
    owners = sections(obj, "metadata", "ownerReferences")
    owner = next((owner for owner in owners if owner.get("controller") is True), None)
    if owner is None:
        return NONE
    group, slash, _ = string(owner, "apiVersion").partition("/")
    kind = f"{string(owner, 'kind')}.{group}" if slash and group else string(owner, "kind")
    return f"{kind.lower()}/{string(owner, 'name_of')}" if kind else string(owner, "name")


_REPLICAS = (
    NAME,
    integer_column("Desired", "Pods that should run."),
    integer_column("Current", "Pods there are."),
    integer_column("Ready", "Pods that are ready."),
    AGE,
    *WORKLOAD,
    SELECTOR,
)

DEPLOYMENT = Printer(
    (
        NAME,
        _READY,
        text_column("Up-to-date", "Pods made from the template as it is now."),
        text_column("Available", "Pods that have been ready for long enough."),
        AGE,
        *WORKLOAD,
        SELECTOR,
    ),
    deployment_cells,
)
REPLICA_SET = Printer(_REPLICAS, replica_set_cells)
REPLICATION_CONTROLLER = Printer(_REPLICAS, replication_controller_cells)
DAEMON_SET = Printer(
    (
        NAME,
        integer_column("Desired", "Nodes that should run the pod."),
        integer_column("Current", "Nodes that run it, and should."),
        integer_column("Ready", "Nodes on which it is ready."),
        integer_column("Up-to-date", "Nodes that run it as the template is now."),
        integer_column("Available", "Nodes on which it has been ready for long enough."),
        text_column("Node Selector", "The labels of the nodes that should run the pod."),
        AGE,
        *WORKLOAD,
        SELECTOR,
    ),
    daemon_set_cells,
)
STATEFUL_SET = Printer((NAME, _READY, AGE, *WORKLOAD), stateful_set_cells)
CONTROLLER_REVISION = Printer(
    (
        NAME,
        text_column("Controller", "The object whose state is kept here."),
        text_column("Revision", "The number of the state: the higher, the later."),
        AGE,
    ),
    controller_revision_cells,
)
