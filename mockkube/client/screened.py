"""A cache as one of its readers sees it: without the objects that this reader has failed on."""

from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.bad_objects import BadObjects
from mockkube.client.cache import Handler, Index, Indexer, ListWatch
from mockkube.client.protocol import Key, key_of
from mockkube.runtime.steps import Bell

HIDDEN_MAX: Final = 1000
"""Objects of one kind that one reader passes over; beyond it is the reader that is wrong."""


class Hidden:
    """Objects that a reader passes over, until they change."""

    def __init__(self) -> None:
        self._objects: dict[Key, ReadOnlyObject] = {}

    def __bool__(self) -> bool:
        return bool(self._objects)

    def __contains__(self, obj: ReadOnlyObject) -> bool:
        return self._objects.get(key_of(obj)) is obj

    def add(self, obj: ReadOnlyObject) -> bool:
        """Pass an object over from now on; False if that are too many already."""
        if len(self._objects) >= HIDDEN_MAX:
            return False
        self._objects[key_of(obj)] = obj
        return True

    def visible(self, objects: Sequence[ReadOnlyObject]) -> Sequence[ReadOnlyObject]:
        """Return the objects that are not passed over."""
        return [obj for obj in objects if obj not in self] if self._objects else objects


class ScreenedIndex(Index):
    """An index of a cache without what is hidden."""

    def __init__(self, index: Index, hidden: Hidden) -> None:
        self._index, self._hidden = index, hidden

    def replace(self, key: Key, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> None:
        """Leave it to the cache, which keeps its indexes itself."""
        raise NotImplementedError("the cache keeps its indexes")

    def get(self, value: str) -> list[ReadOnlyObject]:
        """Return the objects of a value."""
        objects = self._index.get(value)
        return [obj for obj in objects if obj not in self._hidden] if self._hidden else objects


class Screened(ListWatch):
    """A cache that somebody else steps, without what is hidden. What handlers are told is the same."""

    def __init__(self, cache: ListWatch, bad: BadObjects) -> None:
        self.name, self.kind, self.bell = cache.name, cache.kind, cache.bell
        self._cache, self.bad, self._hidden = cache, bad, Hidden()

    @property
    def objects(self) -> Mapping[Key, ReadOnlyObject]:
        """All objects by their keys."""
        objects = self._cache.objects
        return {key: obj for key, obj in objects.items() if obj not in self._hidden} if self._hidden else objects

    @property
    def synced(self) -> bool:
        """Whether the cache has held all there was at some moment."""
        return self._cache.synced

    def get(self, key: Key) -> ReadOnlyObject | None:
        """Return the object of a key, as far as the cache has seen."""
        obj = self._cache.get(key)
        return None if obj is not None and self._hidden and obj in self._hidden else obj

    def list(self, namespace: str = "") -> Sequence[ReadOnlyObject]:
        """Return all objects, or those of a namespace."""
        return self._hidden.visible(self._cache.list(namespace))

    def index(self, name: str, values: Indexer) -> Index:
        """Return the cache's index of this name."""
        return ScreenedIndex(self._cache.index(name, values), self._hidden)

    def subscribe(self, handler: Handler) -> None:
        """Tell a handler of every change."""
        self._cache.subscribe(handler)

    def tell_synced(self, bell: Bell) -> None:
        """Ring a bell when the cache holds all there was."""
        self._cache.tell_synced(bell)

    def hide(self, obj: ReadOnlyObject, reader: str, error: Exception) -> bool:
        """Pass an object over, which the reader has failed on, until it changes."""
        if not self._hidden.add(obj):
            return False
        self.bad.fail(reader, self.kind, key_of(obj), error)
        return True
