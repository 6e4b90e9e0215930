"""Order of keys: prefixes as ranges, and a sorted set of keys.

Keys are ordered by the bytes of their UTF-8, which is the order of code points, hence that of `str`.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Final

from mockkube_storage.errors import InvalidKey

_SURROGATES: Final = range(0xD800, 0xE000)
_CODE_POINT_MAX: Final = 0x10FFFF


def check_key(key: str) -> None:
    """Raise InvalidKey unless every engine can hold the key."""
    if not key or "\0" in key:
        raise InvalidKey(key)
    if not key.isascii() and any(ord(char) in _SURROGATES for char in key):
        raise InvalidKey(key)


def prefix_end(prefix: str) -> str | None:
    """Return the least text greater than all that start with `prefix`; None if there is none."""
    stem = prefix.rstrip(chr(_CODE_POINT_MAX))
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    if following in _SURROGATES:  # no key holds one, and no database takes one
        following = _SURROGATES.stop
    return stem[:-1] + chr(following)


class SortedKeys:
    """Set of keys in order; adding one moves pointers, which is fast enough for some 100,000 keys."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys = sorted(keys)

    def add(self, key: str) -> None:
        """Insert a key that is not in the set."""
        if self._keys and key > self._keys[-1]:
            self._keys.append(key)
        else:
            insort(self._keys, key)

    def remove(self, key: str) -> None:
        """Remove a key that is in the set."""
        index = bisect_left(self._keys, key)
        assert self._keys[index] == key
        del self._keys[index]

    def keys_in_range(self, prefix: str, start: str) -> list[str]:
        """Return the keys that begin with `prefix`, from `start` on."""
        end = prefix_end(prefix)
        low = bisect_left(self._keys, max(prefix, start))
        high = len(self._keys) if end is None else bisect_left(self._keys, end)
        return self._keys[low:high]
