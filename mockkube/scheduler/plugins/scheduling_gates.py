"""SchedulingGates plugin: keep pods with scheduling gates out of the active queue.

upstream 1.36: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go
"""

from collections.abc import Sequence

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, is_update_of
from mockkube.scheduler.framework.interface import PluginDependencies, PreEnqueuePlugin
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Status


class SchedulingGates(PreEnqueuePlugin):
    """Keeps a pod out of the active queue until its last gate is removed."""

    name = "SchedulingGates"

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        """Accept and ignore arguments."""

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for the removal of the pod's gates."""
        return (ClusterEventWithHint(EventResource.UNSCHEDULED_POD, ActionType.POD_GATES_ELIMINATED, is_update_of),)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Reject a pod with gates."""
        gates = [gate["name"] for gate in pod.spec.get("schedulingGates") or ()]
        if not gates:
            return SUCCESS
        return Status.unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]", gates=gates)
