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
        self._own: dict[Key, str] = {}
        """The resourceVersion of the last write to each object that was not seen to go since."""
        self._deleted: dict[Key, str] = {}
        """What was deleted and is still seen, by uid."""
        cache.subscribe(self._seen)

    def _seen(self, change: Change) -> None:
        key, obj = key_of(change.object), change.object
        written = self._written.get(key)
        if written is not None and (change.type is EventType.DELETED or _age(obj) >= _age(written)):
            del self._written[key]
        if change.type is EventType.DELETED:
            self._own.pop(key, None)
        if change.type is EventType.DELETED or self._deleted.get(key) != obj["metadata"]["uid"]:
            self._deleted.pop(key, None)

    def get(self, key: Key) -> ReadOnlyObject | None:
        """Return the object as it was last seen or written."""
        if key in self._deleted:
            return None
        return self._written.get(key) or self._cache.get(key)

    def all(self, namespace: str = "") -> Iterator[ReadOnlyObject]:
        """Return all objects, or those of a namespace."""
        for obj in self._cache.list(namespace):
            key = key_of(obj)
            if key not in self._deleted:
                yield self._written.get(key, obj)
        for key, obj in list(self._written.items()):
            if namespace in ("", key.namespace) and self._cache.get(key) is None:
                yield obj

    def wrote(self, obj: ReadOnlyObject) -> ReadOnlyObject:
        """Remember what was written; return it."""
        key = key_of(obj)
        self._own[key] = obj["metadata"]["resourceVersion"]
        seen = self._cache.get(key)
        if seen is None or _age(seen) < _age(obj):
            self._written[key] = obj
        return obj

    def is_own(self, obj: ReadOnlyObject) -> bool:
        """Whether an object is as it was last written here."""
        return bool(self._own.get(key_of(obj)) == obj["metadata"]["resourceVersion"])

    def deleted(self, obj: ReadOnlyObject) -> None:
        """Remember what was deleted, and is seen no more from now on."""
        key = key_of(obj)
        self._written.pop(key, None)
        if self._cache.get(key) is not None:
            self._deleted[key] = obj["metadata"]["uid"]


def _age(obj: ReadOnlyObject) -> int:
    return int(obj["metadata"]["resourceVersion"])
