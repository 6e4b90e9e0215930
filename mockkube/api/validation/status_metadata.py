"""Metadata that a write to a status subresource does not change, for kinds that protect all of it."""

from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject

_PROTECTED_FIELDS: Final = ("deletionTimestamp", "generation", "labels", "annotations", "finalizers", "ownerReferences")


def reset_metadata_for_status(new: Object, old: ReadOnlyObject) -> None:
    """Restore the metadata of the stored object, except resourceVersion and managedFields."""
    # upstream 1.36: apimachinery/pkg/apis/meta/v1/helpers.go, ResetObjectMetaForStatus
    restore_fields(new["metadata"], old["metadata"], *_PROTECTED_FIELDS)


def restore_fields(new: Object, old: ReadOnlyObject, *fields: str) -> None:
    """Restore the named fields; those that the old object lacks are removed."""
    for name in fields:
        if name in old:
            new[name] = old[name]
        else:
            new.pop(name, None)
