"""NodeAffinity plugin: node selectors and node affinity of pods, and affinity added by the configuration.

upstream 1.36: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import PREFERRED, REQUIRED
from mockkube.matching.node_affinity import RequiredNodeAffinity, compile_required_node_affinity
from mockkube.matching.node_selectors import NodeSelector, aggregate_errors, compile_preferred, compile_terms
from mockkube.matching.taints import UnreadableValue
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import (
    CacheScope,
    CycleState,
    FilterPlugin,
    PluginDependencies,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
)
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.scores import default_normalize_score
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Code, Status

_NO_MATCH: Final = "node(s) didn't match Pod's node affinity/selector"
_NO_MATCH_ENFORCED: Final = "node(s) didn't match scheduler-enforced node affinity"
_CONFLICT: Final = "pod affinity terms conflict"
_NAME_FIELD: Final = "metadata.name"
# Verbosity of the log line about a label that is not a version.
_LOG_VERBOSITY: Final = 10


class NodeAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Filters nodes by required, and scores them by preferred, node affinity."""

    name = "NodeAffinity"
    filter_scope = CacheScope.NODE
    score_scope = CacheScope.NODE

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        self._operators, self._log = dependencies.selector_operators, dependencies.log
        added = args.get("addedAffinity") or {}
        required = added.get(REQUIRED)
        self._added_affinity = (
            None if required is None else compile_terms(required["nodeSelectorTerms"], self._operators)
        )
        self._added_preferred = compile_preferred(added.get(PREFERRED) or (), self._operators)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for new nodes and changed labels."""
        return (
            ClusterEventWithHint(
                EventResource.NODE, ActionType.ADD | ActionType.NODE_LABEL, self._is_schedulable_after_node_change
            ),
        )

    def _is_schedulable_after_node_change(self, pod: PodInfo, event: ClusterEvent) -> bool:
        if event.new is None or (
            self._added_affinity is not None and not _matches_node(self._added_affinity, event.new)
        ):
            return False
        selector = pod.derive_from_spec(self, self._required_affinity)
        if not _matches_node(selector, event.new):
            return _has_only_parse_errors(selector, event.new)
        # Only a node that starts to match can help.
        return event.old is None or not _matches_node(selector, event.old)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Skip pods without node affinity; restrict the nodes if all terms name some."""
        if self._added_affinity is None and pod.derive_from_spec(self, self._required_affinity).is_empty:
            return PreFilterResult(SKIP)
        names = pod.derive_from_spec((self, _NAME_FIELD), _node_names)
        # Within a term field requirements are ANDed, so two different names can select no node.
        if names is not None and not names:
            return PreFilterResult(Status.unresolvable(_CONFLICT))
        return PreFilterResult(node_names=names)

    def skips_pre_filter(self, spec: ReadOnlyObject) -> bool:
        """Return whether neither the pod nor the profile requires node affinity."""
        return self._added_affinity is None and self._required_affinity(spec).is_empty

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Reject nodes that required affinity does not select."""
        if self._added_affinity is not None and not self._added_affinity.matches(node.labels, node.name):
            return Status.unresolvable(_NO_MATCH_ENFORCED, labels=node.labels)
        if pod.derive_from_spec(self, self._required_affinity).matches(node.labels, node.name):
            return SUCCESS
        return Status.unresolvable(
            _NO_MATCH,
            labels=node.labels,
            node_selector=pod.spec.get("nodeSelector") or {},
            required=_node_affinity(pod.spec).get(REQUIRED) or {},
        )

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Skip pods without preferred node affinity."""
        preferred = pod.derive_from_spec((self, PREFERRED), self._preferred_affinity)
        if preferred.errors:
            return Status.error(aggregate_errors(preferred.errors))
        return SUCCESS if PREFERRED in _node_affinity(pod.spec) or self._added_preferred.terms else SKIP

    def find_pre_score_code(self, spec: ReadOnlyObject) -> Code | None:
        """Return SKIP if neither the pod nor the profile prefers nodes."""
        return None if PREFERRED in _node_affinity(spec) or self._added_preferred.terms else Code.SKIP

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the sum of weights of the preferred terms that select the node."""
        preferred = pod.derive_from_spec((self, PREFERRED), self._preferred_affinity)
        return preferred.score(node.labels, node.name) + self._added_preferred.score(node.labels, node.name)

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> None:
        """Scale the highest sum to the highest score."""
        default_normalize_score(scores)

    def _required_affinity(self, spec: ReadOnlyObject) -> RequiredNodeAffinity:
        return compile_required_node_affinity(spec, self._operators, self._log_unreadable)

    def _preferred_affinity(self, spec: ReadOnlyObject) -> NodeSelector:
        terms = _node_affinity(spec).get(PREFERRED) or ()
        return compile_preferred(terms, self._operators, report=self._log_unreadable)

    def _log_unreadable(self, outcome: UnreadableValue, key: str) -> None:
        """Log a label that is not a version, in the words of KEP-5721."""
        if self._log is not None:
            self._log(f"Parse semver failed for value {outcome.value} in label {key}, {outcome.reason}", _LOG_VERBOSITY)


def _node_affinity(spec: ReadOnlyObject) -> ReadOnlyObject:
    affinity: ReadOnlyObject = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return affinity


def _matches_node(selector: RequiredNodeAffinity | NodeSelector, node: ReadOnlyObject) -> bool:
    metadata = node["metadata"]
    return selector.matches(metadata.get("labels") or {}, metadata["name"])


def _has_only_parse_errors(required: RequiredNodeAffinity, node: ReadOnlyObject) -> bool:
    """Return whether only terms that cannot be parsed keep the pod from a node: then it is tried again."""
    if required.selector is None or not required.selector.errors:
        return False
    return _matches_node(replace(required, selector=None), node)


def _node_names(spec: ReadOnlyObject) -> frozenset[str] | None:
    """Return the node names that required terms allow; None if some term allows any."""
    terms = (_node_affinity(spec).get(REQUIRED) or {}).get("nodeSelectorTerms") or ()
    names: frozenset[str] = frozenset()
    for term in terms:
        named = _node_names_of_term(term)
        if named is None:
            return None
        names |= named
    return names if terms else None


def _node_names_of_term(term: ReadOnlyObject) -> frozenset[str] | None:
    fields = term.get("matchFields") or ()
    wanted = [
        frozenset(one.get("values") or ())
        for one in fields
        if one.get("key") == _NAME_FIELD and one.get("operator") == "In"
    ]
    return frozenset.intersection(*wanted) if wanted else None
