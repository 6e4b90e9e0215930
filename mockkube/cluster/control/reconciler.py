"""Reconcile changed objects of a control kind, one call at a time; own status writes are ignored."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from mockkube_storage.errors import StoreError

from mockkube.api.errors import ApiError
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeType, Collection
from mockkube.runtime.clock import Clock
from mockkube.runtime.work_queue import WorkQueue

# Queue item for a call without names.
_NO_NAME: Final = ""
# How long after a failed write the names are reconciled again.
RETRY_SECONDS: Final = 1.0

_LOG: Final = logging.getLogger("mockkube.cluster")


def is_status_change(change: CacheChange) -> bool:
    """Return whether a change leaves the spec as it was: only status or metadata changed."""
    return change.type is ChangeType.MODIFIED and _get_generation(change.object) == _get_generation(change.previous)


def _get_generation(cached: CachedObject | None) -> int:
    return 0 if cached is None else int(cached.load()["metadata"]["generation"])


class Reconciler:
    """Calls `reconcile` with the names of changed objects, in the order of their changes: all that wait in one call."""

    def __init__(
        self, collection: Collection, clock: Clock, reconcile: Callable[[Iterable[str]], Awaitable[None]]
    ) -> None:
        self._collection = collection
        self._reconcile = reconcile
        self._queue: WorkQueue[str] = WorkQueue(clock)

    def enqueue(self, *names: str) -> None:
        """Enqueue names, or only a call without names, although no spec changed."""
        for name in names or (_NO_NAME,):
            self._queue.add(name)

    def _handle_change(self, change: CacheChange) -> None:
        if not is_status_change(change):
            self.enqueue(change.object.name)

    @contextmanager
    def subscribe(self, *, existing: bool = True) -> Iterator[None]:
        """Receive changes until the context is left; with `existing`, begin with all objects."""
        self._collection.listeners[self._handle_change] = False
        if existing:
            self.enqueue(*(cached.name for cached in self._collection.objects.values()))
        try:
            yield
        finally:
            del self._collection.listeners[self._handle_change]

    def is_ready(self) -> bool:
        """Return whether a call is due."""
        return self._queue.is_ready()

    async def step(self) -> None:
        """Reconcile all enqueued names in one call."""
        name = self._queue.get()
        try:
            await self._process(name)
        finally:
            self._queue.done(name)

    async def run(self) -> None:
        """Reconcile until cancelled; if the store or a file is not available, reconcile the names again later."""
        await self._queue.run(self._process_or_retry)

    async def _process(self, first: str) -> None:
        """Reconcile a name together with all others that wait."""
        with self._take_with_others(first) as names:
            await self._reconcile(names)

    async def _process_or_retry(self, first: str) -> None:
        with self._take_with_others(first) as names:
            try:
                await self._reconcile(names)
            except (ApiError, StoreError, OSError) as error:  # of files, too: the disk may be full
                _LOG.warning("%s: %s: next try in %.0f s", self._collection.plural, error, RETRY_SECONDS)
                for name in names or (_NO_NAME,):
                    self._queue.add_after(name, RETRY_SECONDS)

    @contextmanager
    def _take_with_others(self, first: str) -> Iterator[Sequence[str]]:
        """Take all that wait; yield their names and the first one, which the caller has taken."""
        others = list[str]()
        while self._queue.is_ready():
            others.append(self._queue.get())
        try:
            yield tuple(name for name in (first, *others) if name != _NO_NAME)
        finally:
            for name in others:
                self._queue.done(name)
