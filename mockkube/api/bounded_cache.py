"""Thread-safe LRU cache, bounded by its number of entries and by their total size."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

BYTES_MAX: Final = 32 * 1024 * 1024


class BoundedCache(Generic[K, V]):
    """LRU cache. A value that `size_of` finds larger than the total bound is not cached."""

    def __init__(
        self, entries_max: int, *, bytes_max: int = BYTES_MAX, size_of: Callable[[V], int] | None = None
    ) -> None:
        self._entries_max, self._bytes_max, self._size_of = entries_max, bytes_max, size_of
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """Return the cached value of a key, None if there is none."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V) -> None:
        """Cache a value and drop the least recently used entries beyond the bounds."""
        size = self._size_of(value) if self._size_of is not None else 0
        if size > self._bytes_max:
            return
        with self._lock:
            replaced = self._entries.pop(key, None)
            self._bytes += size - (replaced[1] if replaced is not None else 0)
            self._entries[key] = (value, size)
            while len(self._entries) > self._entries_max or self._bytes > self._bytes_max:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._bytes -= dropped
