"""Map managed fields between a workload and its Scale, whose common field is the number of replicas.

A write to the scale subresource updates the managedFields of the Scale, which are derived from the workload's and
mapped back after the write.
"""

# upstream 1.36: apimachinery/pkg/util/managedfields/scalehandler.go

from collections.abc import Iterable, Mapping
from typing import Final

from mockkube.api.managed_fields.field_set import FieldSet, Path
from mockkube.api.managed_fields.managers import Managed, Share, decode, encode
from mockkube.api.types import Object, ReadOnlyObject

VERSION: Final = "autoscaling/v1"
_REPLICAS: Final = ("f:spec", "f:replicas")

# Path of the replicas by version of the workload; None for a version without scale.
Paths = Mapping[str, Path | None]


def lend(entries: Iterable[ReadOnlyObject], paths: Paths) -> list[Object]:
    """Return the entries of the Scale: the managers of the workload's replicas. Raise InvalidEntry."""
    managed = decode(entries)
    shares = {}
    for who, share in managed.shares.items():
        path = paths.get(share.version)
        if path is not None and share.fields.has(path):
            shares[who] = Share(FieldSet.of(_REPLICAS), VERSION, share.applied)
    return encode(Managed(shares, managed.times))


def bring_back(
    entries: Iterable[ReadOnlyObject], scale_entries: Iterable[ReadOnlyObject], version: str, paths: Paths
) -> list[Object]:
    """Return the entries of the workload after a write to its Scale, which has `scale_entries` now.

    Raise InvalidEntry if an entry is malformed.
    """
    managed, lent = decode(entries), decode(scale_entries).shares
    shares = {}
    for who, share in managed.shares.items():
        if share.version not in paths:
            continue
        path = paths[share.version]
        if path is None or not share.fields.has(path) or lent.pop(who, None) is not None:
            shares[who] = share
        elif left := share.fields - FieldSet.of(path):
            shares[who] = share.with_fields(left)
    target = paths[version]
    assert target is not None, "a version whose scale is written has one"
    for who, share in lent.items():
        if share.fields.has(_REPLICAS):
            shares[who] = Share(FieldSet.of(target), version, share.applied)
    return encode(Managed(shares, managed.times))
