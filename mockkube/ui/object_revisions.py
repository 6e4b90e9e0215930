"""Revisions of one object that its store still has, oldest first."""

from typing import Any, Final

from mockkube_storage import errors as store_errors
from mockkube_storage.model import REVISION_FIRST, EventType
from mockkube_storage.store import Store

from mockkube.apiserver.registry.resource import Resource
from mockkube.ui.store_follower import find_time

# Revisions that are returned, the last ones: an object in a hot loop has thousands.
REVISIONS_MAX: Final = 60


async def read_revisions(store: Store, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
    """Return the revisions of an object, and whether there were earlier ones which have been compacted."""
    key = f"{resource.prefix(namespace)}{name}"
    oldest = REVISION_FIRST
    while True:
        try:
            return await _read_after(store, resource, key, oldest)
        except store_errors.Compacted as error:
            oldest = error.oldest


async def _read_after(store: Store, resource: Resource, key: str, oldest: int) -> dict[str, Any]:
    first = await store.get(key, revision=oldest)
    entries = [] if first is None else [(first, False)]
    until = await store.current_revision()
    async with store.watch("", after=oldest) as watch:
        while watch.revision < until:
            entries += [
                (event.entry, event.type is EventType.DELETE)
                for event in await anext(watch)
                if event.entry.key == key and event.revision <= until
            ]
    found = []
    for entry, is_deletion in entries[-REVISIONS_MAX:]:
        obj = resource.decode_entry(entry).load()
        found.append({"revision": entry.revision, "at": find_time(obj), "deleted": is_deletion, "object": obj})
    # Without the write that created the object, what came before is not known.
    complete = bool(entries) and entries[0][0].create_revision == entries[0][0].revision
    return {"oldest": oldest, "complete": complete and len(entries) <= REVISIONS_MAX, "revisions": found}
