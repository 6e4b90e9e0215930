"""VolumeZone plugin: filter nodes outside the zones of the pod's bound volumes.

upstream 1.36: pkg/scheduler/framework/plugins/volumezone/volume_zone.go
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.volumes import storage_class_of
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
from mockkube.scheduler.plugins.volumes.pod_claims import (
    concerns_named_claim_of,
    has_volume_claims,
    named_volume_claims,
)

_NO_ZONE: Final = "node(s) had no available volume zone"
_BETA: Final = "failure-domain.beta.kubernetes.io"
_GA: Final = "topology.kubernetes.io"
_KEYS: Final = (f"{_BETA}/zone", f"{_BETA}/region", f"{_GA}/zone", f"{_GA}/region")


@dataclass(frozen=True, slots=True)
class VolumeTopology:
    """Topology label of a volume with the values that it allows."""

    volume: str
    key: str
    values: frozenset[str]

    def matches_node(self, node: NodeInfo) -> bool:
        """Return whether the node has one of the values; a beta label is also compared with the node's GA label."""
        value = node.labels.get(self.key)
        if value is None:
            value = node.labels.get(self.key.replace(_BETA, _GA))
        return value in self.values


_STATE: Final = StateKey[Sequence[VolumeTopology]]("VolumeZone")


class VolumeZone(PreFilterPlugin, FilterPlugin):
    """Filters nodes outside the zones of a bound volume; nodes without zone labels pass."""

    name = "VolumeZone"

    def __init__(self, dependencies: PluginDependencies, arguments: ReadOnlyObject) -> None:
        self._claims = dependencies.informers.informer_for("PersistentVolumeClaim")
        self._volumes = dependencies.informers.informer_for("PersistentVolume")
        self._classes = dependencies.informers.informer_for("StorageClass")

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for new and changed volumes, claims and nodes, and for new classes."""
        return (
            ClusterEventWithHint(EventResource.STORAGE_CLASS, ActionType.ADD, _is_schedulable_after_class_added),
            ClusterEventWithHint(EventResource.NODE, ActionType.ADD | ActionType.NODE_LABEL),
            ClusterEventWithHint(EventResource.PVC, ActionType.ADD | ActionType.UPDATE, concerns_named_claim_of),
            ClusterEventWithHint(
                EventResource.PV, ActionType.ADD | ActionType.UPDATE, _is_schedulable_after_volume_change
            ),
        )

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Collect the topology labels of the pod's bound volumes; skip pods without any."""
        all_topologies: list[VolumeTopology] = []
        for key in named_volume_claims(pod):
            topologies = self._topologies_of_claim(key)
            if isinstance(topologies, Status):
                return PreFilterResult(topologies)
            all_topologies += topologies
        if not all_topologies:
            return PreFilterResult(SKIP)
        state.put(_STATE, all_topologies)
        return PreFilterResult()

    def skips_pre_filter(self, spec: ReadOnlyObject) -> bool:
        """Return whether the pod has no claims."""
        return not has_volume_claims(spec)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Reject a node that has zone labels, but not those of the volumes."""
        if not any(key in node.labels for key in _KEYS):
            return SUCCESS
        for place in state.get(_STATE) or ():
            if not place.matches_node(node):
                return Status.unresolvable(_NO_ZONE, volume=place.volume, key=place.key, values=sorted(place.values))
        return SUCCESS

    def _topologies_of_claim(self, key: Key) -> list[VolumeTopology] | Status:
        if not key.name:
            return Status.unresolvable("PersistentVolumeClaim had no name")
        claim = self._claims.get(key)
        if claim is None:
            return Status.unresolvable(f'persistentvolumeclaim "{key.name}" not found', claim=str(key))
        volume_name = claim["spec"].get("volumeName", "")
        if not volume_name:
            return self._topologies_of_unbound_claim(claim)
        volume = self._volumes.get(Key("", volume_name))
        if volume is None:
            return Status.unresolvable(f'persistentvolume "{volume_name}" not found', claim=str(key))
        return volume_topologies(volume)

    def _topologies_of_unbound_claim(self, claim: ReadOnlyObject) -> list[VolumeTopology] | Status:
        """Return nothing for a claim that is bound together with the pod's node, or the error."""
        name = storage_class_of(claim)
        if not name:
            return Status.unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
        storage_class = self._classes.get(Key("", name))
        if storage_class is None:
            return Status.unresolvable(f'storageclass.storage.k8s.io "{name}" not found')
        mode = storage_class.get("volumeBindingMode")
        if mode is None:
            return Status.unresolvable(f'VolumeBindingMode not set for StorageClass "{name}"')
        return [] if mode == "WaitForFirstConsumer" else Status.unresolvable("PersistentVolume had no name")


def volume_topologies(volume: ReadOnlyObject) -> list[VolumeTopology]:
    """Return the topology labels of a volume; a label with an empty zone is ignored."""
    labels = volume["metadata"].get("labels") or {}
    topologies = []
    for key in _KEYS:
        if key in labels:
            # A regional volume lists its zones in one label, joined by two underscores.
            values = frozenset(value.strip() for value in labels[key].split("__"))
            if "" not in values:
                topologies.append(VolumeTopology(volume["metadata"]["name"], key, values))
    return topologies


def _is_schedulable_after_class_added(pod: PodInfo, event: ClusterEvent) -> bool:
    return event.new is not None and event.new.get("volumeBindingMode") == "WaitForFirstConsumer"


def _is_schedulable_after_volume_change(pod: PodInfo, event: ClusterEvent) -> bool:
    """Return whether a volume is new or its topology labels changed."""
    assert event.new is not None, "not registered for deletions"
    return event.old is None or volume_topologies(event.old) != volume_topologies(event.new)
