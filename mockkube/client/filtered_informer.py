"""Filtered informer: hides objects that one reader failed on from this reader."""

from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.bad_objects import BadObjects
from mockkube.client.informer import EventHandler, HeartbeatHandler, Indexer, IndexFunc, Informer
from mockkube.client.protocol import Key, key_of
from mockkube.runtime.steps import Signal

# Bound per kind and reader: a reader that fails on more objects than this is itself the culprit.
HIDDEN_MAX: Final = 1000


class HiddenObjects:
    """Objects that a reader skips until they change."""

    def __init__(self) -> None:
        self._objects: dict[Key, ReadOnlyObject] = {}

    def __bool__(self) -> bool:
        return bool(self._objects)

    def __contains__(self, obj: ReadOnlyObject) -> bool:
        # Compared by identity: a changed object is another dict, and is therefore visible again without any
        # bookkeeping.
        return self._objects.get(key_of(obj)) is obj

    def add(self, obj: ReadOnlyObject) -> bool:
        """Skip an object from now on; False if too many are skipped already."""
        if len(self._objects) >= HIDDEN_MAX:
            return False
        self._objects[key_of(obj)] = obj
        return True

    def visible(self, objects: Sequence[ReadOnlyObject]) -> Sequence[ReadOnlyObject]:
        """Return the objects that are not skipped."""
        return [obj for obj in objects if obj not in self] if self._objects else objects


class FilteredIndexer(Indexer):
    """Index of an informer without its hidden objects."""

    def __init__(self, index: Indexer, hidden: HiddenObjects) -> None:
        self._index, self._hidden = index, hidden

    def replace(self, key: Key, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> None:
        """Refuse: the informer maintains its indexes itself."""
        raise NotImplementedError("the cache keeps its indexes")

    def get(self, value: str) -> list[ReadOnlyObject]:
        """Return the visible objects indexed under a value."""
        objects = self._index.get(value)
        return [obj for obj in objects if obj not in self._hidden] if self._hidden else objects


class FilteredInformer(Informer):
    """View of a shared informer without the hidden objects; event handlers still get all changes."""

    def __init__(self, informer: Informer, bad: BadObjects) -> None:
        # The constructor of the base class is not called: everything is delegated to the shared informer.
        self.name, self.kind, self.signal = informer.name, informer.kind, informer.signal
        self._informer, self.bad, self._hidden = informer, bad, HiddenObjects()

    @property
    def objects(self) -> Mapping[Key, ReadOnlyObject]:
        """Visible objects by key."""
        objects = self._informer.objects
        return {key: obj for key, obj in objects.items() if obj not in self._hidden} if self._hidden else objects

    @property
    def has_synced(self) -> bool:
        """True once the shared informer has synced."""
        return self._informer.has_synced

    @property
    def resource_version(self) -> str:
        """Version of the last list or event of the shared informer."""
        return self._informer.resource_version

    def get(self, key: Key) -> ReadOnlyObject | None:
        """Return the cached object of a key, unless it is hidden."""
        obj = self._informer.get(key)
        return None if obj is not None and self._hidden and obj in self._hidden else obj

    def list(self, namespace: str = "") -> Sequence[ReadOnlyObject]:
        """Return the visible objects, of one namespace or of all."""
        return self._hidden.visible(self._informer.list(namespace))

    def index(self, name: str, values: IndexFunc) -> Indexer:
        """Return the informer's index with this name, without hidden objects."""
        return FilteredIndexer(self._informer.index(name, values), self._hidden)

    def add_event_handler(self, handler: EventHandler) -> None:
        """Call a handler for every change, hidden objects included."""
        self._informer.add_event_handler(handler)

    def add_heartbeat_handler(self, handler: HeartbeatHandler) -> None:
        """Call a handler with heartbeats that are sent together."""
        self._informer.add_heartbeat_handler(handler)

    def notify_when_synced(self, signal: Signal) -> None:
        """Notify a signal once the shared informer has synced."""
        self._informer.notify_when_synced(signal)

    def hide(self, obj: ReadOnlyObject, reader: str, error: Exception) -> bool:
        """Skip an object that the reader failed on until it changes; False if too many are skipped."""
        if not self._hidden.add(obj):
            return False
        self.bad.record_failure(reader, self.kind, key_of(obj), error)
        return True
