"""Queueing hints of VolumeBinding.

upstream 1.36: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go (EventsToRegister)
"""

from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.matching.csi_migration import MIGRATED_PLUGINS
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.volume_binding.provisioning import max_volume_size
from mockkube.scheduler.plugins.volumes.pod_claims import concerns_claim_of


def _is_schedulable_after_storage_class_change(pod: PodInfo, event: ClusterEvent) -> bool:
    assert event.new is not None, "not registered for deletions"
    return event.old is None or event.old.get("allowedTopologies") != event.new.get("allowedTopologies")


def _is_schedulable_after_csi_node_change(pod: PodInfo, event: ClusterEvent) -> bool:
    return event.old is None or _migrated_plugins(event.old) != _migrated_plugins(event.new)


def _migrated_plugins(csi_node: ReadOnlyObject | None) -> str:
    annotations = {} if csi_node is None else csi_node["metadata"].get("annotations") or {}
    plugins: str = annotations.get(MIGRATED_PLUGINS, "")
    return plugins


def _is_schedulable_after_csi_driver_change(pod: PodInfo, event: ClusterEvent) -> bool:
    """Return whether a driver of one of the pod's inline volumes stops publishing capacities."""
    if event.old is None or event.new is None:
        return False
    if not event.old["spec"].get("storageCapacity") or event.new["spec"].get("storageCapacity"):
        return False
    name = event.new["metadata"]["name"]
    volumes = pod.spec.get("volumes") or ()
    return any((volume.get("csi") or {}).get("driver") == name for volume in volumes)


def _is_schedulable_after_capacity_change(pod: PodInfo, event: ClusterEvent) -> bool:
    assert event.new is not None, "not registered for deletions"
    # upstream: more capacity may help any pod, whether it uses this class or not.
    if event.old is None:
        return True
    before, after = max_volume_size(event.old), max_volume_size(event.new)
    return after is not None and (before is None or after > before)


_ADD_OR_UPDATE: Final = ActionType.ADD | ActionType.UPDATE
EVENTS: Final = (
    ClusterEventWithHint(EventResource.STORAGE_CLASS, _ADD_OR_UPDATE, _is_schedulable_after_storage_class_change),
    ClusterEventWithHint(EventResource.PVC, _ADD_OR_UPDATE, concerns_claim_of),
    ClusterEventWithHint(EventResource.PV, _ADD_OR_UPDATE),
    ClusterEventWithHint(EventResource.NODE, ActionType.ADD | ActionType.NODE_LABEL),
    ClusterEventWithHint(EventResource.CSI_NODE, _ADD_OR_UPDATE, _is_schedulable_after_csi_node_change),
    ClusterEventWithHint(EventResource.CSI_DRIVER, ActionType.UPDATE, _is_schedulable_after_csi_driver_change),
    ClusterEventWithHint(EventResource.CSI_CAPACITY, _ADD_OR_UPDATE, _is_schedulable_after_capacity_change),
)
