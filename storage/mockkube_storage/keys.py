"""Order of keys: prefixes as ranges, and a sorted set of keys.

Keys are ordered by the bytes of their UTF-8, which is the order of code points, hence that of `str`.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from typing import Final

from mockkube_storage.errors import InvalidKey

_SURROGATES: Final = range(0xD800, 0xE000)
_CODE_POINT_MAX: Final = 0x10FFFF
# Keys in a part of a sorted set before it is split.
_PART_MAX: Final = 2048


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
    """Set of keys in order, in parts of bounded size: adding one of 500,000 takes no longer than one of 1,000.

    Only one thread changes the set, while others may read it.
    """

    __slots__ = ("_parts",)

    def __init__(self, keys: Iterable[str] = ()) -> None:
        ordered = sorted(keys)
        parts = [ordered[start : start + _PART_MAX // 2] for start in range(0, len(ordered), _PART_MAX // 2)] or [[]]
        # The bound below each part, and the parts; replaced together, so that a reader sees those of one moment.
        self._parts = (["", *(part[0] for part in parts[1:])], parts)

    def add(self, key: str) -> None:  # hot: every creation
        """Insert a key that is not in the set."""
        bounds, parts = self._parts
        index = bisect_right(bounds, key) - 1
        part = parts[index]
        if not part or key > part[-1]:
            part.append(key)
        else:
            insort(part, key)
        if len(part) > _PART_MAX:
            half = len(part) // 2
            # Readers may hold the old part, so it stays as it is.
            self._replace(index, [bounds[index], part[half]], [part[:half], part[half:]])

    def remove(self, key: str) -> None:
        """Remove a key that is in the set."""
        bounds, parts = self._parts
        index = bisect_right(bounds, key) - 1
        part = parts[index]
        at = bisect_left(part, key)
        assert part[at] == key
        del part[at]
        if not part and index:
            self._replace(index, [], [])

    def keys_in_range(self, prefix: str, start: str = "") -> list[str]:
        """Return the keys that begin with `prefix`, from `start` on."""
        end, low = prefix_end(prefix), max(prefix, start)
        bounds, parts = self._parts
        first = bisect_right(bounds, low) - 1
        last = len(bounds) if end is None else bisect_left(bounds, end)
        found: list[str] = []
        for part in parts[first:last]:
            found += part  # a copy: another thread may insert a key between the searches
        if end is not None:
            del found[bisect_left(found, end) :]
        del found[: bisect_left(found, low)]
        return found

    def _replace(self, index: int, bounds: list[str], parts: list[list[str]]) -> None:
        before = self._parts
        self._parts = (
            [*before[0][:index], *bounds, *before[0][index + 1 :]],
            [*before[1][:index], *parts, *before[1][index + 1 :]],
        )
