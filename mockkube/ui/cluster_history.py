"""Rows of all objects of the page, and the changes that led to them, as far back as they are known.

`base` is the state at `start`, `current` the present one, `changes` all that happened between the two.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final, NamedTuple

from mockkube.lazy_dataclasses import dataclass
from mockkube.ui.object_rows import Row

# Changes that are kept; the oldest are folded into `base` beyond that.
CHANGES_MAX: Final = 100_000


class RowKey(NamedTuple):
    """Key of a row: resource, namespace (empty for cluster-scoped objects) and name."""

    resource: str
    namespace: str
    name: str


class Change(NamedTuple):
    """A new row of an object, or None once it is deleted."""

    key: RowKey
    row: Row | None
    revision: int
    # Milliseconds since 1970 on the cluster's clock.
    at: int


@dataclass(slots=True)
class ClusterHistory:
    """Rows of one cluster over time. Readers keep the number of the next change that they want."""

    base: dict[RowKey, Row] = field(default_factory=dict)
    current: dict[RowKey, Row] = field(default_factory=dict)
    changes: deque[Change] = field(default_factory=deque)
    start: int = 0
    # Number of the first change in `changes`, counted from the beginning.
    first_number: int = 0
    _waiting: set[asyncio.Event] = field(default_factory=set)

    @property
    def next_number(self) -> int:
        """Number that the next change will have."""
        return self.first_number + len(self.changes)

    def load(self, rows: Mapping[RowKey, Row], at: int) -> None:
        """Add rows that exist at the beginning of the history."""
        self.base.update(rows)
        self.current.update(rows)
        self.start = max(self.start, at)

    def add(self, change: Change) -> None:
        """Add a change, unless the row is the same as before."""
        if self.current.get(change.key) == change.row:
            return
        if change.row is None:
            del self.current[change.key]
        else:
            self.current[change.key] = change.row
        self.changes.append(change)
        if len(self.changes) > CHANGES_MAX:
            self._fold_oldest()
        for event in self._waiting:
            event.set()

    def replace(self, resources: Iterable[str], rows: Mapping[RowKey, Row], revision: int, at: int) -> None:
        """Record a new list of all objects of these resources: what was missed between is one change for each."""
        known = frozenset(resources)
        for key in [key for key in self.current if key.resource in known and key not in rows]:
            self.add(Change(key, None, revision, at))
        for key, row in rows.items():
            self.add(Change(key, row, revision, at))

    def _fold_oldest(self) -> None:
        oldest = self.changes.popleft()
        self.first_number += 1
        self.start = max(self.start, oldest.at)
        if oldest.row is None:
            self.base.pop(oldest.key, None)
        else:
            self.base[oldest.key] = oldest.row

    def read_changes(self, number: int) -> list[Change] | None:
        """Return the changes from a number on; None if some of them are no longer kept."""
        skipped = number - self.first_number
        if skipped < 0:
            return None
        # From the right: readers want the last few of many changes.
        count = len(self.changes) - skipped
        found = [self.changes[-1 - index] for index in range(count)]
        found.reverse()
        return found

    async def wait(self, number: int) -> None:
        """Return once there is a change with this number."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            while self.next_number <= number:
                event.clear()
                await event.wait()
        finally:
            self._waiting.discard(event)
