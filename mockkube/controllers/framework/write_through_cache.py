"""Informer with the controller's own writes: the newer of the observed and the written object counts.

upstream 1.36: pkg/controller/volume/persistentvolume/pv_controller_base.go, storeObjectUpdate
"""

from collections.abc import Iterator

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of


class WriteThroughCache:
    """Objects of one kind by key, own writes included."""

    def __init__(self, informer: Informer) -> None:
        self._informer = informer
        self._written: dict[Key, ReadOnlyObject] = {}
        # resourceVersion of the last own write to each object that still exists.
        self._own_versions: dict[Key, str] = {}
        # Uids of objects that were deleted here and that the informer still shows.
        self._deleted: dict[Key, str] = {}
        # Newest resourceVersion that the informer has delivered.
        self._observed_version = 0
        informer.add_event_handler(self._handle_change)

    def _handle_change(self, change: ObjectChange) -> None:
        key, obj = key_of(change.object), change.object
        self._observed_version = max(self._observed_version, _resource_version(obj))
        written = self._written.get(key)
        if written is not None and (
            change.type is WatchEventType.DELETED or _resource_version(obj) >= _resource_version(written)
        ):
            del self._written[key]
        if change.type is WatchEventType.DELETED:
            self._own_versions.pop(key, None)
        # An object of the same name with another uid is new, and visible immediately.
        if change.type is WatchEventType.DELETED or self._deleted.get(key) != obj["metadata"]["uid"]:
            self._deleted.pop(key, None)

    def get(self, key: Key) -> ReadOnlyObject | None:
        """Return the newest known state of an object."""
        if key in self._deleted:
            return None
        return self._written.get(key) or self._informer.get(key)

    def all(self, namespace: str = "") -> Iterator[ReadOnlyObject]:
        """Yield all objects, or those of a namespace."""
        for obj in self._informer.list(namespace):
            key = key_of(obj)
            if key not in self._deleted:
                yield self._written.get(key, obj)
        # Objects that were created here and that the informer does not show yet.
        for key, obj in list(self._written.items()):
            if namespace in ("", key.namespace) and self._informer.get(key) is None:
                yield obj

    def record_write(self, obj: ReadOnlyObject) -> ReadOnlyObject:
        """Record a written object and return it."""
        key = key_of(obj)
        cached = self._informer.get(key)
        # The watch events of a write and of a deletion after it can arrive before the response to the write.
        if cached is None and _resource_version(obj) <= self._observed_version:
            return obj
        self._own_versions[key] = obj["metadata"]["resourceVersion"]
        # The watch event of a write can arrive before its response.
        if cached is None or _resource_version(cached) < _resource_version(obj):
            self._written[key] = obj
        return obj

    def is_own(self, obj: ReadOnlyObject) -> bool:
        """Return whether an object's state is that of the last write made here."""
        return bool(self._own_versions.get(key_of(obj)) == obj["metadata"]["resourceVersion"])

    def record_deletion(self, obj: ReadOnlyObject) -> None:
        """Record a deletion: the object is invisible from now on."""
        key = key_of(obj)
        self._written.pop(key, None)
        if self._informer.get(key) is not None:
            self._deleted[key] = obj["metadata"]["uid"]


def _resource_version(obj: ReadOnlyObject) -> int:
    return int(obj["metadata"]["resourceVersion"])
