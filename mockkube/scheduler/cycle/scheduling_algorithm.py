"""Scheduling algorithm: pure decision about one pod and the nodes of a cache, repeatable on any other.

PreFilter → Filter, with the pods nominated to nodes → PostFilter if no node is left → PreScore → Score → select host.

upstream 1.36: pkg/scheduler/schedule_one.go
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.random import Random
from mockkube.scheduler.cycle.feasible_nodes import FeasibleNodes, FilteredNodes, NextStartNode
from mockkube.scheduler.cycle.node_scores import NodePluginScores, NodeScores
from mockkube.scheduler.cycle.verdict_cache import VerdictCache
from mockkube.scheduler.framework.fit_error import Diagnosis, FitError
from mockkube.scheduler.framework.interface import CycleState, NodeToStatus, PostFilterResult
from mockkube.scheduler.framework.metrics import PLUGIN_SAMPLE_PERCENT
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Code, Status
from mockkube.scheduler.profile.framework import CombinedPreFilterResult, Framework, PluginError

_ABSENT_STATUS: Final = NodeToStatus({}).absent_nodes_status


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """The pod is scheduled to a node."""

    node_name: str
    evaluated_nodes: int
    feasible_nodes: int


@dataclass(frozen=True, slots=True)
class SchedulingError:
    """A plugin failed, so that no decision was made."""

    message: str


Decision = ScheduleResult | FitError | SchedulingError


class SchedulingAlgorithm:
    """Decides about the pods of one profile."""

    def __init__(
        self, framework: Framework, random: Random, *, percentage_of_nodes_to_score: int, next_start: NextStartNode
    ) -> None:
        self.framework = framework
        verdict_cache = VerdictCache(framework.profile, framework.cache)
        self._random = random
        own = framework.profile.percentage_of_nodes_to_score
        self._feasible_nodes = FeasibleNodes(
            framework, verdict_cache, percentage_of_nodes_to_score if own is None else own, next_start
        )
        self._node_scores = NodeScores(framework, verdict_cache, random)

    def new_cycle_state(self) -> CycleState:
        """Return a new cycle state."""
        state = CycleState()
        state.record_plugin_metrics = self._random.generator.randrange(100) < PLUGIN_SAMPLE_PERCENT
        return state

    def schedule_pod(self, state: CycleState, pod: PodInfo) -> Decision:
        """Return the node for the pod, or the reasons why there is none."""
        total = len(self.framework.cache.all)
        if not total:
            return FitError(0)
        try:
            fit_error, filtered = self._find_feasible_nodes(state, pod, total)
            if fit_error is None:
                return self._select_host(state, pod, filtered)
        except PluginError as error:
            return SchedulingError(str(error))
        return self._run_post_filters(state, pod, fit_error)

    def explain(self, state: CycleState, pod: PodInfo) -> tuple[Decision, Mapping[str, Status], NodePluginScores]:
        """Return the decision, the status of each rejected node, and the scores of the feasible nodes.

        Every node is evaluated, unlike in a real cycle. When a plugin fails there are no scores, and no nodes either if
        it failed before they were evaluated.
        """
        try:
            refused, scores = self._explain(state, pod, self.framework.run_pre_filters(state, pod))
        except PluginError:
            refused, scores = {}, {}
        # With a state of its own: the one above has been through filters that a real cycle would have left out.
        return self.schedule_pod(self.new_cycle_state(), pod), refused, scores

    def _explain(
        self, state: CycleState, pod: PodInfo, candidates: CombinedPreFilterResult
    ) -> tuple[dict[str, Status], NodePluginScores]:
        """Evaluate and score all nodes. Raises PluginError when the feasible nodes cannot be scored."""
        cache = self.framework.cache
        node_to_status: dict[str, Status] = {}
        node_indexes = []
        for node_index, node in enumerate(cache.all):
            status = candidates.status
            if status.is_success and candidates.node_names is not None and node.name not in candidates.node_names:
                status = _excluded_status(candidates.reduced_by)
            if status.is_success:
                status = self._filter_node(state, pod, node)
            if status.is_success:
                node_indexes.append(node_index)
            else:
                node_to_status[node.name] = status
        return node_to_status, self._node_scores.score_nodes(state, pod, node_indexes) if len(node_indexes) > 1 else {}

    def _filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        try:
            return self.framework.run_filters_with_nominated_pods(state, pod, node)
        except PluginError as error:
            return Status.error(str(error))

    def _find_feasible_nodes(
        self, state: CycleState, pod: PodInfo, total: int
    ) -> tuple[FitError | None, FilteredNodes]:
        """Return the feasible nodes, or the FitError if there is none."""
        candidates = self.framework.run_pre_filters(state, pod)
        status = candidates.status
        if not status.is_success:
            rejectors = Diagnosis.from_rejections([(status.plugin, status.code)], candidates.reduced_by)
            return FitError(total, NodeToStatus({}, status), status.message, rejectors), FilteredNodes()
        nominated = FilteredNodes()
        if pod.nominated_node:
            nominated = self._evaluate_nominated_node(state, pod)
            # As upstream, the nominated node is taken without comparing it with others: victims were evicted for it.
            if nominated.node_indexes:
                return None, nominated
        result = self._feasible_nodes.find(state, pod, candidates.node_names)
        if result.node_indexes:
            return None, result
        absent = _ABSENT_STATUS if candidates.node_names is None else _excluded_status(candidates.reduced_by)
        answers = nominated.rejections | result.rejections
        node_to_status = (
            {**nominated.node_to_status, **result.node_to_status} if nominated.node_to_status else result.node_to_status
        )
        resolvable = all(code is Code.UNSCHEDULABLE for _, code in answers)
        statuses = NodeToStatus(node_to_status, absent, all_resolvable=resolvable, reason_counts=result.reason_counts)
        # Plugins that reduced the nodes in PreFilter count as rejectors, or their events would not requeue the pod.
        rejectors = Diagnosis.from_rejections(answers, candidates.reduced_by)
        return FitError(total, statuses, diagnosis=rejectors), result

    def _evaluate_nominated_node(self, state: CycleState, pod: PodInfo) -> FilteredNodes:
        """Evaluate the node that the pod is nominated to; after an error there, all nodes are searched."""
        try:
            return self._feasible_nodes.check_node(state, pod, pod.nominated_node)
        except PluginError:
            return FilteredNodes()

    def _select_host(self, state: CycleState, pod: PodInfo, filtered: FilteredNodes) -> ScheduleResult:
        """Select one of the feasible nodes. Raises PluginError."""
        only_one = len(filtered.node_indexes) == 1
        # As upstream, a single node is not scored.
        node_index = (
            filtered.node_indexes[0] if only_one else self._node_scores.select_host(state, pod, filtered.node_indexes)
        )
        return ScheduleResult(self.framework.cache.all[node_index].name, filtered.evaluated, len(filtered.node_indexes))

    def _run_post_filters(self, state: CycleState, pod: PodInfo, fit_error: FitError) -> FitError:
        if not self.framework.profile.post_filters:
            # An empty node clears the nomination: without PostFilter plugins nobody makes room there.
            return replace(fit_error, post_filter_result=PostFilterResult(Status.unschedulable(), node_name=""))
        return replace(
            fit_error, post_filter_result=self.framework.run_post_filters(state, pod, fit_error.node_to_status)
        )


def _excluded_status(plugins: tuple[str, ...]) -> Status:
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]")
