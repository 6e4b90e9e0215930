"""Cluster events that may make a rejected pod schedulable, and the registration of plugins for them.

upstream 1.36: staging/src/k8s.io/kube-scheduler/framework/types.go
"""

from collections.abc import Callable
from enum import Flag, StrEnum, auto
from typing import TYPE_CHECKING

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.scheduler.framework.pod_info import PodInfo


class EventResource(StrEnum):
    """Resource that changed."""

    NODE = "Node"
    ASSIGNED_POD = "AssignedPod"
    # The waiting pod itself, or another one without a node.
    UNSCHEDULED_POD = "UnschedulablePod"
    PVC = "PersistentVolumeClaim"
    PV = "PersistentVolume"
    STORAGE_CLASS = "StorageClass"
    CSI_NODE = "CSINode"
    CSI_DRIVER = "CSIDriver"
    CSI_CAPACITY = "CSIStorageCapacity"
    VOLUME_ATTACHMENT = "VolumeAttachment"
    RESOURCE_CLAIM = "ResourceClaim"
    RESOURCE_SLICE = "ResourceSlice"
    DEVICE_CLASS = "DeviceClass"
    # Older servers do not serve this kind, so that WILDCARD does not include it: plugins that want it name it.
    DEVICE_TAINT_RULE = "DeviceTaintRule"
    NAMESPACE = "Namespace"
    # Any resource: pods are moved without asking queueing hints.
    WILDCARD = "*"


class ActionType(Flag):
    """Kind of change of a resource."""

    ADD = auto()
    DELETE = auto()
    # Any update, for resources whose updates are not distinguished.
    UPDATE = auto()
    NODE_ALLOCATABLE = auto()
    NODE_LABEL = auto()
    NODE_TAINT = auto()
    NODE_CONDITION = auto()
    NODE_ANNOTATION = auto()
    NODE_DECLARED_FEATURE = auto()
    POD_LABEL = auto()
    POD_SCALE_DOWN = auto()
    POD_TOLERATION = auto()
    POD_GATES_ELIMINATED = auto()
    POD_GENERATED_CLAIM = auto()


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """Change in the cluster. `old` is None for a creation, `new` for a deletion."""

    resource: EventResource
    action_type: ActionType
    old: ReadOnlyObject | None = None
    new: ReadOnlyObject | None = None
    label: str = ""
    """Label in metrics, where it is not resource and action (`UnschedulableTimeout`, `ForceActivate`)."""


QueueingHintFn = Callable[["PodInfo", ClusterEvent], bool]
"""Returns whether an event may have made a pod schedulable, as far as one plugin is concerned."""


def is_update_of(pod: "PodInfo", event: ClusterEvent) -> bool:
    """Return whether the event is an update of the pod itself."""
    return event.new is not None and event.new["metadata"].get("uid") == pod.uid


@dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """Event that a plugin registers for, with an optional hint.

    Without a hint each such event requeues the pods that the plugin rejected.
    """

    resource: EventResource
    action_types: ActionType
    hint: QueueingHintFn | None = None
