"""What the scheduler does for the plugins of one profile: it is built after them, so it is given afterwards."""

from collections.abc import Sequence
from dataclasses import replace

from mockkube.client.events import NORMAL
from mockkube.client.series import SeriesRecorder
from mockkube.scheduler.framework.interface import Context, CycleState, FilterPlugin
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.runtime import PluginFailed, Points
from mockkube.scheduler.framework.status import Status
from mockkube.scheduler.nominator import Nominations
from mockkube.scheduler.preemption.executor import Evictions
from mockkube.scheduler.signatures import signature


class ProfileHandle:
    """The `Handle` of one profile; whoever assembles it sets what it works with."""

    def __init__(self) -> None:
        self.points: Points | None = None
        self.evictions: Evictions | None = None
        """None where nobody is ever evicted, only supposed to be."""
        self.recorder: SeriesRecorder | None = None
        """None where nobody is told of anything."""

    def given(self, context: Context) -> Context:
        """Return the context of plugins with this handle."""
        return replace(context, handle=self)

    def filters(self, state: CycleState) -> Sequence[FilterPlugin]:
        """Return the filters that are asked in this cycle, in order."""
        return [one for one in self._points.profile.filters if one.name not in state.skip_filter]

    def fits(
        self, state: CycleState, pod: PodInfo, node: NodeInfo, filters: Sequence[FilterPlugin] | None = None
    ) -> Status:
        """Ask filters, or all, about a node, also with the pods that are nominated to it and matter as much."""
        try:
            return self._points.filter_with_nominated(state, pod, node, filters)
        except PluginFailed as error:
            return Status.error(str(error))

    def put(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Suppose that another pod is on a node, a clone; raises ValueError when a plugin cannot."""
        self._points.put(state, pod, added, node)

    def take(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Suppose that another pod is not on a node, a clone; raises ValueError when a plugin cannot."""
        self._points.take(state, pod, removed, node)

    def alike(self, state: CycleState, pod: PodInfo) -> object:
        """Return what this pod shares with all of which filters that judge each node by itself say the same."""
        return signature(pod), frozenset(state.skip_filter)

    def nominations(self) -> Nominations:
        """Return which pods are nominated to which nodes."""
        return self._points.nominations

    def tell(self, pod: PodInfo, reason: str, note: str) -> None:
        """Record an event about a pod that is being scheduled: nothing is wrong with it."""
        if self.recorder is not None:
            profile = self._points.profile.name
            self.recorder.record(pod.obj, NORMAL, reason, note, action="Scheduling", controller=profile)

    def preempting(self, uid: str) -> bool:
        """Whether pods are being evicted for this one right now."""
        return self.evictions is not None and self.evictions.preempting(uid)

    def has_victims(self, uid: str) -> bool:
        """Whether not all but one of the victims of a pod have been evicted; the queue is told when that changes."""
        return self.evictions is not None and self.evictions.has_victims(uid)

    @property
    def _points(self) -> Points:
        assert self.points is not None, "plugins are asked only once all is assembled"
        return self.points
