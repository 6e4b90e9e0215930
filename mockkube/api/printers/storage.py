"""Printers for storage.k8s.io: classes, drivers and attachments."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import elements, name_of, sections, string, truth, value_at
from mockkube.api.printers.table import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Column,
    Printer,
    boolean_column,
    integer_column,
    text_column,
)
from mockkube.api.types import ReadOnlyObject

DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def storage_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a StorageClass."""
    is_default = any(value_at(obj, "metadata", "annotations", key) == "true" for key in DEFAULT_CLASS)
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        string(obj, "provisioner"),
        string(obj, "reclaimPolicy", missing="Delete"),
        string(obj, "volumeBindingMode", missing="Immediate"),
        truth(obj, "allowVolumeExpansion"),
        age(obj, now),
    ]


def volume_attributes_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a VolumeAttributesClass."""
    return [name_of(obj), string(obj, "driverName"), age(obj, now)]


def volume_attachment_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a VolumeAttachment."""
    return [
        name_of(obj),
        string(obj, "spec", "attacher"),
        string(obj, "spec", "source", "persistentVolumeName"),
        string(obj, "spec", "nodeName"),
        truth(obj, "status", "attached"),
        age(obj, now),
    ]


def csi_node_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a CSINode."""
    return [name_of(obj), len(elements(obj, "spec", "drivers")), age(obj, now)]


def csi_driver_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a CSIDriver."""
    audiences = [string(request, "audience") for request in sections(obj, "spec", "tokenRequests")]
    return [
        name_of(obj),
        truth(obj, "spec", "attachRequired", missing=True),
        truth(obj, "spec", "podInfoOnMount"),
        truth(obj, "spec", "storageCapacity"),
        ",".join(audiences) if audiences else UNSET,
        truth(obj, "spec", "requiresRepublish"),
        ",".join(str(mode) for mode in elements(obj, "spec", "volumeLifecycleModes")) or NONE,
        age(obj, now),
    ]


STORAGE_CLASS = Printer(
    (
        NAME,
        text_column("Provisioner", "Who makes its volumes."),
        text_column("ReclaimPolicy", "What happens to a volume when its claim goes."),
        text_column("VolumeBindingMode", "When a claim gets its volume."),
        text_column("AllowVolumeExpansion", "Whether claims may grow."),
        AGE,
    ),
    storage_class_cells,
)
VOLUME_ATTRIBUTES_CLASS = Printer(
    (NAME, text_column("DriverName", "The driver that knows the attributes."), AGE), volume_attributes_class_cells
)
VOLUME_ATTACHMENT = Printer(
    (
        NAME,
        Column("Attacher", format="name", description="The driver that attaches."),
        text_column("PV", "The volume."),
        text_column("Node", "The node it is attached to."),
        boolean_column("Attached", "Whether it is attached by now."),
        AGE,
    ),
    volume_attachment_cells,
)
CSI_NODE = Printer((NAME, integer_column("Drivers", "How many drivers run on the node."), AGE), csi_node_cells)
CSI_DRIVER = Printer(
    (
        NAME,
        boolean_column("AttachRequired", "Whether volumes are attached before they are mounted."),
        boolean_column("PodInfoOnMount", "Whether the driver is told of the pod."),
        boolean_column("StorageCapacity", "Whether the scheduler minds the driver's capacity."),
        text_column("TokenRequests", "The audiences of the tokens the driver is given."),
        boolean_column("RequiresRepublish", "Whether mounted volumes are published again and again."),
        text_column("Modes", "The kinds of volumes the driver has."),
        AGE,
    ),
    csi_driver_cells,
)
