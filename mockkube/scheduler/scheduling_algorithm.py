"""Scheduling algorithm: pure decision about one pod on a snapshot, repeatable on any other.

PreFilter → Filter, with the pods nominated to nodes → PostFilter if no node is left → PreScore → Score → select host.

upstream 1.36: pkg/scheduler/schedule_one.go
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from mockkube.runtime.chance import Chance
from mockkube.scheduler.feasible_nodes import Found, NextStartNode, Search
from mockkube.scheduler.fit_error import FitError, Rejectors
from mockkube.scheduler.framework.interface import CycleState, Remedy, Verdicts
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.runtime import CombinedPreFilterResult, Framework, PluginError
from mockkube.scheduler.framework.status import Code, Status
from mockkube.scheduler.metrics import PLUGIN_SAMPLE_PERCENT
from mockkube.scheduler.node_scores import NodePluginScores, NodeScores
from mockkube.scheduler.verdict_cache import VerdictCache

_ABSENT_STATUS: Final = Verdicts({}).absent


@dataclass(frozen=True, slots=True)
class Placement:
    """The pod is scheduled to a node."""

    node_name: str
    nodes_seen: int
    feasible_nodes: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A plugin failed, so that no decision was made."""

    message: str


Decision = Placement | FitError | Failure


class SchedulingAlgorithm:
    """Decides about the pods of one profile."""

    def __init__(self, points: Framework, chance: Chance, *, percentage: int, rotation: NextStartNode) -> None:
        self.points = points
        verdict_cache = VerdictCache(points.profile, points.picture)
        self._random = chance
        own = points.profile.percentage
        self._feasible_nodes = Search(points, verdict_cache, percentage if own is None else own, rotation)
        self._node_scores = NodeScores(points, verdict_cache, chance)

    def state(self) -> CycleState:
        """Return a new cycle state."""
        state = CycleState()
        state.timed = self._random.random.randrange(100) < PLUGIN_SAMPLE_PERCENT
        return state

    def decide(self, state: CycleState, pod: PodInfo) -> Decision:
        """Return the node for the pod, or the reasons why there is none."""
        total = len(self.points.picture.all)
        if not total:
            return FitError(0)
        try:
            fit_error, filtered = self._find_feasible_nodes(state, pod, total)
            if fit_error is None:
                return self._select_host(state, pod, filtered)
        except PluginError as error:
            return Failure(str(error))
        return self._run_post_filters(state, pod, fit_error)

    def explain(self, state: CycleState, pod: PodInfo) -> tuple[Decision, Mapping[str, Status], NodePluginScores]:
        """Return the decision, the status of each rejected node, and the scores of the feasible nodes.

        Every node is evaluated, unlike in a real cycle. When a plugin fails there are no scores, and no nodes either if
        it failed before they were evaluated.
        """
        try:
            refused, scores = self._explain(state, pod, self.points.pre_filter(state, pod))
        except PluginError:
            refused, scores = {}, {}
        # With a state of its own: the one above has been through filters that a real cycle would have left out.
        return self.decide(self.state(), pod), refused, scores

    def _explain(
        self, state: CycleState, pod: PodInfo, candidates: CombinedPreFilterResult
    ) -> tuple[dict[str, Status], NodePluginScores]:
        """Evaluate and score all nodes. Raises PluginError when the feasible nodes cannot be scored."""
        snapshot = self.points.picture
        node_to_status: dict[str, Status] = {}
        slots = []
        for slot, node in enumerate(snapshot.all):
            status = candidates.status
            if status.ok and candidates.node_names is not None and node.name not in candidates.node_names:
                status = _excluded_status(candidates.narrowed_by)
            if status.ok:
                status = self._filter_node(state, pod, node)
            if status.ok:
                slots.append(slot)
            else:
                node_to_status[node.name] = status
        return node_to_status, self._node_scores.scores(state, pod, slots) if len(slots) > 1 else {}

    def _filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        try:
            return self.points.run_filters_with_nominated_pods(state, pod, node)
        except PluginError as error:
            return Status.error(str(error))

    def _find_feasible_nodes(self, state: CycleState, pod: PodInfo, total: int) -> tuple[FitError | None, Found]:
        """Return the feasible nodes, or the FitError if there is none."""
        candidates = self.points.pre_filter(state, pod)
        status = candidates.status
        if not status.ok:
            rejectors = Rejectors.of([(status.plugin, status.code)], candidates.narrowed_by)
            return FitError(total, Verdicts({}, status), status.message, rejectors), Found()
        nominated = Found()
        if pod.nominated_node:
            nominated = self._evaluate_nominated_node(state, pod)
            # As upstream, the nominated node is taken without comparing it with others: victims were evicted for it.
            if nominated.slots:
                return None, nominated
        result = self._feasible_nodes.some(state, pod, candidates.node_names)
        if result.slots:
            return None, result
        absent = _ABSENT_STATUS if candidates.node_names is None else _excluded_status(candidates.narrowed_by)
        answers = nominated.answers | result.answers
        node_to_status = {**nominated.refused, **result.refused} if nominated.refused else result.refused
        resolvable = all(code is Code.UNSCHEDULABLE for _, code in answers)
        statuses = Verdicts(node_to_status, absent, all_resolvable=resolvable, counted=result.reasons)
        # Plugins that reduced the nodes in PreFilter count as rejectors, or their events would not requeue the pod.
        rejectors = Rejectors.of(answers, candidates.narrowed_by)
        return FitError(total, statuses, rejectors=rejectors), result

    def _evaluate_nominated_node(self, state: CycleState, pod: PodInfo) -> Found:
        """Evaluate the node that the pod is nominated to; after an error there, all nodes are searched."""
        try:
            return self._feasible_nodes.one(state, pod, pod.nominated_node)
        except PluginError:
            return Found()

    def _select_host(self, state: CycleState, pod: PodInfo, found: Found) -> Placement:
        """Select one of the feasible nodes. Raises PluginError."""
        only_one = len(found.slots) == 1
        # As upstream, a single node is not scored.
        slot = found.slots[0] if only_one else self._node_scores.choose(state, pod, found.slots)
        return Placement(self.points.picture.all[slot].name, found.seen, len(found.slots))

    def _run_post_filters(self, state: CycleState, pod: PodInfo, refusal: FitError) -> FitError:
        if not self.points.profile.post_filters:
            # An empty node clears the nomination: without PostFilter plugins nobody makes room there.
            return replace(refusal, remedy=Remedy(Status.unschedulable(), node_name=""))
        return replace(refusal, remedy=self.points.post_filter(state, pod, refusal.verdicts))


def _excluded_status(plugins: tuple[str, ...]) -> Status:
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]")
