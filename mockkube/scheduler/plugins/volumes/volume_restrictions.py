"""VolumeRestrictions plugin: disks that one pod can write, and ReadWriteOncePod claims.

upstream 1.36: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go
"""

from collections.abc import Iterable, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import (
    CycleState,
    FilterPlugin,
    PluginDependencies,
    PreFilterPlugin,
    PreFilterResult,
    StateKey,
)
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Status
from mockkube.scheduler.plugins.volumes.pod_claims import concerns_named_claim_of, named_volume_claims

_DISK_CONFLICT: Final = "node(s) had no available disk"
_IN_USE: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
_IN_USE_BEFORE_1_34: Final = (
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
)
_DISK_SOURCES: Final = ("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd")


@dataclass(slots=True)
class ExclusiveClaims:
    """ReadWriteOncePod claims of a pod, and how many of them pods on nodes use."""

    claims: frozenset[Key]
    uses: int

    def clone(self) -> "ExclusiveClaims":
        """Return a copy for dry runs."""
        return ExclusiveClaims(self.claims, self.uses)

    def count_used_by(self, pod: PodInfo) -> int:
        """Return how many of the claims a pod uses."""
        return sum(key in self.claims for key in named_volume_claims(pod))


_STATE: Final = StateKey[ExclusiveClaims]("VolumeRestrictions")


class VolumeRestrictions(PreFilterPlugin, FilterPlugin):
    """Filters nodes whose pods use one of the pod's disks, and all nodes while another pod uses an exclusive claim."""

    name = "VolumeRestrictions"

    def __init__(self, dependencies: PluginDependencies, arguments: ReadOnlyObject) -> None:
        self._claims = dependencies.informers.informer_for("PersistentVolumeClaim")
        self._in_use = _IN_USE if dependencies.caps.version >= Version(1, 34) else _IN_USE_BEFORE_1_34

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for deleted pods, new nodes and new claims."""
        return (
            ClusterEventWithHint(EventResource.ASSIGNED_POD, ActionType.DELETE, _is_schedulable_after_pod_deleted),
            ClusterEventWithHint(EventResource.UNSCHEDULED_POD, ActionType.DELETE, _is_schedulable_after_pod_deleted),
            ClusterEventWithHint(EventResource.NODE, ActionType.ADD),
            ClusterEventWithHint(EventResource.PVC, ActionType.ADD, concerns_named_claim_of),
        )

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Count the users of the pod's exclusive claims; skip pods that cannot conflict with any."""
        exclusive = set()
        for key in named_volume_claims(pod):
            claim = self._claims.get(key)
            if claim is None:
                return PreFilterResult(
                    Status.unresolvable(f'persistentvolumeclaim "{key.name}" not found', claim=str(key))
                )
            if "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ()):
                exclusive.add(key)
        uses = sum(nodes.count_pvc_users(key.namespace, key.name) > 0 for key in exclusive)
        if not uses and not _restricted_disks(pod):
            return PreFilterResult(SKIP)
        state.put(_STATE, ExclusiveClaims(frozenset(exclusive), uses))
        return PreFilterResult()

    def skips_pre_filter(self, spec: ReadOnlyObject) -> bool:
        """Return whether the pod has no volumes."""
        return not spec.get("volumes")

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """Count the claims of a pod that a dry run adds."""
        if (exclusive_claims := state.get(_STATE)) is not None:
            exclusive_claims.uses += exclusive_claims.count_used_by(added)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status:
        """Count the claims of a pod that a dry run removes."""
        if (exclusive_claims := state.get(_STATE)) is not None:
            exclusive_claims.uses -= exclusive_claims.count_used_by(removed)
        return SUCCESS

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Reject a node with a conflicting disk, or any node while an exclusive claim is in use."""
        for disk in _restricted_disks(pod):
            for other in node.pods.values():
                if _conflicts(disk, _restricted_disks(other)):
                    return Status.unschedulable(_DISK_CONFLICT, volume=disk["name"], used_by=str(other.key))
        exclusive_claims = state.get(_STATE)
        if exclusive_claims is not None and exclusive_claims.uses > 0:
            # Unschedulable on every node, not unresolvable: evicting the user of the claim helps.
            return Status.unschedulable(self._in_use, claims=sorted(map(str, exclusive_claims.claims)))
        return SUCCESS


def _restricted_disks(pod: PodInfo) -> tuple[ReadOnlyObject, ...]:
    """Return the pod's inline volumes that pods cannot share freely."""
    return pod.derive(VolumeRestrictions, _find_restricted_disks)


def _find_restricted_disks(pod: PodInfo) -> tuple[ReadOnlyObject, ...]:
    volumes = pod.spec.get("volumes") or ()
    return tuple(volume for volume in volumes if any(source in volume for source in _DISK_SOURCES))


def _conflicts(volume: ReadOnlyObject, others: Iterable[ReadOnlyObject]) -> bool:
    return any(
        _is_same_disk(kind, volume[kind], other[kind])
        for other in others
        for kind in _DISK_SOURCES
        if kind in volume and kind in other
    )


def _is_same_disk(kind: str, one: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Return whether both are the same disk, and one of the two writes it."""
    # An EBS volume can be attached only once, also for reading.
    if kind == "awsElasticBlockStore":
        return bool(one["volumeID"] == other["volumeID"])
    if one.get("readOnly") and other.get("readOnly"):
        return False
    match kind:
        case "gcePersistentDisk":
            return bool(one["pdName"] == other["pdName"])
        case "iscsi":
            return bool(one["iqn"] == other["iqn"])
    same_image = one.get("pool") == other.get("pool") and one["image"] == other["image"]
    return same_image and not set(one.get("monitors") or ()).isdisjoint(other.get("monitors") or ())


def _is_schedulable_after_pod_deleted(pod: PodInfo, event: ClusterEvent) -> bool:
    """Return whether the deleted pod used a disk or claim of the pod."""
    deleted = event.old or event.new
    if deleted is None or deleted["metadata"].get("namespace", "") != pod.namespace:
        return False
    other = PodInfo(deleted)
    if any(_conflicts(disk, _restricted_disks(other)) for disk in _restricted_disks(pod)):
        return True
    return not set(named_volume_claims(pod)).isdisjoint(named_volume_claims(other))
