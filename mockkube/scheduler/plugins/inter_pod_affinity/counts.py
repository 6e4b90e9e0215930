"""Counts for inter-pod affinity by topology domain: pods that terms match, and pods by their own terms.

TopologyCounts can be changed by dry runs.
upstream 1.36: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mockkube.api.selectors.errors import BadSelector
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.domain_counts import Contribution, ContributionReader, Counts, DomainCountsCache
from mockkube.scheduler.plugins.inter_pod_affinity.terms import (
    NO_TERMS,
    Labels,
    PodTerms,
    Term,
    WeightedTerm,
    matches_all,
    terms_of,
)


class TopologyCounts:
    """Counts by topology key and domain, one table per term, without domains that have no pods."""

    __slots__ = ("_copied", "tables", "terms")

    def __init__(self, tables: Iterable[tuple[Term, Counts]]) -> None:
        """Take the tables of different terms; they are shared, so they are only read."""
        tables = tuple(tables)
        self.terms = [term for term, _ in tables]
        # Each with its topology key.
        self.tables = [(term.topology_key, counts) for term, counts in tables]
        # Tables that were copied because a dry run changes them.
        self._copied: dict[Term, dict[str, int]] = {}

    def clone(self) -> "TopologyCounts":
        """Return a copy for another dry run."""
        return TopologyCounts(zip(self.terms, (counts for _, counts in self.tables), strict=True))

    def is_empty(self) -> bool:
        """Return whether no pod is counted anywhere."""
        return not any(counts for _, counts in self.tables)

    def update(self, terms: Iterable[Term], labels: Labels, change: int) -> None:
        """Add or remove a pod that these terms match on a node with these labels."""
        for term in terms:
            if (domain := labels.get(term.topology_key)) is not None:
                counts = self._copied.get(term) or self._copy_table(term)
                counts[domain] = counts.get(domain, 0) + change
                if not counts[domain]:
                    del counts[domain]

    def _copy_table(self, term: Term) -> dict[str, int]:
        """Replace the table of a term by a copy that may be changed."""
        if term not in self.terms:
            self.terms.append(term)
            self.tables.append((term.topology_key, {}))
        at = self.terms.index(term)
        counts = self._copied[term] = dict(self.tables[at][1])
        self.tables[at] = (term.topology_key, counts)
        return counts


class AffinityCounts:
    """Cached counts of the plugin, without domains that have no pods."""

    def __init__(self, nodes: NodeInfoLister, hard_weight: int) -> None:
        self._hard_weight = hard_weight
        self._matching = DomainCountsCache[int](nodes)
        self._anti_affinity = DomainCountsCache[Term](nodes)
        self._preferred = DomainCountsCache[WeightedTerm](nodes)

    def matching_all(self, terms: tuple[Term, ...], nodes: NodeInfoLister) -> Sequence[tuple[Term, Counts]]:
        """Return, for each term, the pods in its domains that all terms match."""
        if not terms:
            return ()

        def read(node: NodeInfo) -> Iterable[Contribution[int]]:
            pods = sum(matches_all(terms, pod.namespace, pod.labels) for pod in node.pods.values())
            return _contributions(((term, pods) for term in terms), node.labels) if pods else ()

        return self._counts_by_term("all", terms, nodes, read)

    def matching_each(self, terms: tuple[Term, ...], nodes: NodeInfoLister) -> Sequence[tuple[Term, Counts]]:
        """Return, for each term, the pods in its domains that it matches."""
        if not terms:
            return ()

        def read(node: NodeInfo) -> Iterable[Contribution[int]]:
            return (
                _contributions(((term, term.count_pods_on(node)) for term in terms), node.labels) if node.pods else ()
            )

        return self._counts_by_term("each", terms, nodes, read)

    def _counts_by_term(
        self, how: str, terms: tuple[Term, ...], nodes: NodeInfoLister, read: ContributionReader[int]
    ) -> Sequence[tuple[Term, Counts]]:
        counts = self._matching.get((how, terms), nodes, read)
        return [(term, counts.table(at)) for at, term in enumerate(terms)]

    def by_anti_affinity_term(self, nodes: NodeInfoLister) -> Mapping[Term, Counts]:
        """Return the pods by required anti-affinity term."""
        if not nodes.has_pods_with_required_anti_affinity:
            return {}
        return self._anti_affinity.get("required anti-affinity", nodes, _anti_affinity_contributions).tables

    def by_preferred_term(self, nodes: NodeInfoLister) -> Mapping[WeightedTerm, Counts]:
        """Return the pods by preferred term; required affinity of existing pods counts with `hardPodAffinityWeight`."""
        if not nodes.has_pods_with_affinity:
            return {}
        return self._preferred.get("preferences", nodes, self._preferred_contributions).tables

    def _preferred_contributions(self, node: NodeInfo) -> Iterator[Contribution[WeightedTerm]]:
        for terms, pods in _pods_by_terms(node):
            required = terms.affinity if self._hard_weight else ()
            for weighted in (*terms.preferred, *(WeightedTerm(term, self._hard_weight) for term in required)):
                if (domain := node.labels.get(weighted.term.topology_key)) is not None:
                    yield weighted, domain, pods


def _pods_by_terms(node: NodeInfo) -> Iterable[tuple[PodTerms, int]]:
    """Return the terms of the pods on a node, with the number of pods that have them."""
    if not node.pods_with_affinity:
        return ()
    terms_of_pods = [terms for terms in map(terms_or_none, node.pods_with_affinity.values()) if terms is not NO_TERMS]
    return Counter(terms_of_pods).items() if terms_of_pods else ()


def terms_or_none(pod: PodInfo) -> PodTerms:
    """Return the terms of an existing pod; none if they cannot be parsed."""
    try:
        return terms_of(pod)
    # An invalid pod that exists already must not stop others from being scheduled.
    except BadSelector:
        return NO_TERMS


def _contributions(pods: Iterable[tuple[Term, int]], labels: Labels) -> Iterator[Contribution[int]]:
    for at, (term, count) in enumerate(pods):
        if count and (domain := labels.get(term.topology_key)) is not None:
            yield at, domain, count


def _anti_affinity_contributions(node: NodeInfo) -> Iterator[Contribution[Term]]:
    for terms, pods in _pods_by_terms(node):
        for term in terms.anti_affinity:
            if (domain := node.labels.get(term.topology_key)) is not None:
                yield term, domain, pods
