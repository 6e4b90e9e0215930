"""Cluster events that an update of a pod or node amounts to.

upstream 1.36: pkg/scheduler/framework/events.go
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator

_RESIZE_STATUS_FIELDS: Final = ("containerStatuses", "initContainerStatuses", "resources", "allocatedResources")
_CLAIM_STATUS_FIELDS: Final = ("resourceClaimStatuses", "extendedResourceClaimStatus")


def pod_scheduling_properties_change(
    resource: EventResource, old: PodInfo, new: PodInfo, requests: PodRequestCalculator, caps: Capabilities
) -> list[ClusterEvent]:
    """Return an event for each scheduling property of the pod that changed; a plain update if none did."""
    actions = []
    if old.labels != new.labels:
        actions.append(ActionType.POD_LABEL)
    if _is_scaled_down(old, new, requests):
        actions.append(ActionType.POD_SCALE_DOWN)
    if old.spec.get("schedulingGates") and not new.spec.get("schedulingGates"):
        actions.append(ActionType.POD_GATES_ELIMINATED)
    # upstream: tolerations can only be added, so that comparing lengths is enough.
    if len(old.spec.get("tolerations") or ()) != len(new.spec.get("tolerations") or ()):
        actions.append(ActionType.POD_TOLERATION)
    if caps.enabled("DynamicResourceAllocation") and _select_fields(old.status, _CLAIM_STATUS_FIELDS) != _select_fields(
        new.status, _CLAIM_STATUS_FIELDS
    ):
        actions.append(ActionType.POD_GENERATED_CLAIM)
    return [ClusterEvent(resource, action, old.obj, new.obj) for action in actions or (ActionType.UPDATE,)]


def _is_scaled_down(old: PodInfo, new: PodInfo, requests: PodRequestCalculator) -> bool:
    # Comparing the fields that requests depend on is much cheaper than computing both requests.
    if old.spec == new.spec and _select_fields(old.status, _RESIZE_STATUS_FIELDS) == _select_fields(
        new.status, _RESIZE_STATUS_FIELDS
    ):
        return False
    before, after = requests.read(old).total, requests.read(new).total
    names = ("cpu", "memory", "ephemeral-storage", *before.scalars)
    return any(before.get_amount(name) > after.get_amount(name) for name in names)


def _select_fields(obj: ReadOnlyObject, names: Iterable[str]) -> list[object]:
    return [obj.get(name) for name in names]


def node_scheduling_properties_change(
    old: ReadOnlyObject, new: ReadOnlyObject, caps: Capabilities
) -> list[ClusterEvent]:
    """Return an event for each scheduling property of the node that changed; none if none did."""
    # Upstream treats uncordoning like the removal of a taint.
    actions = [ActionType.NODE_TAINT] if _is_uncordoned(old, new) else []
    actions += [action for action, read in _NODE_PROPERTIES if read(old) != read(new)]
    if caps.enabled("NodeDeclaredFeatures") and _declared_features(old) != _declared_features(new):
        actions.append(ActionType.NODE_DECLARED_FEATURE)
    return [ClusterEvent(EventResource.NODE, action, old, new) for action in actions]


def _is_uncordoned(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    return bool(_spec(old).get("unschedulable")) and not _spec(new).get("unschedulable")


def _spec(node: ReadOnlyObject) -> ReadOnlyObject:
    spec: ReadOnlyObject = node.get("spec") or {}
    return spec


def _status(node: ReadOnlyObject) -> ReadOnlyObject:
    status: ReadOnlyObject = node.get("status") or {}
    return status


def _declared_features(node: ReadOnlyObject) -> list[str]:
    return list(_status(node).get("declaredFeatures") or ())


def _conditions(node: ReadOnlyObject) -> dict[str, str]:
    return {one.get("type", ""): one.get("status", "") for one in _status(node).get("conditions") or ()}


_NODE_PROPERTIES: Final[Sequence[tuple[ActionType, Callable[[ReadOnlyObject], object]]]] = (
    (ActionType.NODE_ALLOCATABLE, lambda node: _status(node).get("allocatable") or {}),
    (ActionType.NODE_LABEL, lambda node: node["metadata"].get("labels") or {}),
    (ActionType.NODE_TAINT, lambda node: _spec(node).get("taints") or []),
    (ActionType.NODE_CONDITION, _conditions),
    (ActionType.NODE_ANNOTATION, lambda node: node["metadata"].get("annotations") or {}),
)
