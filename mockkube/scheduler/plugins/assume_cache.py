"""Assume cache: an informer's objects, overlaid with the scheduler's own decisions about some of them.

upstream 1.36: pkg/scheduler/framework/plugins/volumebinding/passive_assume_cache.go, pkg/scheduler/util/assumecache
"""

from collections.abc import Iterable

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.protocol import Key, key_of


class AssumeCache:
    """Objects of one kind; an assumed object counts until the informer has a newer one."""

    def __init__(self, informer: Informer) -> None:
        # Objects as the API server sent them.
        self.informer = informer
        self._assumed: dict[Key, ReadOnlyObject] = {}
        informer.add_event_handler(self._on_change)

    def get(self, key: Key) -> ReadOnlyObject | None:
        """Return the assumed object, or that of the informer; None once the informer has dropped it."""
        stored = self.informer.get(key)
        return None if stored is None else self._assumed.get(key, stored)

    def overlay(self, objs: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
        """Return objects of the informer, replaced by assumed ones where there are any."""
        if not self._assumed:
            return list(objs)
        return [self._assumed.get(key_of(obj), obj) for obj in objs]

    def assume(self, obj: ReadOnlyObject) -> str:
        """Assume an object; return an error text if that is not possible."""
        key = key_of(obj)
        stored = self.informer.get(key)
        if stored is None:
            return f'"{key}" not found'
        # The decision was made on an outdated revision, so the write would fail with a conflict.
        if resource_version(stored) > resource_version(obj):
            versions = f"stored: {resource_version(stored)}, assume: {resource_version(obj)}"
            return f'"{key}" is out of sync ({versions})'
        self._assumed[key] = obj
        return ""

    def restore(self, obj: ReadOnlyObject) -> None:
        """Drop an assumed object, unless another revision has replaced it."""
        key = key_of(obj)
        assumed = self._assumed.get(key)
        if assumed is not None and resource_version(assumed) == resource_version(obj):
            del self._assumed[key]

    def _on_change(self, change: ObjectChange) -> None:
        key = key_of(change.object)
        assumed = self._assumed.get(key)
        if assumed is None:
            return
        stored = self.informer.get(key)
        if stored is None or _is_at_least(stored, assumed):
            del self._assumed[key]


def resource_version(obj: ReadOnlyObject) -> int:
    """Return an object's resourceVersion as a number."""
    # As upstream's assume cache, and against the API's rule that versions are opaque: there is no other order.
    return int(obj["metadata"]["resourceVersion"])


def _is_at_least(stored: ReadOnlyObject, assumed: ReadOnlyObject) -> bool:
    return resource_version(stored) >= resource_version(assumed)
