"""InterPodAffinity plugin: affinity and anti-affinity between pods.

upstream 1.36: pkg/scheduler/framework/plugins/interpodaffinity/{plugin,filtering,scoring}.go
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import Final, NamedTuple

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.errors import BadSelector
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import (
    SCORE_MAX,
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
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Status
from mockkube.scheduler.plugins.domain_counts import Counts
from mockkube.scheduler.plugins.inter_pod_affinity.counts import AffinityCounts, TopologyCounts, terms_or_none
from mockkube.scheduler.plugins.inter_pod_affinity.hints import (
    is_schedulable_after_node_change,
    is_schedulable_after_pod_change,
)
from mockkube.scheduler.plugins.inter_pod_affinity.terms import Labels, NamespaceResolver, Term, matches_all, terms_of

_NAME: Final = "InterPodAffinity"
_AFFINITY_MISMATCH: Final = "node(s) didn't match pod affinity rules"
_ANTI_AFFINITY_MISMATCH: Final = "node(s) didn't match pod anti-affinity rules"
_EXISTING_ANTI_AFFINITY_MISMATCH: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
# Domain of nodes without the topology key: no label has this value.
_NO_DOMAIN: Final = "\0"


@dataclass(slots=True)
class _PreFilterState:
    """State of the filter for one pod."""

    affinity: tuple[Term, ...]
    affinity_counts: TopologyCounts
    """Pods that all affinity terms of the pod match."""
    anti_affinity: tuple[Term, ...]
    anti_affinity_counts: TopologyCounts
    """Pods that an anti-affinity term of the pod matches."""
    existing_anti_affinity_counts: TopologyCounts
    """Pods with an anti-affinity term that matches the pod."""
    namespace_labels: Labels
    """Labels of the pod's namespace."""
    statuses: dict[tuple[str, str], Status] = field(default_factory=dict)
    """Statuses by reason and topology key, each built once."""

    def clone(self) -> "_PreFilterState":
        return replace(
            self,
            affinity_counts=self.affinity_counts.clone(),
            anti_affinity_counts=self.anti_affinity_counts.clone(),
            existing_anti_affinity_counts=self.existing_anti_affinity_counts.clone(),
        )

    def is_affected_by(self, pod: PodInfo, other: PodInfo) -> bool:
        """Return whether another pod counts for one of the terms."""
        refusing = terms_or_none(other).anti_affinity
        return (
            any(term.matches(pod.namespace, pod.labels, self.namespace_labels) for term in refusing)
            or matches_all(self.affinity, other.namespace, other.labels)
            or any(term.matches(other.namespace, other.labels) for term in self.anti_affinity)
        )

    def update_with_pod(self, pod: PodInfo, other: PodInfo, labels: Labels, change: int) -> None:
        """Add or remove another pod on a node with these labels."""
        refusing = terms_or_none(other).anti_affinity
        met = (term for term in refusing if term.matches(pod.namespace, pod.labels, self.namespace_labels))
        self.existing_anti_affinity_counts.update(met, labels, change)
        if matches_all(self.affinity, other.namespace, other.labels):
            self.affinity_counts.update(self.affinity, labels, change)
        met = (term for term in self.anti_affinity if term.matches(other.namespace, other.labels))
        self.anti_affinity_counts.update(met, labels, change)


class _WeightedCounts(NamedTuple):
    """Pods by domain of a topology key, with the weight that each adds to a node's score."""

    topology_key: str
    counts: Counts
    """Pods by domain."""
    weight: int
    """Score per pod."""


_PRE_FILTER_STATE: Final = StateKey[_PreFilterState](_NAME)
_PRE_SCORE_STATE: Final = StateKey[Sequence[_WeightedCounts]](_NAME)


class InterPodAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Filters nodes by required terms, of the pod and of existing pods; scores by preferred ones."""

    name = _NAME

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        self._version = version = dependencies.caps.version
        self._nodes = dependencies.nodes
        self._namespaces = NamespaceResolver(dependencies.informers, version)
        self._ignores_existing_preferences = bool(args.get("ignorePreferredTermsOfExistingPods"))
        self._counts = AffinityCounts(dependencies.nodes, args["hardPodAffinityWeight"])

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for pods and labels of pods, the pod itself included, and for nodes and their labels."""
        return (
            ClusterEventWithHint(
                EventResource.ASSIGNED_POD,
                ActionType.ADD | ActionType.POD_LABEL | ActionType.DELETE,
                self._is_schedulable_after_pod_change,
            ),
            ClusterEventWithHint(
                EventResource.UNSCHEDULED_POD, ActionType.POD_LABEL, self._is_schedulable_after_pod_change
            ),
            ClusterEventWithHint(
                EventResource.NODE, ActionType.ADD | ActionType.NODE_LABEL, _is_schedulable_after_node_change
            ),
        )

    def _is_schedulable_after_pod_change(self, pod: PodInfo, event: ClusterEvent) -> bool:
        try:
            return is_schedulable_after_pod_change(pod, event, self._version)
        # The pod is tried again, so that its status shows the error.
        except BadSelector:
            return True

    # Filtering

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Count pods by domain; skip pods that neither have terms nor match those of existing pods."""
        try:
            terms = terms_of(pod)
        except BadSelector as error:
            return PreFilterResult(Status.unresolvable(f"parsing pod: {error}"))
        of_namespace = self._namespaces.labels_of(pod.namespace)
        repelling = [
            (term, counts)
            for term, counts in self._counts.by_anti_affinity_term(nodes).items()
            if term.matches(pod.namespace, pod.labels, of_namespace)
        ]
        if not repelling and not terms.affinity and not terms.anti_affinity:
            return PreFilterResult(SKIP)
        wanted, unwanted = (
            tuple(dict.fromkeys(self._namespaces.resolve(one))) for one in (terms.affinity, terms.anti_affinity)
        )
        near = TopologyCounts(self._counts.matching_all(wanted, nodes))
        far = TopologyCounts(self._counts.matching_each(unwanted, nodes))
        state.put(
            _PRE_FILTER_STATE, _PreFilterState(wanted, near, unwanted, far, TopologyCounts(repelling), of_namespace)
        )
        return PreFilterResult()

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Check affinity, then anti-affinity of the pod, then anti-affinity of existing pods."""
        return self.prepare_filter(state, pod)(node)

    def prepare_filter(self, state: CycleState, pod: PodInfo) -> Callable[[NodeInfo], Status]:
        """Return the filter with the counts looked up once."""
        filter_state = state.get(_PRE_FILTER_STATE)
        assert filter_state is not None
        near, far, unwelcome = (
            filter_state.affinity_counts.tables,
            filter_state.anti_affinity_counts.tables,
            filter_state.existing_anti_affinity_counts.tables,
        )
        # upstream: the first pod of a group whose affinity matches itself may run in any domain, or none could ever
        # start.
        is_first = filter_state.affinity_counts.is_empty() and matches_all(
            filter_state.affinity, pod.namespace, pod.labels
        )

        def judge(node: NodeInfo) -> Status:  # hot: per pod and node
            labels, is_near = node.labels, True
            for key, counts in near:
                domain = labels.get(key)
                if domain is None:
                    return _cached_status(filter_state, _AFFINITY_MISMATCH, "")
                is_near = is_near and domain in counts
            if not (is_near or is_first):
                return _cached_status(filter_state, _AFFINITY_MISMATCH, "")
            for key, counts in far:
                if labels.get(key) in counts:
                    return _cached_status(filter_state, _ANTI_AFFINITY_MISMATCH, key)
            for key, counts in unwelcome:
                if labels.get(key) in counts:
                    return _cached_status(filter_state, _EXISTING_ANTI_AFFINITY_MISMATCH, key)
            return SUCCESS

        return judge

    def is_affected_by(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Return whether a term of either pod matches the other."""
        return (filter_state := state.get(_PRE_FILTER_STATE)) is None or filter_state.is_affected_by(pod, other)

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """Count a pod that a dry run adds."""
        if (filter_state := state.get(_PRE_FILTER_STATE)) is not None:
            filter_state.update_with_pod(pod, added, node.labels, 1)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status:
        """Count a pod that a dry run removes."""
        if (filter_state := state.get(_PRE_FILTER_STATE)) is not None:
            filter_state.update_with_pod(pod, removed, node.labels, -1)
        return SUCCESS

    # Scoring

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Collect the terms that add to scores; skip the pod if there are none."""
        try:
            own = terms_of(pod).preferred
        except BadSelector as error:
            return Status.error(f"failed to parse pod: {error}")
        if self._ignores_existing_preferences and not own:
            return SKIP
        resolved = self._namespaces.resolve(term for term, _ in own)
        counted_terms = zip(self._counts.matching_each(resolved, self._nodes), own, strict=True)
        attractions = [
            _WeightedCounts(term.topology_key, counts, weight) for (term, counts), (_, weight) in counted_terms
        ]
        of_namespace = self._namespaces.labels_of(pod.namespace)
        # Existing pods' preferences count as well, for domains in which these pods run.
        for (term, weight), counts in self._counts.by_preferred_term(self._nodes).items():
            if term.matches(pod.namespace, pod.labels, of_namespace):
                attractions.append(_WeightedCounts(term.topology_key, counts, weight))
        if not any(attraction.counts for attraction in attractions):
            return SKIP
        state.put(_PRE_SCORE_STATE, attractions)
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the weighted sum of matching pods in the node's domains."""
        return self.score_all(state, pod, (node,))[0]

    def score_all(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        """Return the scores of nodes, term by term."""
        attractions = state.get(_PRE_SCORE_STATE)
        assert attractions is not None
        scores = [0] * len(nodes)
        for key, counts, weight in attractions:  # hot: per pod, for all nodes
            scores = [
                score + counts.get(node.labels.get(key, _NO_DOMAIN), 0) * weight
                for score, node in zip(scores, nodes, strict=True)
            ]
        return scores

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> None:
        """Scale scores linearly, lowest to 0 and highest to SCORE_MAX."""
        least = min(scores, default=0)
        span = max(scores, default=0) - least
        # Float arithmetic in upstream's order, because its rounding decides between nodes.
        scores[:] = [int(SCORE_MAX * ((score - least) / span)) if span else 0 for score in scores]


def _is_schedulable_after_node_change(pod: PodInfo, event: ClusterEvent) -> bool:
    try:
        return is_schedulable_after_node_change(pod, event)
    except BadSelector:
        return True


def _cached_status(filter_state: _PreFilterState, reason: str, key: str) -> Status:
    status = filter_state.statuses.get((reason, key))
    if status is None:
        status = filter_state.statuses[reason, key] = _build_status(filter_state, reason, key).with_plugin(_NAME)
    return status


def _build_status(filter_state: _PreFilterState, reason: str, key: str) -> Status:
    match reason:
        case _ if reason == _AFFINITY_MISMATCH:
            return Status.unresolvable(reason, terms=_sources(filter_state.affinity))
        case _ if reason == _ANTI_AFFINITY_MISMATCH:
            terms = (term for term in filter_state.anti_affinity if term.topology_key == key)
        case _:
            terms = (term for term in filter_state.existing_anti_affinity_counts.terms if term.topology_key == key)
    return Status.unschedulable(reason, topology_key=key, terms=_sources(terms))


def _sources(terms: Iterable[Term]) -> list[ReadOnlyObject]:
    return [term.source for term in terms]
