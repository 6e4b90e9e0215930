"""Implementation of the handle through which the plugins of one profile use the scheduler."""

from collections.abc import Sequence
from dataclasses import replace

from mockkube.client.events import NORMAL
from mockkube.client.series_recorder import SeriesRecorder
from mockkube.scheduler.framework.interface import CycleState, FilterPlugin, PluginDependencies
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.signatures import sign_pod
from mockkube.scheduler.framework.status import Status
from mockkube.scheduler.preemption.executor import PreemptionExecutor
from mockkube.scheduler.profile.framework import Framework, PluginError
from mockkube.scheduler.queue.nominator import Nominator


class FrameworkHandle:
    """Handle of one profile.

    Plugins are built with it before the framework exists, so its attributes are set afterwards.
    """

    def __init__(self) -> None:
        self.framework: Framework | None = None
        # None where preemption is only evaluated and no pod is evicted.
        self.preemption_executor: PreemptionExecutor | None = None
        # None where no events are recorded.
        self.recorder: SeriesRecorder | None = None

    def with_handle(self, dependencies: PluginDependencies) -> PluginDependencies:
        """Return the dependencies of plugins with this handle set."""
        return replace(dependencies, handle=self)

    def filters(self, state: CycleState) -> Sequence[FilterPlugin]:
        """Return the filters that run in this cycle, in order."""
        return [one for one in self._framework.profile.filters if one.name not in state.skip_filter]

    def run_filters_with_nominated_pods(
        self, state: CycleState, pod: PodInfo, node: NodeInfo, filters: Sequence[FilterPlugin] | None = None
    ) -> Status:
        """Run filters, or all, for a node, with and without the pods nominated to it."""
        try:
            return self._framework.run_filters_with_nominated_pods(state, pod, node, filters)
        except PluginError as error:
            return Status.error(str(error))

    def run_add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Add another pod to a cloned node; raise ValueError when a plugin fails."""
        self._framework.run_add_pod(state, pod, added, node)

    def run_remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Remove another pod from a cloned node; raise ValueError when a plugin fails."""
        self._framework.run_remove_pod(state, pod, removed, node)

    def equivalence_key(self, state: CycleState, pod: PodInfo) -> object:
        """Return a key that is equal for pods to which filters of scope NODE and LOAD respond alike."""
        return sign_pod(pod), frozenset(state.skip_filter)

    def nominator(self) -> Nominator:
        """Return the pods that are nominated to nodes."""
        return self._framework.nominator

    def record_event(self, pod: PodInfo, reason: str, note: str) -> None:
        """Record a normal event about a pod that is being scheduled."""
        if self.recorder is not None:
            profile = self._framework.profile.name
            self.recorder.record(pod.obj, NORMAL, reason, note, action="Scheduling", controller=profile)

    def is_running_preemption(self, uid: str) -> bool:
        """Return whether pods are being evicted for this one now."""
        return self.preemption_executor is not None and self.preemption_executor.is_running_preemption(uid)

    def has_pending_victims(self, uid: str) -> bool:
        """Return whether more than one victim of the pod is still to be evicted."""
        return self.preemption_executor is not None and self.preemption_executor.has_pending_victims(uid)

    @property
    def _framework(self) -> Framework:
        assert self.framework is not None, "plugins run only after the framework is set"
        return self.framework
