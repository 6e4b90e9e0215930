"""Framework: runs the plugins of a profile, extension point by extension point.

upstream 1.36: pkg/scheduler/framework/runtime/framework.go
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import ComponentLog
from mockkube.scheduler.framework.cache import Cache
from mockkube.scheduler.framework.interface import (
    CycleState,
    FilterPlugin,
    NodeToStatus,
    Plugin,
    PostFilterResult,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
)
from mockkube.scheduler.framework.log_buffer import LogBuffer
from mockkube.scheduler.framework.metrics import Labels, SchedulerMetrics
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.profile.profiles import Profile
from mockkube.scheduler.queue.nominator import Nominator

T = TypeVar("T")
P = TypeVar("P", bound=Plugin)
# Plugins of an extension point; those whose code follows from the spec have the labels with which it is counted.
_Plan = Sequence[tuple[P, Labels | None]]
PRE_FILTER: Final = "PreFilter"
FILTER: Final = "Filter"
POST_FILTER: Final = "PostFilter"
PRE_SCORE: Final = "PreScore"
SCORE: Final = "Score"
RESERVE: Final = "Reserve"
PERMIT: Final = "Permit"


class PluginError(ValueError):
    """Error of a plugin that ends the scheduling attempt."""


@dataclass(frozen=True, slots=True)
class CombinedPreFilterResult:
    """Combined result of all PreFilter plugins.

    It holds the nodes that remain (None: all) and the plugins that reduced them, or a rejection.
    """

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None
    reduced_by: tuple[str, ...] = ()


class Framework:
    """Plugins of one profile, run on the nodes of the cache."""

    def __init__(
        self,
        profile: Profile,
        cache: Cache,
        nominator: Nominator,
        clock: Clock,
        metrics: SchedulerMetrics,
        log: LogBuffer | None = None,
    ) -> None:
        # Collects what plugins log.
        self.log = log or LogBuffer(ComponentLog(), clock)
        self.profile, self.cache, self.nominator = profile, cache, nominator
        # Returns the clock's current `monotonic`.
        self.now = clock.monotonic
        self._metrics, self._evaluations = metrics, metrics.plugin_evaluations.values
        self._observe_extension_point = metrics.extension_point_seconds.observe
        # Most PreFilter plugins keep nothing that pods change; a dry run with many victims calls only the others.
        self._stateful_pre_filters = [one for one in profile.pre_filters if _has_pre_filter_extensions(one)]

    # PreFilter

    def run_pre_filters(self, state: CycleState, pod: PodInfo) -> CombinedPreFilterResult:
        """Run PreFilter plugins; return the nodes that all of them leave. Raises PluginError."""
        start = self.now()
        result = self._run_pre_filters(state, pod)
        self.observe_extension_point(PRE_FILTER, result.status.code, start)
        return result

    def _run_pre_filters(self, state: CycleState, pod: PodInfo) -> CombinedPreFilterResult:
        names: frozenset[str] | None = None
        narrowed_by: list[str] = []
        status_so_far = SUCCESS
        plan = pod.derive_from_spec(self._plan_pre_filters, self._plan_pre_filters)
        for plugin, labels in plan:
            # As upstream, each plugin is timed in the sampled cycles, so there all are called.
            if labels is not None and not state.record_plugin_metrics:
                self._count_known(labels, plugin, state.skip_filter)
                continue
            result = self._call_plugin(state, PRE_FILTER, plugin.name, plugin.pre_filter, state, pod, self.cache)
            status = result.status
            self.count_evaluations(PRE_FILTER, plugin.name, status.code)
            match status.code:
                case Code.SUCCESS:
                    pass
                case Code.SKIP:
                    state.skip_filter.add(plugin.name)
                    continue
                case Code.UNSCHEDULABLE:
                    # Preemption may help, and needs the state that the other plugins store.
                    status_so_far = status.with_plugin(plugin.name)
                    continue
                case Code.UNRESOLVABLE:
                    return CombinedPreFilterResult(status.with_plugin(plugin.name))
                case _:
                    raise PluginError(f'running PreFilter plugin "{plugin.name}": {status.message}')
            if result.node_names is not None:
                narrowed_by.append(plugin.name)
                names = result.node_names if names is None else names & result.node_names
                if not names:
                    return CombinedPreFilterResult(
                        Status.unresolvable(_no_nodes_left_message(narrowed_by)), names, tuple(narrowed_by)
                    )
        return CombinedPreFilterResult(status_so_far, names, tuple(sorted(narrowed_by)))

    def _plan_pre_filters(self, spec: ReadOnlyObject) -> _Plan[PreFilterPlugin]:
        return [
            (one, self._known_labels(PRE_FILTER, one, Code.SKIP if one.skips_pre_filter(spec) else None))
            for one in self.profile.pre_filters
        ]

    def _plan_pre_scores(self, spec: ReadOnlyObject) -> _Plan[PreScorePlugin]:
        return [
            (one, self._known_labels(PRE_SCORE, one, one.find_pre_score_code(spec))) for one in self.profile.pre_scores
        ]

    def _known_labels(self, point: str, plugin: Plugin, code: Code | None) -> Labels | None:
        """Return the labels of an evaluation that ends with a code; None if the plugin is to be called."""
        return None if code is None else (plugin.name, point, self.profile.name, code)

    def _count_known(self, labels: Labels, plugin: Plugin, skipped: set[str]) -> None:  # hot: several times per pod
        """Count a plugin that is not called, and add its name to the skipped ones if it skips the pod."""
        if labels[-1] is Code.SKIP:
            skipped.add(plugin.name)
        evaluations = self._evaluations
        evaluations[labels] = evaluations.get(labels, 0) + 1

    # Filter

    def run_filters(
        self, state: CycleState, pod: PodInfo, node: NodeInfo, plugins: Sequence[FilterPlugin] | None = None
    ) -> Status:
        """Run the filters for one node until one rejects it. Raises PluginError."""
        for plugin in self.profile.filters if plugins is None else plugins:
            if plugin.name in state.skip_filter:
                continue
            status = self.run_filter(state, plugin, pod, node)
            if not status.is_success:
                return status
        return SUCCESS

    def run_filter(self, state: CycleState, plugin: FilterPlugin, pod: PodInfo, node: NodeInfo) -> Status:
        """Run one filter for one node. Raises PluginError."""
        if state.record_plugin_metrics:
            status = self._call_plugin(state, FILTER, plugin.name, plugin.filter, state, pod, node)
        else:
            status = plugin.filter(state, pod, node)
        return self.check_status(plugin, status)

    def prepare_filter(self, state: CycleState, plugin: FilterPlugin, pod: PodInfo) -> Callable[[NodeInfo], Status]:
        """Return a function that runs one filter for any node; a status other than success needs `check_status`."""
        judge = plugin.prepare_filter(state, pod)
        return partial(self._run_timed_filter, plugin.name, judge) if state.record_plugin_metrics else judge

    def _run_timed_filter(self, plugin: str, judge: Callable[[NodeInfo], Status], node: NodeInfo) -> Status:
        start = self.now()
        status = judge(node)
        self._metrics.plugin_seconds.observe(self.now() - start, plugin, FILTER, status.code)
        return status

    def check_status(self, plugin: FilterPlugin, status: Status) -> Status:
        """Return a filter's status with its plugin set. Raises PluginError for codes that a filter must not return."""
        if status.code is Code.SUCCESS:
            return status
        if not status.is_rejected:
            raise PluginError(f'running "{plugin.name}" filter plugin: {status.message}')
        return status.with_plugin(plugin.name)

    def run_filters_with_nominated_pods(
        self, state: CycleState, pod: PodInfo, node: NodeInfo, plugins: Sequence[FilterPlugin] | None = None
    ) -> Status:
        """Run the filters for one node with the pods nominated to it, then without. Raises PluginError.

        Nominated pods of lower priority are ignored. Both runs are needed: nominated pods take resources, but the pod
        may also need them there (inter-pod affinity), and it is not certain that they will run there.
        """
        others = self.nominated_pods_to_respect(pod, node.name)
        if others:
            cloned_state, cloned_node = state.clone(), node.clone()
            for other in others:
                self.run_add_pod(cloned_state, pod, other, cloned_node)
            status = self.run_filters(cloned_state, pod, cloned_node, plugins)
            if not status.is_success:
                return status
        return self.run_filters(state, pod, node, plugins)

    def nominated_pods_to_respect(self, pod: PodInfo, node_name: str) -> list[PodInfo]:
        """Return the pods nominated to a node whose resources this pod must leave free."""
        nominated = self.nominator.nominated_pods_for_node(node_name)
        return [one for one in nominated if one.priority >= pod.priority and one.uid != pod.uid]

    # Dry runs

    def run_add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Add another pod to a cloned node. Raises PluginError."""
        requests = self.cache.requests_of(added)
        node.add_pod(added, requests.total, requests.nonzero, self.cache.next_generation())
        for plugin in self._stateful_pre_filters:
            if plugin.name not in state.skip_filter:
                self._check_pre_filter_extension("AddPod", plugin.name, plugin.add_pod(state, pod, added, node))

    def run_remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Remove another pod from a cloned node. Raises PluginError."""
        requests = self.cache.requests_of(removed)
        node.remove_pod(removed.uid, requests.total, requests.nonzero, self.cache.next_generation())
        for plugin in self._stateful_pre_filters:
            if plugin.name not in state.skip_filter:
                self._check_pre_filter_extension("RemovePod", plugin.name, plugin.remove_pod(state, pod, removed, node))

    def _check_pre_filter_extension(self, what: str, plugin: str, status: Status) -> None:
        if not status.is_success:
            raise PluginError(f'running {what} on PreFilter plugin "{plugin}": {status.message}')

    # PostFilter and later extension points

    def run_post_filters(self, state: CycleState, pod: PodInfo, node_to_status: NodeToStatus) -> PostFilterResult:
        """Run PostFilter plugins until one succeeds; otherwise collect their reasons."""
        start = self.now()
        result = self._run_post_filters(state, pod, node_to_status)
        self.observe_extension_point(POST_FILTER, result.status.code, start)
        return result

    def _run_post_filters(self, state: CycleState, pod: PodInfo, node_to_status: NodeToStatus) -> PostFilterResult:
        reasons: list[str] = []
        node_name: str | None = None
        for plugin in self.profile.post_filters:
            result = self._call_plugin(state, POST_FILTER, plugin.name, plugin.post_filter, state, pod, node_to_status)
            # Upstream stops at UnschedulableAndUnresolvable: the plugin says that no other one can help either.
            if result.status.is_success or result.status.code is Code.UNRESOLVABLE:
                return result
            if not result.status.is_rejected:
                return PostFilterResult(Status.error(result.status.message))
            node_name = result.node_name if result.node_name is not None else node_name
            reasons += result.status.reasons
        return PostFilterResult(Status.unschedulable(*reasons), node_name)

    def run_pre_scores(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        """Run PreScore plugins on the feasible nodes. Raises PluginError."""
        start = self.now()
        plan = pod.derive_from_spec(self._plan_pre_scores, self._plan_pre_scores)
        for plugin, labels in plan:
            if labels is not None and not state.record_plugin_metrics:
                self._count_known(labels, plugin, state.skip_score)
                continue
            status = self._call_plugin(state, PRE_SCORE, plugin.name, plugin.pre_score, state, pod, nodes)
            self.count_evaluations(PRE_SCORE, plugin.name, status.code)
            if status.code is Code.SKIP:
                state.skip_score.add(plugin.name)
            elif not status.is_success:
                raise PluginError(f'running PreScore plugin "{plugin.name}": {status.message}')
        self.observe_extension_point(PRE_SCORE, Code.SUCCESS, start)

    def run_reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Run Reserve plugins until one fails."""
        start = self.now()
        status = SUCCESS
        for plugin in self.profile.reserve:
            status = self._call_plugin(state, RESERVE, plugin.name, plugin.reserve, state, pod, node_name)
            if not status.is_success:
                break
        self.observe_extension_point(RESERVE, status.code, start)
        return (
            _attribute_status(status, plugin.name, f'running Reserve plugin "{plugin.name}"')
            if not status.is_success
            else SUCCESS
        )

    def run_unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Release what Reserve plugins took, in reverse order."""
        # All plugins are called, also those behind the one that failed: upstream requires Unreserve to be idempotent.
        for plugin in reversed(self.profile.reserve):
            plugin.unreserve(state, pod, node_name)

    async def run_clean_up(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Let Reserve plugins undo their writes to the API, in reverse order."""
        for plugin in reversed(self.profile.reserve):
            await plugin.clean_up(state, pod, node_name)

    def run_permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Return SUCCESS when every plugin permits the pod, WAIT when at least one delays it."""
        start = self.now()
        answer = SUCCESS
        for plugin in self.profile.permit:
            status = self._call_plugin(state, PERMIT, plugin.name, plugin.permit, state, pod, node_name)
            if status.code is Code.WAIT:
                # A plugin behind one that waits may still reject the pod, so all of them run.
                answer = status.with_plugin(plugin.name)
            elif not status.is_success:
                self.observe_extension_point(PERMIT, status.code, start)
                return _attribute_status(status, plugin.name, f'running Permit plugin "{plugin.name}"')
        self.observe_extension_point(PERMIT, answer.code, start)
        return answer

    # Metrics

    def observe_extension_point(self, point: str, code: Code, start: float) -> None:
        """Observe the duration of an extension point."""
        self._observe_extension_point(self.now() - start, point, code, self.profile.name)

    def count_evaluations(self, point: str, plugin: str, code: Code, amount: int = 1) -> None:
        """Count results of a plugin."""
        self._metrics.plugin_evaluations.add(plugin, point, self.profile.name, code, amount=amount)

    def count_all(self, all_labels: Iterable[Labels], amount: int) -> None:  # hot: per pod
        """Count results of several plugins, by their labels."""
        evaluations = self._evaluations
        for labels in all_labels:
            evaluations[labels] = evaluations.get(labels, 0) + amount

    def observe_plugin(self, point: str, plugin: str, code: Code, seconds: float) -> None:
        """Observe the duration of one plugin."""
        self._metrics.plugin_seconds.observe(seconds, plugin, point, code)

    def _call_plugin(self, state: CycleState, point: str, plugin: str, call: Callable[..., T], *args: object) -> T:
        if not state.record_plugin_metrics:
            return call(*args)
        start = self.now()
        answer = call(*args)
        code = _code_of(answer)
        self.observe_plugin(point, plugin, code, self.now() - start)
        return answer


def _has_pre_filter_extensions(plugin: PreFilterPlugin) -> bool:
    """Return whether a plugin updates its state when pods are added or removed in dry runs."""
    kind = type(plugin)
    return kind.add_pod is not PreFilterPlugin.add_pod or kind.remove_pod is not PreFilterPlugin.remove_pod


def _code_of(answer: object) -> Code:
    match answer:
        case Status():
            return answer.code
        case PreFilterResult() | PostFilterResult():
            return answer.status.code
    return Code.SUCCESS


def _attribute_status(status: Status, plugin: str, action: str) -> Status:
    return status.with_plugin(plugin) if status.is_rejected else Status.error(f"{action}: {status.message}")


def _no_nodes_left_message(plugins: Iterable[str]) -> str:
    names = sorted(plugins)
    if len(names) == 1:
        return f"node(s) didn't satisfy plugin {names[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(names)}] simultaneously"
