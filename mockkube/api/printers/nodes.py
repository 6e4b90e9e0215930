"""Printers for Nodes and RuntimeClasses."""

from datetime import datetime

from mockkube.api.printers.ages import UNKNOWN, age
from mockkube.api.printers.reading import name_of, section, sections, string, truth
from mockkube.api.printers.table import AGE, NAME, NONE, Cell, Printer, text_column, wide_column
from mockkube.api.types import ReadOnlyObject

ROLE_PREFIX = "node-role.kubernetes.io/"
ROLE_LABEL = "kubernetes.io/role"


def node_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Node."""
    info = section(obj, "status", "nodeInfo")
    kernel = string(info, "kernelVersion") or UNKNOWN
    architecture = string(info, "architecture")
    return [
        name_of(obj),
        _status(obj),
        _roles(obj),
        age(obj, now),
        string(info, "kubeletVersion"),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        string(info, "osImage") or UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        string(info, "containerRuntimeVersion") or UNKNOWN,
    ]


def _status(obj: ReadOnlyObject) -> str:
    """Return the last Ready condition, and whether the node is schedulable."""
    ready = [found for found in sections(obj, "status", "conditions") if found.get("type") == "Ready"]
    status = "Unknown"
    if ready:
        status = "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if truth(obj, "spec", "unschedulable") else status


def _roles(obj: ReadOnlyObject) -> str:
    roles = set()
    for key, value in section(obj, "metadata", "labels").items():
        if key.startswith(ROLE_PREFIX):
            roles.add(key.removeprefix(ROLE_PREFIX))
        elif key == ROLE_LABEL:
            roles.add(str(value))
    return ",".join(sorted(roles - {""})) or NONE


def _address(obj: ReadOnlyObject, kind: str) -> str:
    addresses = sections(obj, "status", "addresses")
    return next((string(found, "address") for found in addresses if found.get("type") == kind), NONE)


def runtime_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a RuntimeClass."""
    return [name_of(obj), string(obj, "handler"), age(obj, now)]


NODE = Printer(
    (
        NAME,
        text_column("Status", "Whether the node is ready, and takes pods."),
        text_column("Roles", "What the node's labels say it is for."),
        AGE,
        text_column("Version", "The version of its kubelet."),
        wide_column("Internal-IP", "Its address inside the cluster."),
        wide_column("External-IP", "Its address outside."),
        wide_column("OS-Image", "Its operating system."),
        wide_column("Kernel-Version", "Its kernel and architecture."),
        wide_column("Container-Runtime", "What runs its containers."),
    ),
    node_cells,
)
RUNTIME_CLASS = Printer(
    (NAME, text_column("Handler", "The runtime configuration it stands for."), AGE), runtime_class_cells
)
