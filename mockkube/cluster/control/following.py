"""Reconcile changed objects of a control kind, one call at a time; own status writes are ignored."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from mockkube.apiserver.registry.cache import Change, ChangeType, Collection, Record


def is_report(change: Change) -> bool:
    """Return whether a change leaves the spec as it was: only status or metadata changed."""
    return change.type is ChangeType.MODIFIED and _generation(change.record) == _generation(change.previous)


def _generation(record: Record | None) -> int:
    return 0 if record is None else int(record.load()["metadata"]["generation"])


class Follower:
    """Calls `act` with the names of changed objects in the order of their changes; first with all objects."""

    def __init__(self, collection: Collection, act: Callable[[Iterable[str]], Awaitable[None]]) -> None:
        self._collection = collection
        self._act = act
        self._pending: dict[str, None] = {}
        self._wake = asyncio.Event()

    def look(self, *names: str) -> None:
        """Enqueue names, or only a call without names, although no spec changed."""
        self._pending.update(dict.fromkeys(names))
        self._wake.set()

    def _heed(self, change: Change) -> None:
        if not is_report(change):
            self.look(change.record.name)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Receive changes, beginning with all existing objects, until the context is left."""
        self._collection.listeners[self._heed] = None
        self.look(*(record.name for record in self._collection.records.values()))
        try:
            yield
        finally:
            del self._collection.listeners[self._heed]

    def is_ready(self) -> bool:
        """Return whether a call is due."""
        return self._wake.is_set()

    async def step(self) -> None:
        """Reconcile all enqueued names in one call."""
        # Cleared before the call: a change that comes during it sets the event again.
        self._wake.clear()
        names, self._pending = self._pending, {}
        await self._act(tuple(names))

    async def run(self) -> None:
        """Reconcile until cancelled."""
        with self.following():
            while True:
                await self._wake.wait()
                await self.step()
