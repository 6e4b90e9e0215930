"""Simulated placement of pods: the scheduler's plugins on a recorded cluster, with nodes added and removed."""

from collections.abc import Iterable, Sequence
from typing import Self

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.explain.recorded_cluster import RecordedCluster, build_scheduler
from mockkube.features.capabilities import Capabilities
from mockkube.runtime.clock import Clock
from mockkube.scheduler.cycle.scheduling_algorithm import ScheduleResult, SchedulingAlgorithm
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Status
from mockkube.scheduler.profile.framework import PluginError
from mockkube.scheduler.scheduler import Scheduler

_STATUS_FIELDS_KEPT = ("resourceClaimStatuses", "extendedResourceClaimStatus")


class Placement:
    """Cluster in which pods are placed without anything being written."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._cache = next(iter(scheduler.algorithms.values())).framework.cache

    @classmethod
    async def from_recording(
        cls,
        recording: RecordedCluster,
        caps: Capabilities,
        clock: Clock,
        configuration: ReadOnlyObject | None = None,
    ) -> Self:
        """Return the placement of a recorded cluster, decided as by a scheduler of these capabilities."""
        return cls(await build_scheduler(recording, caps, clock, configuration))

    def add_node(self, node: ReadOnlyObject) -> None:
        """Add or replace a node."""
        self._cache.set_node(node)

    def remove_node(self, name: str) -> None:
        """Remove a node; pods on it stay bound to it, and count no more."""
        self._cache.remove_node(name)

    def remove_pod(self, pod: ReadOnlyObject) -> None:
        """Remove a pod from its node."""
        self._cache.remove_pod(pod["metadata"]["uid"])

    def restore_pod(self, pod: ReadOnlyObject) -> None:
        """Add a pod that was removed to its node again."""
        self._cache.add_pod(PodInfo(pod))

    def put(self, pod: ReadOnlyObject, node: str) -> None:
        """Let a pod count on a node."""
        self._cache.assume_pod(read_unbound_pod(pod), node)

    def forget(self, pods: Iterable[ReadOnlyObject]) -> None:
        """Let pods that were placed here no longer count."""
        for pod in pods:
            self._cache.forget_pod(pod["metadata"]["uid"])

    def place(self, pod: ReadOnlyObject, nodes: Sequence[str] | None = None) -> str:
        """Place a pod on the node that the scheduler would choose, or the first that fits of `nodes`; "" if none."""
        info = read_unbound_pod(pod)
        algorithm = self._find_algorithm(info)
        if algorithm is None:
            return ""
        if nodes is None:
            decision = algorithm.schedule_pod(algorithm.new_cycle_state(), info)
            chosen = decision.node_name if isinstance(decision, ScheduleResult) else ""
        else:
            chosen = next((node for node in nodes if self.check(pod, node).is_success), "")
        if chosen:
            self._cache.assume_pod(info, chosen)
        return chosen

    def check(self, pod: ReadOnlyObject, node_name: str) -> Status:
        """Return whether a pod fits on a node, and why not."""
        info = read_unbound_pod(pod)
        algorithm, node = self._find_algorithm(info), self._cache.get(node_name)
        if algorithm is None or node is None:
            return Status.unschedulable("no profile of the scheduler is responsible for the pod")
        framework, state = algorithm.framework, algorithm.new_cycle_state()
        try:
            candidates = framework.run_pre_filters(state, info)
            if not candidates.status.is_success:
                return candidates.status
            if candidates.node_names is not None and node_name not in candidates.node_names:
                return Status.unschedulable("node(s) didn't satisfy the plugins that narrow the nodes down")
            return framework.run_filters_with_nominated_pods(state, info, node)
        except PluginError as error:
            return Status.error(str(error))

    def _find_algorithm(self, pod: PodInfo) -> SchedulingAlgorithm | None:
        return self._scheduler.algorithms.get(pod.scheduler_name)


def read_unbound_pod(pod: ReadOnlyObject) -> PodInfo:
    """Return a pod as if it were scheduled for the first time."""
    spec = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
    status = {name: value for name, value in (pod.get("status") or {}).items() if name in _STATUS_FIELDS_KEPT}
    return PodInfo({**pod, "spec": spec, "status": status})
