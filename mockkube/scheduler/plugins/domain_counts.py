"""Counts over topology domains: what nodes contribute is summed by domain, and corrected for the nodes that changed.

A pod's cycle so costs what has changed since the last one that asked the same, not what there is. What is summed, and
into which tables, is the asker's affair; a domain is a value of a topology key.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

from cachetools import LRUCache

from mockkube.scheduler.framework.nodes import NodeInfo, Nodes

T = TypeVar("T", bound=Hashable)
REMEMBERED_MAX: Final = 256
"""How many questions a plugin keeps the counts of; the least recently asked is forgotten."""


class Contribution(NamedTuple, Generic[T]):
    """What a node adds to a domain in a table. A domain exists while some node contributes to it, be it 0."""

    table: T
    domain: str
    amount: int


Read = Callable[[NodeInfo], Iterable[Contribution[T]]]
Counts = Mapping[str, int]
_NONE: Final[Counts] = {}


class DomainCounts(Generic[T]):
    """The sums of one question, by table and domain."""

    def __init__(self, nodes: Nodes, read: Read[T]) -> None:
        self._nodes, self._read = nodes, read
        self._seen = -1
        self._given: dict[str, tuple[Contribution[T], ...]] = {}
        """What each node contributes at present; nodes that contribute nothing are left out."""
        self._sums: dict[T, dict[str, int]] = {}
        self._members: dict[T, dict[str, int]] = {}
        """How many nodes contribute to a domain."""

    @property
    def tables(self) -> Mapping[T, Counts]:
        """The tables that have a domain."""
        return self._sums

    def table(self, name: T) -> Counts:
        """Return the sums of a table; they follow the nodes with each `refresh`."""
        return self._sums.get(name, _NONE)

    def refresh(self) -> None:
        """Take in which nodes have come, changed and gone."""
        generation = self._nodes.generation
        if generation == self._seen:
            return
        for name in self._nodes.changed_since(self._seen):
            node = self._nodes.get(name)
            self._replace(name, () if node is None else tuple(self._read(node)))
        self._seen = generation

    def _replace(self, name: str, new: tuple[Contribution[T], ...]) -> None:
        old = self._given.get(name, ())
        if new == old:
            return
        for table, domain, amount in new:
            sums, members = self._sums.setdefault(table, {}), self._members.setdefault(table, {})
            sums[domain] = sums.get(domain, 0) + amount
            members[domain] = members.get(domain, 0) + 1
        for one in old:
            self._take_back(one)
        if new:
            self._given[name] = new
        else:
            self._given.pop(name, None)

    def _take_back(self, given: Contribution[T]) -> None:
        table, domain, amount = given
        sums, members = self._sums[table], self._members[table]
        if members[domain] > 1:
            sums[domain] -= amount
            members[domain] -= 1
            return
        del sums[domain], members[domain]
        if not sums:
            del self._sums[table], self._members[table]


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
