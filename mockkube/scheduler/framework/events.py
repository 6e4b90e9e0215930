"""What happens in a cluster that may help a pod that was refused, and which plugin wants to hear of it.

upstream 1.36: staging/src/k8s.io/kube-scheduler/framework/types.go
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from typing import TYPE_CHECKING

from mockkube.api.types import ReadOnlyObject

if TYPE_CHECKING:
    from mockkube.scheduler.framework.pod_info import PodInfo


class Subject(StrEnum):
    """What changed."""

    NODE = "Node"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnschedulablePod"
    """The waiting pod itself, or another one without a node."""
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
    DEVICE_TAINT_RULE = "DeviceTaintRule"
    """Not every server has any: who is interested says so by name."""
    NAMESPACE = "Namespace"
    WILDCARD = "*"
    """Anything: pods are moved without asking."""


class Action(Flag):
    """How it changed."""

    ADD = auto()
    DELETE = auto()
    UPDATE = auto()
    """Any update, for subjects whose updates are not told apart."""
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
    """Something that happened. `old` is None for what is new, `new` for what is gone."""

    subject: Subject
    action: Action
    old: ReadOnlyObject | None = None
    new: ReadOnlyObject | None = None
    label: str = ""
    """How metrics call it, when not by subject and action (`UnschedulableTimeout`, `ForceActivate`)."""


Hint = Callable[["PodInfo", ClusterEvent], bool]
"""Whether the event may have made the pod schedulable, as far as the asking plugin is concerned."""


def is_about(pod: "PodInfo", event: ClusterEvent) -> bool:
    """Whether the pod itself has changed; a hint for those that wait for nothing else."""
    return event.new is not None and event.new["metadata"].get("uid") == pod.uid


@dataclass(frozen=True, slots=True)
class Interest:
    """Which events a plugin wants its refused pods to be reconsidered for; without a hint: each of them."""

    subject: Subject
    actions: Action
    hint: Hint | None = None
