"""Implementation of the handle through which the plugins of one profile use the scheduler."""

from collections.abc import Sequence
from dataclasses import replace

from mockkube.client.events import NORMAL
from mockkube.client.series import SeriesRecorder
from mockkube.scheduler.framework.interface import Context, CycleState, FilterPlugin
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.runtime import Framework, PluginError
from mockkube.scheduler.framework.status import Status
from mockkube.scheduler.nominator import Nominator
from mockkube.scheduler.preemption.executor import Evictions
from mockkube.scheduler.signatures import signature


class FrameworkHandle:
    """Handle of one profile.

    Plugins are built with it before the framework exists, so its attributes are set afterwards.
    """

    def __init__(self) -> None:
        self.points: Framework | None = None
        # None where preemption is only evaluated and no pod is evicted.
        self.evictions: Evictions | None = None
        # None where no events are recorded.
        self.recorder: SeriesRecorder | None = None

    def given(self, context: Context) -> Context:
        """Return the dependencies of plugins with this handle set."""
        return replace(context, handle=self)

    def filters(self, state: CycleState) -> Sequence[FilterPlugin]:
        """Return the filters that run in this cycle, in order."""
        return [one for one in self._framework.profile.filters if one.name not in state.skip_filter]

    def fits(
        self, state: CycleState, pod: PodInfo, node: NodeInfo, filters: Sequence[FilterPlugin] | None = None
    ) -> Status:
        """Run filters, or all, for a node, with and without the pods nominated to it."""
        try:
            return self._framework.run_filters_with_nominated_pods(state, pod, node, filters)
        except PluginError as error:
            return Status.error(str(error))

    def put(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Add another pod to a cloned node; raise ValueError when a plugin fails."""
        self._framework.put(state, pod, added, node)

    def take(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Remove another pod from a cloned node; raise ValueError when a plugin fails."""
        self._framework.take(state, pod, removed, node)

    def alike(self, state: CycleState, pod: PodInfo) -> object:
        """Return a key that is equal for pods to which filters of scope NODE and LOAD respond alike."""
        return signature(pod), frozenset(state.skip_filter)

    def nominations(self) -> Nominator:
        """Return the pods that are nominated to nodes."""
        return self._framework.nominations

    def tell(self, pod: PodInfo, reason: str, note: str) -> None:
        """Record a normal event about a pod that is being scheduled."""
        if self.recorder is not None:
            profile = self._framework.profile.name
            self.recorder.record(pod.obj, NORMAL, reason, note, action="Scheduling", controller=profile)

    def is_running_preemption(self, uid: str) -> bool:
        """Return whether pods are being evicted for this one now."""
        return self.evictions is not None and self.evictions.is_running_preemption(uid)

    def has_pending_victims(self, uid: str) -> bool:
        """Return whether more than one victim of the pod is still to be evicted."""
        return self.evictions is not None and self.evictions.has_pending_victims(uid)

    @property
    def _framework(self) -> Framework:
        assert self.points is not None, "plugins run only after the framework is set"
        return self.points
