"""A cache that does not forget what its controller wrote: the newer of what was seen and what was written counts.

upstream 1.36: pkg/controller/volume/persistentvolume/pv_controller_base.go, storeObjectUpdate
"""

from collections.abc import Iterator

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Change, ListWatch
from mockkube.client.protocol import EventType, Key, key_of


class Ledger:
    """Objects of one kind by key."""

    def __init__(self, cache: ListWatch) -> None:
        self._cache = cache
        self._written: dict[Key, ReadOnlyObject] = {}
        cache.subscribe(self._seen)

    def _seen(self, change: Change) -> None:
        key = key_of(change.object)
        written = self._written.get(key)
        if written is not None and (change.type is EventType.DELETED or _age(change.object) >= _age(written)):
            del self._written[key]

    def get(self, key: Key) -> ReadOnlyObject | None:
        """Return the object as it was last seen or written."""
        return self._written.get(key) or self._cache.get(key)

    def all(self) -> Iterator[ReadOnlyObject]:
        """Return all objects."""
        for key, obj in self._cache.objects.items():
            yield self._written.get(key, obj)

    def wrote(self, obj: ReadOnlyObject) -> ReadOnlyObject:
        """Remember what was written; return it."""
        seen = self._cache.get(key_of(obj))
        if seen is None or _age(seen) < _age(obj):
            self._written[key_of(obj)] = obj
        return obj


def _age(obj: ReadOnlyObject) -> int:
    return int(obj["metadata"]["resourceVersion"])
