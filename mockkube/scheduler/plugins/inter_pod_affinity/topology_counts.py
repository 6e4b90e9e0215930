"""How many pods that terms mean, or whose terms mean a pod, are in each domain; also supposing some come or go.

upstream 1.36: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
"""

from collections.abc import Iterable

from mockkube.scheduler.plugins.domain_counts import Counts
from mockkube.scheduler.plugins.inter_pod_affinity.terms import Labels, Term


class Pairs:
    """Counts by topology key and domain, a table for each term; a domain without pods is in none."""

    __slots__ = ("_supposed", "tables", "terms")

    def __init__(self, tables: Iterable[tuple[Term, Counts]]) -> None:
        """Take the tables of different terms; they are shared, so only read."""
        tables = tuple(tables)
        self.terms = [term for term, _ in tables]
        self.tables = [(term.topology_key, counts) for term, counts in tables]
        """Each with its topology key."""
        self._supposed: dict[Term, dict[str, int]] = {}
        """The tables that are pure supposition, and this one's own."""

    def clone(self) -> "Pairs":
        """Return pairs to suppose other things about."""
        return Pairs(zip(self.terms, (counts for _, counts in self.tables), strict=True))

    def empty(self) -> bool:
        """Whether no pod counts anywhere."""
        return not any(counts for _, counts in self.tables)

    def suppose(self, terms: Iterable[Term], labels: Labels, change: int) -> None:
        """Suppose that a pod that counts for these terms comes to a node with these labels, or goes from it."""
        for term in terms:
            if (domain := labels.get(term.topology_key)) is not None:
                counts = self._supposed.get(term) or self._own(term)
                counts[domain] = counts.get(domain, 0) + change
                if not counts[domain]:
                    del counts[domain]

    def _own(self, term: Term) -> dict[str, int]:
        """Return the table of a term, from now on a copy."""
        if term not in self.terms:
            self.terms.append(term)
            self.tables.append((term.topology_key, {}))
        at = self.terms.index(term)
        counts = self._supposed[term] = dict(self.tables[at][1])
        self.tables[at] = (term.topology_key, counts)
        return counts
