"""NodeUnschedulable plugin: filter cordoned nodes.

upstream 1.36: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.matching.taints import compile_tolerations
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import CacheScope, CycleState, FilterPlugin, PluginDependencies
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Status

# Taint that a pod must tolerate to run on a cordoned node.
UNSCHEDULABLE_TAINT: Final[ReadOnlyObject] = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


class NodeUnschedulable(FilterPlugin):
    """Filters nodes with spec.unschedulable, unless the pod tolerates the taint of the same meaning."""

    name = "NodeUnschedulable"
    filter_scope = CacheScope.NODE

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        self._rules = dependencies.taints

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for new and uncordoned nodes, and for new tolerations of the pod."""
        return (
            ClusterEventWithHint(
                EventResource.NODE, ActionType.ADD | ActionType.NODE_TAINT, _is_schedulable_after_node_change
            ),
            ClusterEventWithHint(
                EventResource.UNSCHEDULED_POD, ActionType.POD_TOLERATION, self._is_schedulable_after_toleration_change
            ),
        )

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Reject a cordoned node."""
        if not node.unschedulable or pod.derive(self, self._tolerates_cordon):
            return SUCCESS
        return Status.unresolvable("node(s) were unschedulable", cordoned=True)

    def _tolerates_cordon(self, pod: PodInfo) -> bool:
        tolerations = compile_tolerations(pod.spec.get("tolerations") or (), self._rules)
        return any(toleration.tolerates(UNSCHEDULABLE_TAINT) for toleration in tolerations)

    def _is_schedulable_after_toleration_change(self, pod: PodInfo, event: ClusterEvent) -> bool:
        if event.new is None or event.new["metadata"].get("uid") != pod.uid:
            return False
        return self._tolerates_cordon(PodInfo(event.new))


def _is_schedulable_after_node_change(pod: PodInfo, event: ClusterEvent) -> bool:
    if event.new is None or event.new["spec"].get("unschedulable"):
        return False
    return event.old is None or bool(event.old["spec"].get("unschedulable"))
