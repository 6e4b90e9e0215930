"""A heap whose items can be taken out by their uid."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
_STALE_MAX: Final = 1000
"""How many entries that are gone the heap may carry before it is built anew."""


class Heap(Generic[T]):
    """Items by rank, the least first; of equal rank the one that came first."""

    def __init__(self) -> None:
        self._entries: list[tuple[Any, int, str]] = []
        self._items: dict[str, tuple[int, T]] = {}
        self._drawn = 0

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, uid: str) -> bool:
        return uid in self._items

    def __iter__(self) -> Iterator[T]:
        return (item for _, item in self._items.values())

    def put(self, uid: str, rank: Any, item: T) -> None:
        """Add an item, or give it another rank."""
        self._drawn += 1
        self._items[uid] = (self._drawn, item)
        heappush(self._entries, (rank, self._drawn, uid))

    def get(self, uid: str) -> T | None:
        """Return an item."""
        found = self._items.get(uid)
        return found[1] if found else None

    def remove(self, uid: str) -> T | None:
        """Take an item out."""
        found = self._items.pop(uid, None)
        if len(self._entries) > len(self._items) + _STALE_MAX:
            self._entries = [entry for entry in self._entries if self._is_current(entry)]
            heapify(self._entries)
        return found[1] if found else None

    def first(self) -> T | None:
        """Return the item of the least rank; None if there is none."""
        while self._entries and not self._is_current(self._entries[0]):
            heappop(self._entries)
        return self._items[self._entries[0][2]][1] if self._entries else None

    def pop(self) -> T | None:
        """Take out the item of the least rank."""
        item = self.first()
        if item is not None:
            del self._items[heappop(self._entries)[2]]
        return item

    def _is_current(self, entry: tuple[Any, int, str]) -> bool:
        found = self._items.get(entry[2])
        return found is not None and found[0] == entry[1]
