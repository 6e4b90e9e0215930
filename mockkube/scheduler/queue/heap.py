"""Heap of items that can be found and removed by uid."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
# Removed entries that the heap may contain before it is rebuilt.
_STALE_MAX: Final = 1000


class Heap(Generic[T]):
    """Items by rank, least first; items of equal rank in order of arrival."""

    def __init__(self) -> None:
        self._entries: list[tuple[Any, int, str]] = []
        self._items: dict[str, tuple[int, T]] = {}
        self._last_number = 0

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, uid: str) -> bool:
        return uid in self._items

    def __iter__(self) -> Iterator[T]:
        return (item for _, item in self._items.values())

    def put(self, uid: str, rank: Any, item: T) -> None:
        """Add an item, or change its rank."""
        self._last_number += 1
        self._items[uid] = (self._last_number, item)
        # The old entry stays in the heap and is recognized by its number: removing it would mean a search.
        heappush(self._entries, (rank, self._last_number, uid))

    def get(self, uid: str) -> T | None:
        """Return an item by uid."""
        numbered = self._items.get(uid)
        return numbered[1] if numbered else None

    def remove(self, uid: str) -> T | None:
        """Remove an item by uid."""
        numbered = self._items.pop(uid, None)
        if len(self._entries) > len(self._items) + _STALE_MAX:
            self._entries = [entry for entry in self._entries if self._is_current(entry)]
            heapify(self._entries)
        return numbered[1] if numbered else None

    def peek(self) -> T | None:
        """Return the item of the least rank; None if the heap is empty."""
        while self._entries and not self._is_current(self._entries[0]):
            heappop(self._entries)
        return self._items[self._entries[0][2]][1] if self._entries else None

    def pop(self) -> T | None:
        """Remove and return the item of the least rank."""
        item = self.peek()
        if item is not None:
            del self._items[heappop(self._entries)[2]]
        return item

    def _is_current(self, entry: tuple[Any, int, str]) -> bool:
        numbered = self._items.get(entry[2])
        return numbered is not None and numbered[0] == entry[1]
