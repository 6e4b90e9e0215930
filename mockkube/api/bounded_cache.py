"""Thread-safe LRU cache, bounded by its number of entries and by their total size, and one by digests of JSON."""

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from threading import Lock
from typing import Any, Final, Generic, TypeVar

import orjson

K = TypeVar("K")
V = TypeVar("V")

BYTES_MAX: Final = 32 * 1024 * 1024
_DIGEST_BYTES: Final = 16
_DIGESTS_MAX: Final = 1024
_KEPT_BYTES_MAX: Final = 64 * 1024


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


class DigestCache(Generic[V]):
    """Values that follow from a JSON value, known by its digest, and from settings, like the capabilities of a server.

    Settings are compared by identity: what servers with different settings ask for in turn is computed in turn.
    """

    def __init__(self) -> None:
        self._values: BoundedCache[bytes, tuple[object, V]] = BoundedCache(_DIGESTS_MAX)

    def get(self, digest: bytes, settings: object) -> V | None:
        """Return the value that follows from the digested one; None if it is not known."""
        known = self._values.get(digest)
        return known[1] if known is not None and known[0] is settings else None

    def put(self, digest: bytes, settings: object, value: V) -> None:
        """Remember the value that follows from the digested one."""
        self._values.put(digest, (settings, value))


class _Digester:
    """Digests values; the last one is kept, because the steps of a write digest the same value in turn."""

    def __init__(self) -> None:
        self._last: tuple[bytes, bytes] = (b"", b"")

    def digest(self, value: Any) -> bytes:
        """Return the digest of a JSON value; values that differ in the order of keys have different ones."""
        text = orjson.dumps(value)
        last = self._last  # read once: other threads replace it
        if text == last[0]:
            return last[1]
        digest = blake2b(text, digest_size=_DIGEST_BYTES).digest()
        if len(text) <= _KEPT_BYTES_MAX:
            self._last = (text, digest)
        return digest


digest_json: Final = _Digester().digest
