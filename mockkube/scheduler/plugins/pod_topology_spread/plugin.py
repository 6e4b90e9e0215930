"""PodTopologySpread plugin: spread pods evenly over zones, nodes and other topology domains.

upstream 1.36: pkg/scheduler/framework/plugins/podtopologyspread/{plugin,filtering,scoring}.go
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

import orjson

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.errors import BadSelector
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.node_affinity import RequiredNodeAffinity, compile_required_node_affinity
from mockkube.matching.taints import CompiledToleration, compile_tolerations
from mockkube.runtime.component_log import Level, LogLine
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import (
    CycleState,
    FilterPlugin,
    PluginDependencies,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    StateKey,
)
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Code, Status
from mockkube.scheduler.plugins.domain_counts import Contribution, Counts, DomainCounts, DomainCountsCache
from mockkube.scheduler.plugins.pod_topology_spread.constraints import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULTS,
    DefaultConstraints,
    SpreadConstraint,
    SupportedFields,
    compile_constraints,
)
from mockkube.scheduler.plugins.pod_topology_spread.hints import (
    is_schedulable_after_node_change,
    is_schedulable_after_pod_change,
)
from mockkube.scheduler.plugins.pod_topology_spread.scoring import PreScoreState, SoftConstraint
from mockkube.scheduler.plugins.pod_topology_spread.skew import NAME, ConstraintSkew

_FIELD: Final = "topologySpreadConstraints"


@dataclass(frozen=True, slots=True)
class _NodeInclusion:
    """Affinity and tolerations of a pod, as far as constraints honor them."""

    affinity: RequiredNodeAffinity
    tolerations: tuple[CompiledToleration, ...]
    key: bytes
    """Equal for pods with the same affinity and tolerations."""

    def includes(self, constraint: SpreadConstraint, node: NodeInfo) -> bool:
        """Return whether the constraint counts the pods on a node."""
        return constraint.policies.include(node.labels, node.name, node.taints, self.affinity, self.tolerations)


class _PreFilterState:
    """State of the filter for one pod."""

    __slots__ = ("node_inclusion", "skews")

    def __init__(self, skews: Sequence[ConstraintSkew], access: _NodeInclusion) -> None:
        self.skews, self.node_inclusion = skews, access

    def clone(self) -> "_PreFilterState":
        return _PreFilterState([skew.clone() for skew in self.skews], self.node_inclusion)


_LOG_VERBOSITY: Final = 5
_LOG_LINES: Final[Mapping[Code, LogLine]] = {
    Code.UNSCHEDULABLE: LogLine(
        Level.INFO,
        '"Node failed spreadConstraint: matchNum + selfMatchNum - minMatchNum > maxSkew"',
        _LOG_VERBOSITY,
    ),
    Code.UNRESOLVABLE: LogLine(
        Level.INFO, '"Node doesn\'t have required topology label for spread constraint"', _LOG_VERBOSITY
    ),
}
_PRE_FILTER_STATE: Final = StateKey[_PreFilterState](NAME)
_PRE_SCORE_STATE: Final = StateKey[PreScoreState](NAME)


class PodTopologySpread(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Filters nodes by hard constraints, and scores them by soft ones."""

    name = NAME
    log_lines: ClassVar[Mapping[Code, LogLine]] = _LOG_LINES

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        self._dependencies = dependencies
        self._supported = SupportedFields.from_capabilities(dependencies.caps)
        self._system_defaulted = args["defaultingType"] == "System"
        defaults = SYSTEM_DEFAULTS if self._system_defaulted else args.get("defaultConstraints") or ()
        self._defaults = DefaultConstraints(defaults, dependencies.informers, self._supported)
        self._counts = DomainCountsCache[int](dependencies.nodes)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for pods and nodes that change counts, and for labels and tolerations of the pod itself."""
        return (
            ClusterEventWithHint(
                EventResource.ASSIGNED_POD,
                ActionType.ADD | ActionType.POD_LABEL | ActionType.DELETE,
                self._is_schedulable_after_pod_change,
            ),
            ClusterEventWithHint(
                EventResource.UNSCHEDULED_POD,
                ActionType.POD_LABEL | ActionType.POD_TOLERATION,
                self._is_schedulable_after_pod_change,
            ),
            ClusterEventWithHint(
                EventResource.NODE,
                ActionType.ADD | ActionType.DELETE | ActionType.NODE_LABEL | ActionType.NODE_TAINT,
                self._is_schedulable_after_node_change,
            ),
        )

    def _is_schedulable_after_pod_change(self, pod: PodInfo, event: ClusterEvent) -> bool:
        try:
            return is_schedulable_after_pod_change(
                self._constraints(pod, DO_NOT_SCHEDULE), pod, event, self._dependencies.caps.version
            )
        # The pod is tried again, so that its status shows the error.
        except BadSelector:
            return True

    def _is_schedulable_after_node_change(self, pod: PodInfo, event: ClusterEvent) -> bool:
        try:
            return is_schedulable_after_node_change(self._constraints(pod, DO_NOT_SCHEDULE), event)
        except BadSelector:
            return True

    # Filtering

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Count pods by domain; skip pods without hard constraints."""
        try:
            constraints = self._constraints(pod, DO_NOT_SCHEDULE)
        except BadSelector as error:
            return PreFilterResult(Status.error(f"get constraints from pod: {_error_context(pod, 'hard')}: {error}"))
        if not constraints:
            return PreFilterResult(SKIP)
        domains, counts = (
            self._count_nodes_by_domain(pod, nodes, constraints),
            self._count_pods_by_domain(pod, nodes, constraints, all_keys=True),
        )
        skews = [
            ConstraintSkew(one, domains.table(at), counts.table(at), self_match=one.selects(pod.labels))
            for at, one in enumerate(constraints)
        ]
        state.put(_PRE_FILTER_STATE, _PreFilterState(skews, pod.derive(self, self._compile_node_inclusion)))
        return PreFilterResult()

    def skips_pre_filter(self, spec: ReadOnlyObject) -> bool:
        """Return whether the pod has no hard constraints, and gets none by default."""
        return not self._has_constraint(spec, DO_NOT_SCHEDULE)

    def _has_constraint(self, spec: ReadOnlyObject, action: str) -> bool:
        constraints = spec.get(_FIELD, self._defaults.constraints)
        return any(one.get("whenUnsatisfiable") == action for one in constraints)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Reject nodes on which a constraint would be violated, or that lack its key."""
        return self.prepare_filter(state, pod)(node)

    def prepare_filter(self, state: CycleState, pod: PodInfo) -> Callable[[NodeInfo], Status]:
        """Return the filter; with one constraint it is that of the constraint."""
        skews = state.get(_PRE_FILTER_STATE)
        assert skews is not None
        first, *others = [skew.filter for skew in skews.skews]
        if not others:
            return first

        def judge(node: NodeInfo) -> Status:  # hot: per pod and node
            status = first(node)
            for other in others:
                if status is not SUCCESS:
                    return status
                status = other(node)
            return status

        return judge

    def is_affected_by(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Return whether a constraint counts the other pod."""
        skews = state.get(_PRE_FILTER_STATE)
        if skews is None or other.namespace != pod.namespace:
            return False
        return any(skew.constraint.selects(other.labels) for skew in skews.skews)

    def has_affecting_pods(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> bool:  # hot: per node of a dry run
        """Return whether a constraint selects a pod on the node."""
        skews = state.get(_PRE_FILTER_STATE)
        if skews is None:
            return False
        for skew in skews.skews:  # noqa: SIM110 (a generator costs more than the look-ups)
            if skew.constraint.selects_pods_on(node):
                return True
        return False

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """Count a pod that a dry run adds."""
        return _update_with_pod(state, pod, added, node, 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status:
        """Count a pod that a dry run removes."""
        return _update_with_pod(state, pod, removed, node, -1)

    # Scoring

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Count pods by domain; skip pods without soft constraints."""
        try:
            constraints = self._constraints(pod, SCHEDULE_ANYWAY)
        except BadSelector as error:
            return Status.error(f"calculating preScoreState: {_error_context(pod, 'soft')}: {error}")
        if not constraints:
            return SKIP
        # System defaults spread over zones and hosts; in a cluster with nodes without a zone they must still work.
        all_keys = _FIELD in pod.spec or not self._system_defaulted
        counts = self._count_pods_by_domain(pod, self._dependencies.nodes, constraints, all_keys=all_keys)
        scored = nodes
        for key in (one.topology_key for one in constraints if all_keys):
            scored = [node for node in scored if key in node.labels]
        parts = [self._prepare_scoring(one, counts.table(at), scored) for at, one in enumerate(constraints)]
        ignored = frozenset[str]()
        if len(scored) < len(nodes):
            ignored = frozenset(node.name for node in nodes) - {node.name for node in scored}
        state.put(_PRE_SCORE_STATE, PreScoreState(parts, ignored))
        return SUCCESS

    def find_pre_score_code(self, spec: ReadOnlyObject) -> Code | None:
        """Return SKIP for pods without soft constraints that get none by default."""
        return None if self._has_constraint(spec, SCHEDULE_ANYWAY) else Code.SKIP

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the weighted number of pods in the node's domains; fewer is better."""
        return self.score_all(state, pod, (node,))[0]

    def score_all(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        """Return the scores of nodes, constraint by constraint."""
        scoring = state.get(_PRE_SCORE_STATE)
        assert scoring is not None
        return scoring.score_nodes(nodes)

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> None:
        """Give the highest score to the node with the fewest pods in its domains."""
        scoring = state.get(_PRE_SCORE_STATE)
        assert scoring is not None
        scoring.normalize(nodes, scores)

    # Counting

    def _constraints(self, pod: PodInfo, action: str) -> Sequence[SpreadConstraint]:
        """Return the pod's constraints with this action, or the default ones if it has none; raise BadSelector."""
        if _FIELD in pod.spec:
            return pod.derive(
                (self, action), lambda info: compile_constraints(info.spec[_FIELD], action, info, self._supported)
            )
        return self._defaults.for_pod(pod, action)

    def _count_nodes_by_domain(
        self, pod: PodInfo, nodes: NodeInfoLister, constraints: Sequence[SpreadConstraint]
    ) -> DomainCounts[int]:
        """Return the number of nodes in each domain, by constraint."""
        access = pod.derive(self, self._compile_node_inclusion)

        def read(node: NodeInfo) -> Iterator[Contribution[int]]:
            if all(one.topology_key in node.labels for one in constraints):
                for at, one in enumerate(constraints):
                    if access.includes(one, node):
                        yield at, node.labels[one.topology_key], 1

        queries = [(one.topology_key, one.policies) for one in constraints]
        return self._counts.get(("domains", tuple(queries), access.key), nodes, read)

    def _count_pods_by_domain(
        self, pod: PodInfo, nodes: NodeInfoLister, constraints: Sequence[SpreadConstraint], *, all_keys: bool
    ) -> DomainCounts[int]:
        """Return the number of pods in each domain, by constraint."""
        access = pod.derive(self, self._compile_node_inclusion)

        def read(node: NodeInfo) -> Iterator[Contribution[int]]:
            if not node.pods or (all_keys and not all(one.topology_key in node.labels for one in constraints)):
                return
            for at, one in enumerate(constraints):
                if (count := one.count_pods_on(node)) and access.includes(one, node):
                    yield at, node.labels.get(one.topology_key, ""), count

        queries = [(one.topology_key, one.selector_key, one.policies) for one in constraints]
        return self._counts.get(("pods", tuple(queries), access.key, all_keys), nodes, read)

    def _count_pods_by_node(self, constraint: SpreadConstraint) -> Counts:
        def read(node: NodeInfo) -> Iterator[Contribution[int]]:
            if node.pods and (count := constraint.count_pods_on(node)):
                yield 0, node.name, count

        return self._counts.get(("by node", constraint.selector_key), self._dependencies.nodes, read).table(0)

    def _prepare_scoring(
        self, constraint: SpreadConstraint, counts: Counts, nodes: Sequence[NodeInfo]
    ) -> SoftConstraint:
        """Return a constraint prepared for scoring; nodes without its key form one domain."""
        key = constraint.topology_key
        by_node = key == HOSTNAME
        domains = len(nodes) if by_node else len({node.labels.get(key, "") for node in nodes})
        # upstream: hostname domains are counted per node, without a map over all nodes of the cluster.
        counts = self._count_pods_by_node(constraint) if by_node else counts
        return SoftConstraint(key, counts, by_node, math.log(domains + 2), constraint.max_skew - 1)

    def _compile_node_inclusion(self, pod: PodInfo) -> _NodeInclusion:
        spec = pod.spec
        affinity = compile_required_node_affinity(spec, self._dependencies.selector_operators)
        required = (spec.get("affinity") or {}).get("nodeAffinity") if affinity.selector else None
        tolerations = spec.get("tolerations") or ()
        text = orjson.dumps((spec.get("nodeSelector"), required, tolerations), option=orjson.OPT_SORT_KEYS)
        return _NodeInclusion(affinity, compile_tolerations(tolerations, self._dependencies.taints), text)


def _update_with_pod(state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, change: int) -> Status:
    skews = state.get(_PRE_FILTER_STATE)
    if skews is None or other.namespace != pod.namespace:
        return SUCCESS
    if all(skew.constraint.topology_key in node.labels for skew in skews.skews):
        for skew in skews.skews:
            if skew.constraint.selects(other.labels) and skews.node_inclusion.includes(skew.constraint, node):
                skew.update(node.labels[skew.constraint.topology_key], change)
    return SUCCESS


def _error_context(pod: PodInfo, kind: str) -> str:
    if _FIELD in pod.spec:
        return f"obtaining pod's {kind} topology spread constraints"
    return f"setting default {kind} topology spread constraints"
