"""Counts over topology domains: what nodes contribute is summed by domain, and corrected for the nodes that changed.

A pod's cycle so costs what has changed since the last one that asked the same, not what there is. What is summed, and
into which tables, is the asker's affair; a domain is a value of a topology key.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, Generic, TypeVar

from cachetools import LRUCache

from mockkube.scheduler.framework.node_info import NodeInfo, Nodes

T = TypeVar("T", bound=Hashable)
REMEMBERED_MAX: Final = 256
"""How many questions a plugin keeps the counts of; the least recently asked is forgotten."""

Contribution = tuple[T, str, int]
"""Table, domain and what a node adds there, which is never 0. Plain tuples: there are many."""
Read = Callable[[NodeInfo], Iterable[Contribution[T]]]
Counts = Mapping[str, int]
"""Sums by domain; what would be 0 is not there."""
_NONE: Final[Counts] = {}


class DomainCounts(Generic[T]):
    """The sums of one question, by table and domain."""

    def __init__(self, nodes: Nodes, read: Read[T]) -> None:
        self._nodes, self._read = nodes, read
        self._seen = -1
        self._given: dict[str, tuple[Contribution[T], ...]] = {}
        """What each node contributes at present; nodes that contribute nothing are left out."""
        self._tables: dict[T, dict[str, int]] = {}

    @property
    def tables(self) -> Mapping[T, Counts]:
        """The tables that are not empty."""
        return self._tables

    def table(self, name: T) -> Counts:
        """Return the sums of a table, as they are until the next `refresh`."""
        return self._tables.get(name, _NONE)

    def refresh(self) -> None:  # hot: per pod; the first time per node
        """Take in which nodes have come, changed and gone."""
        nodes, given = self._nodes, self._given
        if nodes.generation == self._seen:
            return
        for name in nodes.changed_since(self._seen):
            node = nodes.get(name)
            new = () if node is None else tuple(self._read(node))
            old = given.get(name, ())
            if new != old:
                self._replace(name, old, new)
        self._seen = nodes.generation

    def _replace(self, name: str, old: tuple[Contribution[T], ...], new: tuple[Contribution[T], ...]) -> None:
        for table, domain, amount in new:
            self._add(table, domain, amount)
        for table, domain, amount in old:
            self._add(table, domain, -amount)
        if new:
            self._given[name] = new
        else:
            del self._given[name]

    def _add(self, table: T, domain: str, amount: int) -> None:
        sums = self._tables.setdefault(table, {})
        total = sums.get(domain, 0) + amount
        if total:
            sums[domain] = total
            return
        del sums[domain]
        if not sums:
            del self._tables[table]


class CountsByQuestion(Generic[T]):
    """The counts a plugin keeps, by whatever tells its questions apart."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._kept: LRUCache[Hashable, DomainCounts[T]] = LRUCache(REMEMBERED_MAX)

    def ask(self, question: Hashable, nodes: Nodes, read: Read[T]) -> DomainCounts[T]:
        """Return up-to-date counts; equal questions must come with equal readers. Other nodes are counted afresh."""
        counts = self._kept.get(question) if nodes is self._nodes else None
        if counts is None:
            counts = DomainCounts(nodes, read)
            if nodes is self._nodes:
                self._kept[question] = counts
        counts.refresh()
        return counts
