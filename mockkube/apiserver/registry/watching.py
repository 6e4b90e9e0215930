"""Watches: the initial objects and every later change, as one client selected them.

A `CacheWatcher` listens to a collection and keeps matching changes until its client takes them. It is bounded: a client
that does not read loses its watch, so that it neither holds memory nor delays writers. An object that starts or stops
matching the selector becomes an ADDED or a DELETED event.

upstream 1.36: apiserver/pkg/storage/cacher/cache_watcher.go
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from mockkube_storage import errors as store_errors
from mockkube_storage.model import Event, EventType

from mockkube.api.errors import Expired
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.listing import build_filter, list_page, selection_bytes, wait_for_revision
from mockkube.apiserver.registry.options import ListOptions, parse_resource_version
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeType, Collection

# Changes kept for a client that does not read; beyond it the watch ends and the client must list again.
PENDING_MAX: Final = 10_000
# Total size of the objects in these changes. A single change may be larger, or it could never be delivered.
PENDING_BYTES_MAX: Final = 64 * 1024 * 1024


class CacheWatchEvent(NamedTuple):
    """Event for one client. A deletion carries the last state with the revision of the deletion."""

    type: ChangeType
    object: CachedObject


class CacheWatcher:
    """Changes of a collection for one client."""

    def __init__(self, resource: Resource, prefix: str, matches: Callable[[CachedObject], bool] | None) -> None:
        self.resource = resource
        self.prefix = prefix
        self._matches = matches
        self._pending: deque[CacheWatchEvent] = deque()
        self._pending_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self.has_lagged = False
        # Set when the resource is no longer served, or not in the same form.
        self.is_stopped = False
        # How many of the first events show objects that existed before the watch.
        self.initial_count = 0
        self.start_revision = 0

    def start(self, initial: Iterable[CachedObject], changes: Iterable[CacheChange]) -> None:
        """Start with these objects, then these changes, then all changes that follow."""
        for cached in initial:
            self._pending.append(CacheWatchEvent(ChangeType.ADDED, cached))
        # The bookmark that ends the initial events follows after exactly this many events.
        self.initial_count = len(self._pending)
        self.add_all(changes)
        self.resource.collection.listeners[self.add] = self._matches is not None
        self.resource.collection.watch_stoppers[self.stop] = None

    def prepend(self, cached_objects: Sequence[CachedObject]) -> None:
        """Deliver these objects before all pending events."""
        self._pending.extendleft(CacheWatchEvent(ChangeType.ADDED, one) for one in reversed(cached_objects))

    def add_all(self, changes: Iterable[CacheChange]) -> None:
        """Add these changes."""
        for change in changes:
            self.add(change)

    def close(self) -> None:
        """Stop listening to the collection."""
        self.resource.collection.listeners.pop(self.add, None)
        self.resource.collection.watch_stoppers.pop(self.stop, None)

    def stop(self) -> None:
        """End the watch; pending events can still be taken."""
        self.close()
        self.is_stopped = True
        self.wake()

    def add(self, change: CacheChange) -> None:  # hot: per change, per watcher
        """Add a change if it matches this watch."""
        event = self.select(change)
        if event is None:
            return
        size = event.object.size
        # A change is always accepted when nothing is pending, however large it is.
        if self._pending and not has_room(len(self._pending), self._pending_bytes + size):
            self.has_lagged = True
            # A client that lagged lists again anyway, so the pending events are dropped to free their memory.
            self._pending.clear()
            self.close()
        else:
            self._pending.append(event)
            self._pending_bytes += size
        self.wake()

    def select(self, change: CacheChange) -> CacheWatchEvent | None:  # hot: per change, per watcher
        """Return a change as the client sees it; None if it does not match this watch."""
        cached = change.object
        # A watch may begin at a revision that another server has written, and that the cache has not reached yet.
        if not cached.key.startswith(self.prefix) or change.revision <= self.start_revision:
            return None
        return self._to_event(change, cached)

    @property
    def has_selector(self) -> bool:
        """True if the watch has a selector."""
        return self._matches is not None

    @property
    def selects_all(self) -> bool:
        """True if each change of the collection matches this watch, as it is."""
        return self._matches is None and self.prefix == self.resource.collection.prefix

    def wake(self) -> None:
        """End the present `wait`, even without events."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _to_event(self, change: CacheChange, cached: CachedObject) -> CacheWatchEvent | None:
        matches = self._matches
        if matches is None:
            return CacheWatchEvent(change.type, cached)
        before = change.previous is not None and matches(change.previous)
        after = change.type is not ChangeType.DELETED and matches(cached)
        if after:
            return CacheWatchEvent(ChangeType.MODIFIED if before else ChangeType.ADDED, cached)
        if not before:
            return None
        if change.type is ChangeType.DELETED:
            return CacheWatchEvent(ChangeType.DELETED, cached)
        assert change.previous is not None
        # The client never saw the new state, which it did not select: it gets the last state that matched.
        return CacheWatchEvent(ChangeType.DELETED, change.previous.at_revision(change.revision))

    @property
    def has_events(self) -> bool:
        """True if events are pending."""
        return bool(self._pending)

    async def wait(self) -> None:
        """Return once events are pending or the watch is over."""
        if self.has_events or self.has_lagged or self.is_stopped:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def take_events(self) -> list[CacheWatchEvent]:
        """Return and clear the pending events, in order."""
        taken = list(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        return taken

    async def take_converted_events(self) -> list[CacheWatchEvent]:
        """Return the pending events in a form that the resource can serve in its version."""
        return self.take_events()

    @property
    def revision(self) -> int:
        """Revision up to which this watch is complete once the pending events are taken."""
        return max(self.resource.dependencies.watch_cache.revision, self.start_revision)


class ConvertingWatcher(CacheWatcher):
    """Watch on a resource with a conversion webhook: changes are converted, and selected, when they are taken."""

    def __init__(self, resource: Resource, prefix: str, matches: Callable[[CachedObject], bool] | None) -> None:
        super().__init__(resource, prefix, matches)
        self._changes: deque[CacheChange] = deque()
        self._changes_bytes = 0

    def add(self, change: CacheChange) -> None:
        """Add a change of an object under the prefix, without selecting."""
        # Selectors apply to the converted object, and listeners cannot wait for a webhook, so nothing is selected here.
        if not change.object.key.startswith(self.prefix) or change.revision <= self.start_revision:
            return
        size = change.object.size
        if self._changes and not has_room(len(self._changes), self._changes_bytes + size):
            self.has_lagged = True
            self._changes.clear()
            self.close()
        else:
            self._changes.append(change)
            self._changes_bytes += size
        self.wake()

    @property
    def has_events(self) -> bool:
        """True if events or changes are pending."""
        return bool(self._pending or self._changes)

    def take_events(self) -> list[CacheWatchEvent]:
        """Return the pending events in the version in which they were stored."""
        changes = list(self._changes)
        self._changes.clear()
        self._changes_bytes = 0
        return super().take_events() + self._to_events(changes)

    async def take_converted_events(self) -> list[CacheWatchEvent]:
        """Return the pending events, converted to the version of the resource."""
        first, changes = super().take_events(), list(self._changes)
        self._changes.clear()
        self._changes_bytes = 0
        cached_objects = [cached for one in changes for cached in (one.object, one.previous) if cached is not None]
        converted = dict(zip(cached_objects, await self.resource.convert_all_for_reading(cached_objects), strict=True))
        return first + self._to_events(
            one._replace(object=converted[one.object], previous=one.previous and converted[one.previous])
            for one in changes
        )

    def _to_events(self, changes: Iterable[CacheChange]) -> list[CacheWatchEvent]:
        views = (self._to_event(change, change.object) for change in changes)
        return [event for event in views if event is not None]


def _select(cached_objects: Sequence[CachedObject], matches: Callable[[CachedObject], bool]) -> list[CachedObject]:
    return [one for one in cached_objects if matches(one)]


def has_room(count: int, size: int) -> bool:
    """Return whether one more change may wait: `count` wait already, with it they have `size` bytes."""
    return count < PENDING_MAX and size <= PENDING_BYTES_MAX


async def open_watch(resource: Resource, namespace: str, options: ListOptions) -> CacheWatcher:
    """Open a watch; raise Expired if changes since the requested revision are no longer known."""
    kind = ConvertingWatcher if resource.uses_conversion_webhook else CacheWatcher
    watching = kind(resource, resource.prefix(namespace), build_filter(resource, options))
    cache, after = resource.dependencies.watch_cache, parse_resource_version(options.resource_version)
    # Upstream: a watch without resourceVersion, or with "0", begins with synthetic ADDED events.
    initial = options.send_initial if options.send_initial is not None else not after
    if initial:
        if after:
            await wait_for_revision(resource, after)
        elif options.resource_version != "0":
            await cache.wait_until_fresh()
        watching.start_revision = cache.revision
        # Conversion and selection may take several turns of the event loop, in which changes must not get lost.
        with _collect_changes(resource.collection) as changes:
            cached_objects = await resource.convert_all_for_reading(resource.collection.range(watching.prefix))
            matches = watching._matches
            if matches is not None:
                select = partial(_select, cached_objects, matches)
                cached_objects = await resource.dependencies.heavy_work.run(selection_bytes(cached_objects), select)
        watching.start(cached_objects, changes)
        return watching
    if not after:
        await cache.wait_until_fresh()
        after = cache.revision
    watching.start_revision = after
    remembered = resource.collection.changes_since(after)
    if remembered is None:
        await _start_from_store(watching, resource, after)
    else:
        watching.start((), remembered)
    return watching


async def open_watch_at_revision(
    resource: Resource, namespace: str, options: ListOptions, revision: int
) -> CacheWatcher:
    """Open a watch that begins with the objects of a past revision, and continues with the changes since then."""
    from_past = replace(options, resource_version=str(revision))
    page = await list_page(resource, namespace, replace(from_past, resource_version_match="Exact"))
    watching = await open_watch(resource, namespace, from_past)
    watching.prepend(page.items)
    return watching


@contextmanager
def _collect_changes(collection: Collection) -> Iterator[Sequence[CacheChange]]:
    """Collect the changes of a collection until the end of the block."""
    changes: list[CacheChange] = []
    gather = changes.append
    collection.listeners[gather] = False
    try:
        yield changes
    finally:
        collection.listeners.pop(gather, None)


async def _start_from_store(watching: CacheWatcher, resource: Resource, after: int) -> None:
    """Start a watch with changes from the store that the cache no longer has."""
    with _collect_changes(resource.collection) as recent:
        old = await _read_store_changes(resource, after, resource.dependencies.watch_cache.revision)
    watching.add_all(old)
    watching.start((), recent)


async def _read_store_changes(resource: Resource, after: int, until: int) -> Sequence[CacheChange]:
    """Return the changes between two revisions from the store."""
    dependencies = resource.dependencies
    changes: list[CacheChange] = []
    size = 0
    try:
        # All keys are watched, not only those of the collection: one of them has the event of revision `until`, so the
        # loop ends.
        async with dependencies.store.watch("", after=after, events_max=PENDING_MAX) as history:
            while history.revision < until:
                for event in await anext(history):
                    if event.revision <= until and event.entry.key.startswith(resource.collection.prefix):
                        changes.append(_to_cache_event(resource, event))
                        size += len(event.entry.value)
                if size > PENDING_BYTES_MAX:  # more than may wait for a client
                    raise Expired(f"too old resource version: {after} ({until})")
    except store_errors.Compacted as error:
        raise Expired(f"too old resource version: {after} ({error.oldest})") from error
    return changes


def _to_cache_event(resource: Resource, event: Event) -> CacheChange:
    """Return a store event as a change of the collection."""
    read = resource.storage_resource.decode_entry
    previous = read(event.previous) if event.previous is not None else None
    if event.type is EventType.DELETE:
        kind = ChangeType.DELETED
    else:
        kind = ChangeType.ADDED if previous is None else ChangeType.MODIFIED
    return CacheChange(kind, event.revision, read(event.entry), previous)
