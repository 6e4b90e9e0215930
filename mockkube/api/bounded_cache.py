"""A cache with limits: how many entries it has, and how large they are together. Several threads may use it."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

BYTES_MAX: Final = 32 * 1024 * 1024


class BoundedCache(Generic[K, V]):
    """Forgets the entries unused for longest. What `size_of` finds larger than all may be together is not kept."""

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
        """Return what was kept for a key."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V) -> None:
        """Keep a value for a key."""
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
