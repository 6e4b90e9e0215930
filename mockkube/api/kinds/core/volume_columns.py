"""Table cells that PersistentVolume and PersistentVolumeClaim share."""

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import elements, is_deleting, string, value_at

STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_ACCESS_MODE_ABBREVIATIONS = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def format_phase(obj: ReadOnlyObject) -> str:
    """Return the phase as kubectl prints it: Terminating once the deletion has begun."""
    return "Terminating" if is_deleting(obj) else string(obj, "status", "phase")


def format_access_modes(obj: ReadOnlyObject, part: str) -> str:
    """Return the abbreviated access modes."""
    modes = elements(obj, part, "accessModes")
    # Printed in this fixed order and without duplicates, as upstream does.
    return ",".join(short for mode, short in _ACCESS_MODE_ABBREVIATIONS.items() if mode in modes)


def format_storage_class(obj: ReadOnlyObject) -> str:
    """Return the storage class; the beta annotation takes precedence over the field."""
    annotated = value_at(obj, "metadata", "annotations", STORAGE_CLASS_ANNOTATION)
    return string(obj, "spec", "storageClassName") if annotated is None else str(annotated)
