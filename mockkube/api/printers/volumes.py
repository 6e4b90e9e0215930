"""Printers for PersistentVolumes and PersistentVolumeClaims."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import elements, is_deleting, name_of, string, value_at
from mockkube.api.printers.table import AGE, NAME, UNSET, Cell, Printer, text_column, wide_column
from mockkube.api.types import ReadOnlyObject

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def persistent_volume_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PersistentVolume."""
    claim = [string(obj, "spec", "claimRef", key) for key in ("namespace", "name")]
    return [
        name_of(obj),
        string(obj, "spec", "capacity", "storage", missing="0"),
        _modes(obj, "spec"),
        string(obj, "spec", "persistentVolumeReclaimPolicy"),
        _phase(obj),
        "" if value_at(obj, "spec", "claimRef") is None else "/".join(claim),
        _storage_class(obj),
        string(obj, "spec", "volumeAttributesClassName", missing=UNSET),
        string(obj, "status", "reason"),
        age(obj, now),
        string(obj, "spec", "volumeMode", missing=UNSET),
    ]


def persistent_volume_claim_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PersistentVolumeClaim; capacity and modes appear once it is bound."""
    volume = string(obj, "spec", "volumeName")
    return [
        name_of(obj),
        _phase(obj),
        volume,
        string(obj, "status", "capacity", "storage", missing="0") if volume else "",
        _modes(obj, "status") if volume else "",
        _storage_class(obj),
        string(obj, "spec", "volumeAttributesClassName", missing=UNSET),
        age(obj, now),
        string(obj, "spec", "volumeMode", missing=UNSET),
    ]


def _phase(obj: ReadOnlyObject) -> str:
    return "Terminating" if is_deleting(obj) else string(obj, "status", "phase")


def _modes(obj: ReadOnlyObject, part: str) -> str:
    modes = elements(obj, part, "accessModes")
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def _storage_class(obj: ReadOnlyObject) -> str:
    annotated = value_at(obj, "metadata", "annotations", BETA_CLASS)
    return string(obj, "spec", "storageClassName") if annotated is None else str(annotated)


PERSISTENT_VOLUME = Printer(
    (
        NAME,
        text_column("Capacity", "How much fits in."),
        text_column("Access Modes", "How it may be mounted."),
        text_column("Reclaim Policy", "What happens to it when its claim goes."),
        text_column("Status", "Whether it is bound."),
        text_column("Claim", "The claim it is bound to, or kept for."),
        text_column("StorageClass", "The class it belongs to."),
        text_column("VolumeAttributesClass", "The class of its changeable attributes."),
        text_column("Reason", "Why it is as it is."),
        AGE,
        wide_column("VolumeMode", "Whether it is a file system or a bare device."),
    ),
    persistent_volume_cells,
)
PERSISTENT_VOLUME_CLAIM = Printer(
    (
        NAME,
        text_column("Status", "Whether it is bound."),
        text_column("Volume", "The volume it is bound to."),
        text_column("Capacity", "How much fits into that."),
        text_column("Access Modes", "How that may be mounted."),
        text_column("StorageClass", "The class a volume is asked from."),
        text_column("VolumeAttributesClass", "The class of the volume's changeable attributes."),
        AGE,
        wide_column("VolumeMode", "Whether a file system or a bare device is asked for."),
    ),
    persistent_volume_claim_cells,
)
