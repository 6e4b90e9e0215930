"""Topology pair counts of inter-pod affinity, with pods added or removed in dry runs.

upstream 1.36: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
"""

from collections.abc import Iterable

from mockkube.scheduler.plugins.domain_counts import Counts
from mockkube.scheduler.plugins.inter_pod_affinity.terms import Labels, Term


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
