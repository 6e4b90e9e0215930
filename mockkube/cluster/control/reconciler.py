"""Reconcile changed objects of a control kind, one call at a time; own status writes are ignored."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from mockkube.apiserver.registry.watch_cache import CacheChange, CachedObject, ChangeType, Collection


def is_status_change(change: CacheChange) -> bool:
    """Return whether a change leaves the spec as it was: only status or metadata changed."""
    return change.type is ChangeType.MODIFIED and _get_generation(change.object) == _get_generation(change.previous)


def _get_generation(cached: CachedObject | None) -> int:
    return 0 if cached is None else int(cached.load()["metadata"]["generation"])


class Reconciler:
    """Calls `reconcile` with the names of changed objects in the order of their changes; first with all objects."""

    def __init__(self, collection: Collection, reconcile: Callable[[Iterable[str]], Awaitable[None]]) -> None:
        self._collection = collection
        self._reconcile = reconcile
        self._pending: dict[str, None] = {}
        self._wake = asyncio.Event()

    def enqueue(self, *names: str) -> None:
        """Enqueue names, or only a call without names, although no spec changed."""
        self._pending.update(dict.fromkeys(names))
        self._wake.set()

    def _handle_change(self, change: CacheChange) -> None:
        if not is_status_change(change):
            self.enqueue(change.object.name)

    @contextmanager
    def subscribe(self) -> Iterator[None]:
        """Receive changes, beginning with all existing objects, until the context is left."""
        self._collection.listeners[self._handle_change] = None
        self.enqueue(*(cached.name for cached in self._collection.objects.values()))
        try:
            yield
        finally:
            del self._collection.listeners[self._handle_change]

    def is_ready(self) -> bool:
        """Return whether a call is due."""
        return self._wake.is_set()

    async def step(self) -> None:
        """Reconcile all enqueued names in one call."""
        # Cleared before the call: a change that comes during it sets the event again.
        self._wake.clear()
        names, self._pending = self._pending, {}
        await self._reconcile(tuple(names))

    async def run(self) -> None:
        """Reconcile until cancelled."""
        with self.subscribe():
            while True:
                await self._wake.wait()
                await self.step()
