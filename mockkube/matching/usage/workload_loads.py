"""Load of workloads, shared by their ready pods: twice the pods, half the usage of each."""

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.usage.annotations import LOAD_PREFIX, parse_curves
from mockkube.matching.usage.load_curve import LoadCurve

# Owners of owners: a pod, its ReplicaSet, its Deployment, and what creates that.
_OWNERS_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class OwnerKey:
    """Controller of an object, with the namespace that both are in."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class LoadedWorkload:
    """Workload with an annotated load."""

    uid: str
    created_at: datetime
    load: Mapping[str, LoadCurve]

    def get_share(self, now: datetime, pods: int) -> dict[str, Decimal]:
        """Return the share of each of so many pods, by resource."""
        age = (now - self.created_at).total_seconds()
        return {resource: curve.get_amount(age) / max(pods, 1) for resource, curve in self.load.items()}


FindOwner = Callable[[OwnerKey], ReadOnlyObject | None]
# Returns the loads that an object has in annotations, by resource or metric.
ParseLoads = Callable[[ReadOnlyObject], Mapping[str, LoadCurve]]


def parse_resource_loads(obj: ReadOnlyObject) -> Mapping[str, LoadCurve]:
    """Return the loads of a workload by resource."""
    return parse_curves(obj, LOAD_PREFIX)


def read_owner(obj: ReadOnlyObject) -> OwnerKey | None:
    """Return the controller of an object."""
    metadata = obj["metadata"]
    for one in metadata.get("ownerReferences") or ():
        if one.get("controller"):
            namespace = metadata.get("namespace", "")
            return OwnerKey(one["apiVersion"], one["kind"], namespace, one["name"], one["uid"])
    return None


def find_loaded_workload(
    owner: OwnerKey | None, find_owner: FindOwner, parse: ParseLoads = parse_resource_loads
) -> LoadedWorkload | None:
    """Return the nearest owner with a load."""
    for _ in range(_OWNERS_MAX):
        obj = None if owner is None else find_owner(owner)
        if obj is None or owner is None or obj["metadata"]["uid"] != owner.uid:
            return None
        if load := parse(obj):
            metadata = obj["metadata"]
            return LoadedWorkload(metadata["uid"], parse_time(metadata["creationTimestamp"]), load)
        owner = read_owner(obj)
    return None
