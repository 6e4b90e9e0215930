"""How many pods that terms mean, or whose terms mean a pod, are in each domain; also supposing some come or go.

upstream 1.36: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mockkube.scheduler.plugins.domain_counts import Counts
from mockkube.scheduler.plugins.inter_pod_affinity_terms import Labels, Term


@dataclass(slots=True)
class Pairs:
    """Counts by topology key and domain, a table for each term; a domain without pods is in none."""

    tables: Sequence[tuple[Term, Counts]]
    """Those that are there; shared, so only read."""
    supposed: dict[tuple[str, str], int] = field(default_factory=dict)
    """What pods that are supposed to come or go add, by topology key and domain."""

    def suppose(self, terms: Iterable[Term], labels: Labels, change: int) -> None:
        """Suppose that a pod that counts for these terms comes to a node with these labels, or goes from it."""
        for term in terms:
            if (domain := labels.get(term.topology_key)) is not None:
                pair = term.topology_key, domain
                self.supposed[pair] = self.supposed.get(pair, 0) + change

    def clone(self) -> "Pairs":
        """Return pairs to suppose other things about."""
        return Pairs(self.tables, dict(self.supposed))

    def empty(self) -> bool:
        """Whether no pod counts anywhere."""
        if not self.supposed:
            return not any(counts for _, counts in self.tables)
        there = sum(sum(counts.values()) for _, counts in self.tables)
        return there + sum(self.supposed.values()) == 0

    def near(self, labels: Labels) -> bool | None:  # hot: per pod and node
        """Whether pods count in the domains of every table; None for a node that has not all of the domains."""
        found: bool | None = True
        for term, counts in self.tables:
            domain = labels.get(term.topology_key)
            if domain is None:
                return None
            if domain not in counts if not self.supposed else self._count(term.topology_key, domain) <= 0:
                found = False
        return found

    def _count(self, key: str, domain: str) -> int:
        """Return how many pods count in a domain."""
        there = sum(counts.get(domain, 0) for term, counts in self.tables if term.topology_key == key)
        return there + self.supposed.get((key, domain), 0)

    def found(self, labels: Labels) -> str | None:  # hot: per pod and node
        """Return a topology key in whose domain pods count, for a node with these labels."""
        if self.supposed:
            return self._found_supposing(labels)
        for term, counts in self.tables:
            domain = labels.get(term.topology_key)
            if domain is not None and domain in counts:
                return term.topology_key
        return None

    def _found_supposing(self, labels: Labels) -> str | None:
        keys = dict.fromkeys((*(term.topology_key for term, _ in self.tables), *(key for key, _ in self.supposed)))
        return next((key for key in keys if key in labels and self._count(key, labels[key]) > 0), None)
