"""Map managed fields between a workload and its Scale, whose common field is the number of replicas.

A write to the scale subresource updates the managedFields of the Scale, which are derived from the workload's and
mapped back after the write.
"""

# upstream 1.36: apimachinery/pkg/util/managedfields/scalehandler.go

from collections.abc import Iterable, Mapping
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.field_set import FieldSet, Path
from mockkube.api.managed_fields.managers import ManagedFields, VersionedSet, decode, encode

SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final = ("f:spec", "f:replicas")

# Path of the replicas by version of the workload; None for a version without scale.
ReplicasPaths = Mapping[str, Path | None]


def to_scale_entries(entries: Iterable[ReadOnlyObject], paths: ReplicasPaths) -> list[Object]:
    """Return the entries of the Scale: the managers of the workload's replicas. Raise InvalidEntry."""
    managed = decode(entries)
    shares = {}
    for who, share in managed.sets.items():
        path = paths.get(share.version)
        if path is not None and share.fields.has(path):
            shares[who] = VersionedSet(FieldSet.from_paths(_REPLICAS), SCALE_VERSION, share.is_applied)
    return encode(ManagedFields(shares, managed.times))


def to_parent_entries(
    entries: Iterable[ReadOnlyObject], scale_entries: Iterable[ReadOnlyObject], version: str, paths: ReplicasPaths
) -> list[Object]:
    """Return the entries of the workload after a write to its Scale, which has `scale_entries` now.

    Raise InvalidEntry if an entry is malformed.
    """
    managed, lent = decode(entries), decode(scale_entries).sets
    shares = {}
    for who, share in managed.sets.items():
        if share.version not in paths:
            continue
        path = paths[share.version]
        if path is None or not share.fields.has(path) or lent.pop(who, None) is not None:
            shares[who] = share
        elif left := share.fields - FieldSet.from_paths(path):
            shares[who] = share.with_fields(left)
    target = paths[version]
    assert target is not None, "a version whose scale is written has one"
    for who, share in lent.items():
        if share.fields.has(_REPLICAS):
            shares[who] = VersionedSet(FieldSet.from_paths(target), version, share.is_applied)
    return encode(ManagedFields(shares, managed.times))
