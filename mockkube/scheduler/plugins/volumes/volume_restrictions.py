"""Disks that only one pod may write, and claims that only one pod may use.

upstream 1.36: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.features.versions import Version
from mockkube.scheduler.framework.events import Action, ClusterEvent, Interest, Subject
from mockkube.scheduler.framework.interface import Context, CycleState, FilterPlugin, PreFiltered, PreFilterPlugin, Slot
from mockkube.scheduler.framework.node_info import NodeInfo, Nodes
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Status
from mockkube.scheduler.plugins.volumes.pod_claims import about_named_claim_of, named_claims_of

_DISK: Final = "node(s) had no available disk"
_IN_USE: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
_IN_USE_BEFORE_1_34: Final = (
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
)
_DISKS: Final = ("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd")


@dataclass(slots=True)
class ExclusiveClaims:
    """The pod's claims that one pod alone may use, and how often pods on nodes use them."""

    claims: frozenset[Key]
    uses: int

    def clone(self) -> "ExclusiveClaims":
        """Return a note to suppose things in."""
        return ExclusiveClaims(self.claims, self.uses)

    def used_by(self, pod: PodInfo) -> int:
        """Return how many of them a pod uses."""
        return sum(key in self.claims for key in named_claims_of(pod))


_NOTE: Final = Slot[ExclusiveClaims]("VolumeRestrictions")


class VolumeRestrictions(PreFilterPlugin, FilterPlugin):
    """Refuses nodes whose pods have a disk of the pod in use, and any node while another pod has an exclusive claim."""

    name = "VolumeRestrictions"

    def __init__(self, context: Context, arguments: ReadOnlyObject) -> None:
        self._claims = context.caches.of("PersistentVolumeClaim")
        self._in_use = _IN_USE if context.caps.version >= Version(1, 34) else _IN_USE_BEFORE_1_34

    def interests(self) -> Sequence[Interest]:
        """Ask for what frees a disk or claim, brings a claim, or a node."""
        return (
            Interest(Subject.ASSIGNED_POD, Action.DELETE, _frees_volume),
            Interest(Subject.UNSCHEDULED_POD, Action.DELETE, _frees_volume),
            Interest(Subject.NODE, Action.ADD),
            Interest(Subject.PVC, Action.ADD, about_named_claim_of),
        )

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        """Count who uses the pod's exclusive claims; SKIP if nothing of the pod can be in anyone's way."""
        if not pod.spec.get("volumes"):  # hot: many pods
            return PreFiltered(SKIP)
        exclusive = set()
        for key in named_claims_of(pod):
            claim = self._claims.get(key)
            if claim is None:
                return PreFiltered(Status.unresolvable(f'persistentvolumeclaim "{key.name}" not found', claim=str(key)))
            if "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ()):
                exclusive.add(key)
        uses = sum(nodes.claim_users(key.namespace, key.name) > 0 for key in exclusive)
        if not uses and not _disks(pod):
            return PreFiltered(SKIP)
        state.put(_NOTE, ExclusiveClaims(frozenset(exclusive), uses))
        return PreFiltered()

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """Count the pod's uses of the exclusive claims."""
        if (note := state.get(_NOTE)) is not None:
            note.uses += note.used_by(added)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status:
        """Take the pod's uses of the exclusive claims off."""
        if (note := state.get(_NOTE)) is not None:
            note.uses -= note.used_by(removed)
        return SUCCESS

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Refuse while a disk on the node, or an exclusive claim anywhere, is in use."""
        for disk in _disks(pod):
            for other in node.pods.values():
                if _conflicts(disk, _disks(other)):
                    return Status.unschedulable(_DISK, volume=disk["name"], used_by=str(other.key))
        note = state.get(_NOTE)
        if note is not None and note.uses > 0:
            return Status.unschedulable(self._in_use, claims=sorted(map(str, note.claims)))
        return SUCCESS


def _disks(pod: PodInfo) -> tuple[ReadOnlyObject, ...]:
    """Return the pod's inline volumes that cannot be shared at will."""
    return pod.part(VolumeRestrictions, _read_disks)


def _read_disks(pod: PodInfo) -> tuple[ReadOnlyObject, ...]:
    volumes = pod.spec.get("volumes") or ()
    return tuple(volume for volume in volumes if any(source in volume for source in _DISKS))


def _conflicts(volume: ReadOnlyObject, others: Iterable[ReadOnlyObject]) -> bool:
    return any(
        _same_disk(kind, volume[kind], other[kind])
        for other in others
        for kind in _DISKS
        if kind in volume and kind in other
    )


def _same_disk(kind: str, one: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Whether both are the same disk, and one of the two would write it."""
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


def _frees_volume(pod: PodInfo, event: ClusterEvent) -> bool:
    """Whether the pod that is gone had a disk or claim of the pod."""
    gone = event.old or event.new
    if gone is None or gone["metadata"].get("namespace", "") != pod.namespace:
        return False
    other = PodInfo(gone)
    if any(_conflicts(disk, _disks(other)) for disk in _disks(pod)):
        return True
    return not set(named_claims_of(pod)).isdisjoint(named_claims_of(other))
