"""A cache of objects with what the scheduler has decided about some of them, until the cache shows it or moves on.

upstream 1.36: pkg/scheduler/framework/plugins/volumebinding/passive_assume_cache.go, pkg/scheduler/util/assumecache
"""

from collections.abc import Iterable

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Change, ListWatch
from mockkube.client.protocol import Key, key_of


class AssumedObjects:
    """The objects of one kind. An assumption counts as long as the cache holds nothing newer than it."""

    def __init__(self, cache: ListWatch) -> None:
        self.cache = cache
        """What the API server has shown so far."""
        self._assumed: dict[Key, ReadOnlyObject] = {}
        cache.subscribe(self._expire)

    def get(self, key: Key) -> ReadOnlyObject | None:
        """Return an object as the scheduler takes it to be; None once the API server has removed it."""
        stored = self.cache.get(key)
        return None if stored is None else self._assumed.get(key, stored)

    def in_place_of(self, objs: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
        """Return these objects of the cache as the scheduler takes them to be."""
        if not self._assumed:
            return list(objs)
        return [self._assumed.get(key_of(obj), obj) for obj in objs]

    def assume(self, obj: ReadOnlyObject) -> str:
        """Take an object to be like this; return why that cannot be, or nothing."""
        key = key_of(obj)
        stored = self.cache.get(key)
        if stored is None:
            return f'"{key}" not found'
        if version_of(stored) > version_of(obj):
            versions = f"stored: {version_of(stored)}, assume: {version_of(obj)}"
            return f'"{key}" is out of sync ({versions})'
        self._assumed[key] = obj
        return ""

    def restore(self, obj: ReadOnlyObject) -> None:
        """Give up an assumption, unless another has taken its place."""
        key = key_of(obj)
        assumed = self._assumed.get(key)
        if assumed is not None and version_of(assumed) == version_of(obj):
            del self._assumed[key]

    def _expire(self, change: Change) -> None:
        key = key_of(change.object)
        assumed = self._assumed.get(key)
        if assumed is None:
            return
        stored = self.cache.get(key)
        if stored is None or _supersedes(stored, assumed):
            del self._assumed[key]


def version_of(obj: ReadOnlyObject) -> int:
    """Return an object's resourceVersion as what it is: a number that grows."""
    return int(obj["metadata"]["resourceVersion"])


def _supersedes(stored: ReadOnlyObject, assumed: ReadOnlyObject) -> bool:
    return version_of(stored) >= version_of(assumed)
