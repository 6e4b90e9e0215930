"""NodeName plugin: filter nodes other than the one in spec.nodeName.

upstream 1.36: pkg/scheduler/framework/plugins/nodename/node_name.go
"""

from collections.abc import Sequence

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import CacheScope, CycleState, FilterPlugin, PluginDependencies
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Status


class NodeName(FilterPlugin):
    """Filters nodes other than the one that the pod names."""

    name = "NodeName"
    filter_scope = CacheScope.NODE

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        """Accept and ignore arguments."""

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for new nodes."""
        return (ClusterEventWithHint(EventResource.NODE, ActionType.ADD),)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Reject a node of another name."""
        wanted = pod.spec.get("nodeName", "")
        if not wanted or wanted == node.name:
            return SUCCESS
        return Status.unresolvable("node(s) didn't match the requested node name", wanted=wanted)
