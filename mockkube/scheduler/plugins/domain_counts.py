"""Counts per topology domain, updated incrementally from the nodes that changed.

A cycle costs as much as has changed since the last cycle with the same query, not as much as there is. What is counted,
and into which tables, is up to the plugin; a domain is a value of a topology key.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, Generic, TypeVar

from cachetools import LRUCache

from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister

T = TypeVar("T", bound=Hashable)
# Queries per plugin whose counts are cached; the least recently used one is dropped.
CACHED_QUERIES_MAX: Final = 256

Contribution = tuple[T, str, int]
"""Table, domain and the amount that a node adds there, never 0; plain tuples, because there are many."""
ContributionReader = Callable[[NodeInfo], Iterable[Contribution[T]]]
Counts = Mapping[str, int]
"""Sums by domain, without zeros."""
_NO_COUNTS: Final[Counts] = {}


class DomainCounts(Generic[T]):
    """Counts of one query, by table and domain."""

    def __init__(self, nodes: NodeInfoLister, read: ContributionReader[T]) -> None:
        self._nodes, self._read = nodes, read
        self._generation = -1
        # Present contributions of each node; nodes without any are left out.
        self._contributions: dict[str, tuple[Contribution[T], ...]] = {}
        self._tables: dict[T, dict[str, int]] = {}

    @property
    def tables(self) -> Mapping[T, Counts]:
        """Tables that are not empty."""
        return self._tables

    def table(self, name: T) -> Counts:
        """Return a table, valid until the next `refresh`."""
        return self._tables.get(name, _NO_COUNTS)

    def refresh(self) -> None:  # hot: per pod; the first time per node
        """Apply the changes of nodes since the last refresh."""
        nodes = self._nodes
        if nodes.generation == self._generation:
            return
        if self._generation < nodes.forgotten_generation:
            self._contributions, self._tables, self._generation = {}, {}, -1
        contributions = self._contributions
        for name in nodes.changed_since(self._generation):
            node = nodes.get(name)
            new = () if node is None else tuple(self._read(node))
            old = contributions.get(name, ())
            if new != old:
                self._replace(name, old, new)
        self._generation = nodes.generation

    def _replace(self, name: str, old: tuple[Contribution[T], ...], new: tuple[Contribution[T], ...]) -> None:
        # New amounts first: a sum that stays above zero is then not deleted and created again.
        for table, domain, amount in new:
            self._add(table, domain, amount)
        for table, domain, amount in old:
            self._add(table, domain, -amount)
        if new:
            self._contributions[name] = new
        else:
            del self._contributions[name]

    def _add(self, table: T, domain: str, amount: int) -> None:
        sums = self._tables.setdefault(table, {})
        total = sums.get(domain, 0) + amount
        if total:
            sums[domain] = total
            return
        # Zeros are removed, because callers take the presence of a domain for a count above zero.
        del sums[domain]
        if not sums:
            del self._tables[table]


class DomainCountsCache(Generic[T]):
    """Cached counts of a plugin, by query."""

    def __init__(self, nodes: NodeInfoLister) -> None:
        self._nodes = nodes
        self._cached: LRUCache[Hashable, DomainCounts[T]] = LRUCache(CACHED_QUERIES_MAX)

    def get(self, query: Hashable, nodes: NodeInfoLister, read: ContributionReader[T]) -> DomainCounts[T]:
        """Return current counts; equal queries must have equivalent readers.

        Counts of other nodes than those of the scheduler (dry runs) are not cached.
        """
        counts = self._cached.get(query) if nodes is self._nodes else None
        if counts is None:
            counts = DomainCounts(nodes, read)
            if nodes is self._nodes:
                self._cached[query] = counts
        counts.refresh()
        return counts
