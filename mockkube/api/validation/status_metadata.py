"""Metadata that a write to a status subresource leaves alone, for the kinds that protect all of it."""

from typing import Final

from mockkube.api.types import Object, ReadOnlyObject

_RESTORED: Final = ("deletionTimestamp", "generation", "labels", "annotations", "finalizers", "ownerReferences")


def restore_metadata(new: Object, old: ReadOnlyObject) -> None:
    """Bring back what the stored object says of itself."""
    # upstream 1.36: apimachinery/pkg/apis/meta/v1/helpers.go, ResetObjectMetaForStatus
    restore(new["metadata"], old["metadata"], *_RESTORED)


def restore(new: Object, old: ReadOnlyObject, *fields: str) -> None:
    """Bring back the fields named, absence included."""
    for name in fields:
        if name in old:
            new[name] = old[name]
        else:
            new.pop(name, None)
