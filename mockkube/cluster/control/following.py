"""Following the objects of a control kind: told what has changed, one call at a time, its own reports left out."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from mockkube.apiserver.registry.cache import Change, ChangeType, Collection, Record


def is_report(change: Change) -> bool:
    """Whether nothing was asked for anew: the status has changed, or labels have."""
    return change.type is ChangeType.MODIFIED and _generation(change.record) == _generation(change.previous)


def _generation(record: Record | None) -> int:
    return 0 if record is None else int(record.load()["metadata"]["generation"])


class Follower:
    """Calls `act` with the names of what has changed, in the order of the changes; at first with all there is."""

    def __init__(self, collection: Collection, act: Callable[[Iterable[str]], Awaitable[None]]) -> None:
        self._collection = collection
        self._act = act
        self._pending: dict[str, None] = {}
        self._wake = asyncio.Event()

    def look(self, *names: str) -> None:
        """Have `act` called again, although nothing was asked for."""
        self._pending.update(dict.fromkeys(names))
        self._wake.set()

    def _heed(self, change: Change) -> None:
        if not is_report(change):
            self.look(change.record.name)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Hear of every change from now on, and at first of all there is; `step` acts on what was heard."""
        self._collection.listeners[self._heed] = None
        self.look(*(record.name for record in self._collection.records.values()))
        try:
            yield
        finally:
            del self._collection.listeners[self._heed]

    def ready(self) -> bool:
        """Whether there is something to act on."""
        return self._wake.is_set()

    async def step(self) -> None:
        """Act on what has changed."""
        self._wake.clear()
        names, self._pending = self._pending, {}
        await self._act(tuple(names))

    async def run(self) -> None:
        """Follow until cancelled."""
        with self.following():
            while True:
                await self._wake.wait()
                await self.step()
