"""Asking a profile's plugins, extension point by extension point, as a decision goes along.

upstream 1.36: pkg/scheduler/framework/runtime/framework.go
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import ComponentLog
from mockkube.scheduler.configuration.profiles import Profile
from mockkube.scheduler.framework.interface import (
    CycleState,
    FilterPlugin,
    PreFiltered,
    PreFilterPlugin,
    Remedy,
    Verdicts,
)
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.log_buffer import LogBuffer
from mockkube.scheduler.metrics import Metrics
from mockkube.scheduler.nominator import Nominations
from mockkube.scheduler.snapshot import Picture

T = TypeVar("T")
PRE_FILTER: Final = "PreFilter"
FILTER: Final = "Filter"
POST_FILTER: Final = "PostFilter"
PRE_SCORE: Final = "PreScore"
SCORE: Final = "Score"
RESERVE: Final = "Reserve"
PERMIT: Final = "Permit"


class PluginFailed(ValueError):
    """A plugin could not answer: the attempt is over."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the pre-filters left: all nodes (None) or some, by whom; or the refusal of all."""

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None
    narrowed_by: tuple[str, ...] = ()


class Points:
    """The extension points of one profile, asked about the nodes of one picture."""

    def __init__(
        self,
        profile: Profile,
        picture: Picture,
        nominations: Nominations,
        clock: Clock,
        metrics: Metrics,
        log: LogBuffer | None = None,
    ) -> None:
        self.log = log or LogBuffer(ComponentLog(), clock)
        """What plugins log while they are asked."""
        self.profile, self.picture, self.nominations = profile, picture, nominations
        self._clock, self._metrics = clock, metrics
        self._supposing = [one for one in profile.pre_filters if _supposes(one)]

    # Before nodes are looked at

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Candidates:
        """Let plugins look at the pod; the nodes that all of them leave. Raises PluginFailed."""
        start = self._clock.monotonic()
        candidates = self._pre_filter(state, pod)
        self.measure(PRE_FILTER, candidates.status.code, start)
        return candidates

    def _pre_filter(self, state: CycleState, pod: PodInfo) -> Candidates:
        names: frozenset[str] | None = None
        narrowed_by: list[str] = []
        refusal = SUCCESS
        for plugin in self.profile.pre_filters:
            found = self._timed(state, PRE_FILTER, plugin.name, plugin.pre_filter, state, pod, self.picture)
            status = found.status
            self.count(PRE_FILTER, plugin.name, status.code)
            match status.code:
                case Code.SUCCESS:
                    pass
                case Code.SKIP:
                    state.skip_filter.add(plugin.name)
                    continue
                case Code.UNSCHEDULABLE:
                    # Evictions may help, and need what the other plugins note.
                    refusal = status.of(plugin.name)
                    continue
                case Code.UNRESOLVABLE:
                    return Candidates(status.of(plugin.name))
                case _:
                    raise PluginFailed(f'running PreFilter plugin "{plugin.name}": {status.message}')
            if found.node_names is not None:
                narrowed_by.append(plugin.name)
                names = found.node_names if names is None else names & found.node_names
                if not names:
                    return Candidates(Status.unresolvable(_nothing_left(narrowed_by)), names, tuple(narrowed_by))
        return Candidates(refusal, names, tuple(sorted(narrowed_by)))

    # One node

    def filter(
        self, state: CycleState, pod: PodInfo, node: NodeInfo, plugins: Sequence[FilterPlugin] | None = None
    ) -> Status:
        """Ask the filters about one node until one refuses. Raises PluginFailed."""
        for plugin in self.profile.filters if plugins is None else plugins:
            if plugin.name in state.skip_filter:
                continue
            status = self.ask(state, plugin, pod, node)
            if not status.ok:
                return status
        return SUCCESS

    def ask(self, state: CycleState, plugin: FilterPlugin, pod: PodInfo, node: NodeInfo) -> Status:
        """Return what one filter says of one node. Raises PluginFailed."""
        if state.timed:
            status = self._timed(state, FILTER, plugin.name, plugin.filter, state, pod, node)
        else:
            status = plugin.filter(state, pod, node)
        return self.checked(plugin, status)

    def judge(self, state: CycleState, plugin: FilterPlugin, pod: PodInfo) -> Callable[[NodeInfo], Status]:
        """Return what asks one filter of any node; what it answers has to be `checked` if it is no success."""
        judge = plugin.judge(state, pod)
        return partial(self._timed_judgement, plugin.name, judge) if state.timed else judge

    def _timed_judgement(self, plugin: str, judge: Callable[[NodeInfo], Status], node: NodeInfo) -> Status:
        start = self._clock.monotonic()
        status = judge(node)
        self._metrics.plugin_seconds.observe(self._clock.monotonic() - start, plugin, FILTER, status.code)
        return status

    def checked(self, plugin: FilterPlugin, status: Status) -> Status:
        """Return a filter's answer as its own. Raises PluginFailed if it is neither yes nor no."""
        if status.code is Code.SUCCESS:
            return status
        if not status.rejected:
            raise PluginFailed(f'running "{plugin.name}" filter plugin: {status.message}')
        return status.of(plugin.name)

    def filter_with_nominated(
        self, state: CycleState, pod: PodInfo, node: NodeInfo, plugins: Sequence[FilterPlugin] | None = None
    ) -> Status:
        """Ask the filters about one node with the pods nominated to it, and then without. Raises PluginFailed.

        Those of lower priority do not count. Both matter: nominated pods take room, and others may want to be near
        them, but it is not sure that they come.
        """
        others = self.yielded_to(pod, node.name)
        if others:
            supposed, crowded = state.clone(), node.clone()
            for other in others:
                self.put(supposed, pod, other, crowded)
            status = self.filter(supposed, pod, crowded, plugins)
            if not status.ok:
                return status
        return self.filter(state, pod, node, plugins)

    def yielded_to(self, pod: PodInfo, node_name: str) -> list[PodInfo]:
        """Return the pods nominated to a node that this one leaves room for."""
        nominated = self.nominations.on(node_name)
        return [one for one in nominated if one.priority >= pod.priority and one.uid != pod.uid]

    # Supposing

    def put(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Suppose that another pod is on a node, a clone. Raises PluginFailed."""
        requests = self.picture.requests_of(added)
        node.add_pod(added, requests.total, requests.nonzero, self.picture.suppose_generation())
        for plugin in self._supposing:
            if plugin.name not in state.skip_filter:
                self._suppose("AddPod", plugin.name, plugin.add_pod(state, pod, added, node))

    def take(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Suppose that another pod is not on a node, a clone. Raises PluginFailed."""
        requests = self.picture.requests_of(removed)
        node.remove_pod(removed.uid, requests.total, requests.nonzero, self.picture.suppose_generation())
        for plugin in self._supposing:
            if plugin.name not in state.skip_filter:
                self._suppose("RemovePod", plugin.name, plugin.remove_pod(state, pod, removed, node))

    def _suppose(self, what: str, plugin: str, status: Status) -> None:
        if not status.ok:
            raise PluginFailed(f'running {what} on PreFilter plugin "{plugin}": {status.message}')

    # After nodes were refused, or chosen

    def post_filter(self, state: CycleState, pod: PodInfo, verdicts: Verdicts) -> Remedy:
        """Ask plugins for a remedy until one has it; what they say otherwise."""
        start = self._clock.monotonic()
        remedy = self._post_filter(state, pod, verdicts)
        self.measure(POST_FILTER, remedy.status.code, start)
        return remedy

    def _post_filter(self, state: CycleState, pod: PodInfo, verdicts: Verdicts) -> Remedy:
        reasons: list[str] = []
        node_name: str | None = None
        for plugin in self.profile.post_filters:
            remedy = self._timed(state, POST_FILTER, plugin.name, plugin.post_filter, state, pod, verdicts)
            if remedy.status.ok or remedy.status.code is Code.UNRESOLVABLE:
                return remedy
            if not remedy.status.rejected:
                return Remedy(Status.error(remedy.status.message))
            node_name = remedy.node_name if remedy.node_name is not None else node_name
            reasons += remedy.status.reasons
        return Remedy(Status.unschedulable(*reasons), node_name)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        """Let plugins look at the feasible nodes. Raises PluginFailed."""
        start = self._clock.monotonic()
        for plugin in self.profile.pre_scores:
            status = self._timed(state, PRE_SCORE, plugin.name, plugin.pre_score, state, pod, nodes)
            self.count(PRE_SCORE, plugin.name, status.code)
            if status.code is Code.SKIP:
                state.skip_score.add(plugin.name)
            elif not status.ok:
                raise PluginFailed(f'running PreScore plugin "{plugin.name}": {status.message}')
        self.measure(PRE_SCORE, Code.SUCCESS, start)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Let plugins take what the node owes the pod, until one cannot."""
        start = self._clock.monotonic()
        status = SUCCESS
        for plugin in self.profile.reserve:
            status = self._timed(state, RESERVE, plugin.name, plugin.reserve, state, pod, node_name)
            if not status.ok:
                break
        self.measure(RESERVE, status.code, start)
        return _judged(status, plugin.name, f'running Reserve plugin "{plugin.name}"') if not status.ok else SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Let plugins give all of it back, the last first."""
        for plugin in reversed(self.profile.reserve):
            plugin.unreserve(state, pod, node_name)

    async def clean_up(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Let plugins undo at the API what they wrote, the last first."""
        for plugin in reversed(self.profile.reserve):
            await plugin.clean_up(state, pod, node_name)

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Return SUCCESS when every plugin lets the pod go on, WAIT when one lets it wait."""
        start = self._clock.monotonic()
        answer = SUCCESS
        for plugin in self.profile.permit:
            status = self._timed(state, PERMIT, plugin.name, plugin.permit, state, pod, node_name)
            if status.code is Code.WAIT:
                answer = status.of(plugin.name)
            elif not status.ok:
                self.measure(PERMIT, status.code, start)
                return _judged(status, plugin.name, f'running Permit plugin "{plugin.name}"')
        self.measure(PERMIT, answer.code, start)
        return answer

    # Measuring

    def now(self) -> float:
        """Return the clock's `monotonic`."""
        return self._clock.monotonic()

    def measure(self, point: str, code: Code, start: float) -> None:
        """Take the time an extension point took."""
        self._metrics.point_seconds.observe(self._clock.monotonic() - start, point, code, self.profile.name)

    def count(self, point: str, plugin: str, code: Code, amount: int = 1) -> None:
        """Count answers of a plugin."""
        self._metrics.evaluations.add(plugin, point, self.profile.name, code, amount=amount)

    def time_plugin(self, point: str, plugin: str, code: Code, seconds: float) -> None:
        """Take the time a plugin took."""
        self._metrics.plugin_seconds.observe(seconds, plugin, point, code)

    def _timed(self, state: CycleState, point: str, plugin: str, call: Callable[..., T], *args: object) -> T:
        if not state.timed:
            return call(*args)
        start = self._clock.monotonic()
        answer = call(*args)
        code = _code_of(answer)
        self.time_plugin(point, plugin, code, self._clock.monotonic() - start)
        return answer


def _supposes(plugin: PreFilterPlugin) -> bool:
    """Whether it is anything to a plugin that pods are supposed to come or go."""
    kind = type(plugin)
    return kind.add_pod is not PreFilterPlugin.add_pod or kind.remove_pod is not PreFilterPlugin.remove_pod


def _code_of(answer: object) -> Code:
    match answer:
        case Status():
            return answer.code
        case PreFiltered() | Remedy():
            return answer.status.code
    return Code.SUCCESS


def _judged(status: Status, plugin: str, doing: str) -> Status:
    return status.of(plugin) if status.rejected else Status.error(f"{doing}: {status.message}")


def _nothing_left(plugins: Iterable[str]) -> str:
    names = sorted(plugins)
    if len(names) == 1:
        return f"node(s) didn't satisfy plugin {names[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(names)}] simultaneously"
