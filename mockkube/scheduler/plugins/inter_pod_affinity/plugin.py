"""InterPodAffinity plugin: affinity and anti-affinity between pods.

upstream 1.36: pkg/scheduler/framework/plugins/interpodaffinity/{plugin,filtering,scoring}.go
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from mockkube.api.selectors.errors import BadSelector
from mockkube.api.types import ReadOnlyObject
from mockkube.scheduler.framework.events import Action, ClusterEvent, ClusterEventWithHint, Subject
from mockkube.scheduler.framework.interface import (
    SCORE_MAX,
    Context,
    CycleState,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    Slot,
)
from mockkube.scheduler.framework.node_info import NodeInfo, Nodes
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Status
from mockkube.scheduler.plugins.domain_counts import Counts
from mockkube.scheduler.plugins.inter_pod_affinity.counts import AffinityCounts, terms_or_none
from mockkube.scheduler.plugins.inter_pod_affinity.hints import (
    is_schedulable_after_node_change,
    is_schedulable_after_pod_change,
)
from mockkube.scheduler.plugins.inter_pod_affinity.terms import Labels, Namespaces, Term, matches_all, terms_of
from mockkube.scheduler.plugins.inter_pod_affinity.topology_counts import Pairs

_NAME: Final = "InterPodAffinity"
_NOT_NEAR: Final = "node(s) didn't match pod affinity rules"
_NEAR: Final = "node(s) didn't match pod anti-affinity rules"
_UNWELCOME: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
# Domain of nodes without the topology key: no label has this value.
_NO_DOMAIN: Final = "\0"


@dataclass(slots=True)
class _Rules:
    """State of the filter for one pod."""

    affinity: tuple[Term, ...]
    near: Pairs
    """Pods that all affinity terms of the pod match."""
    anti_affinity: tuple[Term, ...]
    far: Pairs
    """Pods that an anti-affinity term of the pod matches."""
    unwelcome: Pairs
    """Pods with an anti-affinity term that matches the pod."""
    of_namespace: Labels
    """Labels of the pod's namespace."""
    refusals: dict[tuple[str, str], Status] = field(default_factory=dict)
    """Statuses by reason and topology key, each built once."""

    def clone(self) -> "_Rules":
        return replace(self, near=self.near.clone(), far=self.far.clone(), unwelcome=self.unwelcome.clone())

    def is_affected_by(self, pod: PodInfo, other: PodInfo) -> bool:
        """Return whether another pod counts for one of the terms."""
        refusing = terms_or_none(other).anti_affinity
        return (
            any(term.means(pod.namespace, pod.labels, self.of_namespace) for term in refusing)
            or matches_all(self.affinity, other.namespace, other.labels)
            or any(term.means(other.namespace, other.labels) for term in self.anti_affinity)
        )

    def suppose(self, pod: PodInfo, other: PodInfo, labels: Labels, change: int) -> None:
        """Add or remove another pod on a node with these labels."""
        refusing = terms_or_none(other).anti_affinity
        met = (term for term in refusing if term.means(pod.namespace, pod.labels, self.of_namespace))
        self.unwelcome.suppose(met, labels, change)
        if matches_all(self.affinity, other.namespace, other.labels):
            self.near.suppose(self.affinity, labels, change)
        met = (term for term in self.anti_affinity if term.means(other.namespace, other.labels))
        self.far.suppose(met, labels, change)


class _WeightedCounts(NamedTuple):
    """Pods by domain of a topology key, with the weight that each adds to a node's score."""

    topology_key: str
    counts: Counts
    """Pods by domain."""
    weight: int
    """Score per pod."""


_PRE_FILTER_STATE: Final = Slot[_Rules](_NAME)
_PRE_SCORE_STATE: Final = Slot[Sequence[_WeightedCounts]](_NAME)


class InterPodAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Filters nodes by required terms, of the pod and of existing pods; scores by preferred ones."""

    name = _NAME

    def __init__(self, context: Context, args: ReadOnlyObject) -> None:
        self._version = version = context.caps.version
        self._nodes = context.nodes
        self._namespaces = Namespaces(context.caches, version)
        self._ignores_existing_preferences = bool(args.get("ignorePreferredTermsOfExistingPods"))
        self._counts = AffinityCounts(context.nodes, args["hardPodAffinityWeight"])

    def interests(self) -> Sequence[ClusterEventWithHint]:
        """Register for pods and labels of pods, the pod itself included, and for nodes and their labels."""
        return (
            ClusterEventWithHint(
                Subject.ASSIGNED_POD,
                Action.ADD | Action.POD_LABEL | Action.DELETE,
                self._is_schedulable_after_pod_change,
            ),
            ClusterEventWithHint(Subject.UNSCHEDULED_POD, Action.POD_LABEL, self._is_schedulable_after_pod_change),
            ClusterEventWithHint(Subject.NODE, Action.ADD | Action.NODE_LABEL, _is_schedulable_after_node_change),
        )

    def _is_schedulable_after_pod_change(self, pod: PodInfo, event: ClusterEvent) -> bool:
        try:
            return is_schedulable_after_pod_change(pod, event, self._version)
        # The pod is tried again, so that its status shows the error.
        except BadSelector:
            return True

    # Filtering

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFilterResult:
        """Count pods by domain; skip pods that neither have terms nor match those of existing pods."""
        try:
            terms = terms_of(pod)
        except BadSelector as error:
            return PreFilterResult(Status.unresolvable(f"parsing pod: {error}"))
        of_namespace = self._namespaces.labels(pod.namespace)
        repelling = [
            (term, counts)
            for term, counts in self._counts.refusing(nodes).items()
            if term.means(pod.namespace, pod.labels, of_namespace)
        ]
        if not repelling and not terms.affinity and not terms.anti_affinity:
            return PreFilterResult(SKIP)
        wanted, unwanted = (
            tuple(dict.fromkeys(self._namespaces.resolve(one))) for one in (terms.affinity, terms.anti_affinity)
        )
        near = Pairs(self._counts.matching_all(wanted, nodes))
        far = Pairs(self._counts.matching_each(unwanted, nodes))
        state.put(_PRE_FILTER_STATE, _Rules(wanted, near, unwanted, far, Pairs(repelling), of_namespace))
        return PreFilterResult()

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Check affinity, then anti-affinity of the pod, then anti-affinity of existing pods."""
        return self.judge(state, pod)(node)

    def judge(self, state: CycleState, pod: PodInfo) -> Callable[[NodeInfo], Status]:
        """Return the filter with the counts looked up once."""
        filter_state = state.get(_PRE_FILTER_STATE)
        assert filter_state is not None
        near, far, unwelcome = filter_state.near.tables, filter_state.far.tables, filter_state.unwelcome.tables
        # upstream: the first pod of a group whose affinity matches itself may run in any domain, or none could ever
        # start.
        is_first = filter_state.near.empty() and matches_all(filter_state.affinity, pod.namespace, pod.labels)

        def judge(node: NodeInfo) -> Status:  # hot: per pod and node
            labels, is_near = node.labels, True
            for key, counts in near:
                domain = labels.get(key)
                if domain is None:
                    return _cached_status(filter_state, _NOT_NEAR, "")
                is_near = is_near and domain in counts
            if not (is_near or is_first):
                return _cached_status(filter_state, _NOT_NEAR, "")
            for key, counts in far:
                if labels.get(key) in counts:
                    return _cached_status(filter_state, _NEAR, key)
            for key, counts in unwelcome:
                if labels.get(key) in counts:
                    return _cached_status(filter_state, _UNWELCOME, key)
            return SUCCESS

        return judge

    def is_affected_by(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Return whether a term of either pod matches the other."""
        return (filter_state := state.get(_PRE_FILTER_STATE)) is None or filter_state.is_affected_by(pod, other)

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """Count a pod that a dry run adds."""
        if (filter_state := state.get(_PRE_FILTER_STATE)) is not None:
            filter_state.suppose(pod, added, node.labels, 1)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status:
        """Count a pod that a dry run removes."""
        if (filter_state := state.get(_PRE_FILTER_STATE)) is not None:
            filter_state.suppose(pod, removed, node.labels, -1)
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
        of_namespace = self._namespaces.labels(pod.namespace)
        # Existing pods' preferences count as well, for domains in which these pods run.
        for (term, weight), counts in self._counts.preferring(self._nodes).items():
            if term.means(pod.namespace, pod.labels, of_namespace):
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


def _cached_status(rules: _Rules, reason: str, key: str) -> Status:
    status = rules.refusals.get((reason, key))
    if status is None:
        status = rules.refusals[reason, key] = _build_status(rules, reason, key).of(_NAME)
    return status


def _build_status(rules: _Rules, reason: str, key: str) -> Status:
    match reason:
        case _ if reason == _NOT_NEAR:
            return Status.unresolvable(reason, terms=_sources(rules.affinity))
        case _ if reason == _NEAR:
            terms = (term for term in rules.anti_affinity if term.topology_key == key)
        case _:
            terms = (term for term in rules.unwelcome.terms if term.topology_key == key)
    return Status.unschedulable(reason, topology_key=key, terms=_sources(terms))


def _sources(terms: Iterable[Term]) -> list[ReadOnlyObject]:
    return [term.source for term in terms]
