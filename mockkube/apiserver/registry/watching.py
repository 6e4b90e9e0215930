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
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors
from mockkube_storage.model import Event, EventType

from mockkube.api.errors import Expired
from mockkube.apiserver.registry.cache import Change, ChangeType, Collection, Record
from mockkube.apiserver.registry.listing import selector, wait_for, work_of_selecting
from mockkube.apiserver.registry.options import ListOptions, revision_of
from mockkube.apiserver.registry.resource import Resource

# Changes kept for a client that does not read; beyond it the watch ends and the client must list again.
PENDING_MAX: Final = 10_000
# Total size of the objects in these changes. A single change may be larger, or it could never be delivered.
PENDING_BYTES_MAX: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Seen:
    """Event for one client. A deletion carries the last state with the revision of the deletion."""

    type: ChangeType
    record: Record


class Watch:
    """Changes of a collection for one client."""

    def __init__(self, resource: Resource, prefix: str, chosen: Callable[[Record], bool] | None) -> None:
        self.resource = resource
        self._prefix = prefix
        self._chosen = chosen
        self._pending: deque[Seen] = deque()
        self._pending_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self.lagged = False
        # Set when the resource is no longer served, or not in the same form.
        self.ended = False
        # How many of the first events show objects that existed before the watch.
        self.initial_count = 0
        self.start_revision = 0

    def open(self, initial: Iterable[Record], changes: Iterable[Change]) -> None:
        """Start with these objects, then these changes, then all changes that follow."""
        for record in initial:
            self._pending.append(Seen(ChangeType.ADDED, record))
        # The bookmark that ends the initial events follows after exactly this many events.
        self.initial_count = len(self._pending)
        self.prime(changes)
        self.resource.collection.listeners[self.offer] = None
        self.resource.collection.watches[self.end] = None

    def prime(self, changes: Iterable[Change]) -> None:
        """Add these changes."""
        for change in changes:
            self.offer(change)

    def close(self) -> None:
        """Stop listening to the collection."""
        self.resource.collection.listeners.pop(self.offer, None)
        self.resource.collection.watches.pop(self.end, None)

    def end(self) -> None:
        """End the watch; pending events can still be taken."""
        self.close()
        self.ended = True
        self._tell()

    def offer(self, change: Change) -> None:  # hot: per change, per watcher
        """Add a change if it matches this watch."""
        record = change.record
        if not record.key.startswith(self._prefix):
            return
        event = self._view(change, record)
        if event is None:
            return
        size = len(event.record.tail)
        # A change is always accepted when nothing is pending, however large it is.
        if self._pending and not has_room(len(self._pending), self._pending_bytes + size):
            self.lagged = True
            # A client that lagged lists again anyway, so the pending events are dropped to free their memory.
            self._pending.clear()
            self.close()
        else:
            self._pending.append(event)
            self._pending_bytes += size
        self._tell()

    def _tell(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _view(self, change: Change, record: Record) -> Seen | None:
        matches = self._chosen
        if matches is None:
            return Seen(change.type, record)
        before = change.previous is not None and matches(change.previous)
        after = change.type is not ChangeType.DELETED and matches(record)
        if after:
            return Seen(ChangeType.MODIFIED if before else ChangeType.ADDED, record)
        if not before:
            return None
        if change.type is ChangeType.DELETED:
            return Seen(ChangeType.DELETED, record)
        assert change.previous is not None
        # The client never saw the new state, which it did not select: it gets the last state that matched.
        return Seen(ChangeType.DELETED, change.previous.later(change.revision))

    @property
    def waiting(self) -> bool:
        """True if events are pending."""
        return bool(self._pending)

    async def wait(self) -> None:
        """Return once events are pending or the watch is over."""
        if self.waiting or self.lagged or self.ended:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def take(self) -> list[Seen]:
        """Return and clear the pending events, in order."""
        taken = list(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        return taken

    async def taken(self) -> list[Seen]:
        """Return the pending events in a form that the resource can serve in its version."""
        return self.take()

    @property
    def revision(self) -> int:
        """Revision up to which this watch is complete once the pending events are taken."""
        return max(self.resource.services.cache.revision, self.start_revision)


class ConvertingWatch(Watch):
    """Watch on a resource with a conversion webhook: changes are converted, and selected, when they are taken."""

    def __init__(self, resource: Resource, prefix: str, chosen: Callable[[Record], bool] | None) -> None:
        super().__init__(resource, prefix, chosen)
        self._changes: deque[Change] = deque()
        self._changes_bytes = 0

    def offer(self, change: Change) -> None:
        """Add a change of an object under the prefix, without selecting."""
        # Selectors apply to the converted object, and listeners cannot wait for a webhook, so nothing is selected here.
        if not change.record.key.startswith(self._prefix):
            return
        size = len(change.record.tail)
        if self._changes and not has_room(len(self._changes), self._changes_bytes + size):
            self.lagged = True
            self._changes.clear()
            self.close()
        else:
            self._changes.append(change)
            self._changes_bytes += size
        self._tell()

    @property
    def waiting(self) -> bool:
        """True if events or changes are pending."""
        return bool(self._pending or self._changes)

    def take(self) -> list[Seen]:
        """Return the pending events in the version in which they were stored."""
        changes = list(self._changes)
        self._changes.clear()
        self._changes_bytes = 0
        return super().take() + self._views(changes)

    async def taken(self) -> list[Seen]:
        """Return the pending events, converted to the version of the resource."""
        first, changes = super().take(), list(self._changes)
        self._changes.clear()
        self._changes_bytes = 0
        records = [record for one in changes for record in (one.record, one.previous) if record is not None]
        converted = dict(zip(records, await self.resource.all_seen(records), strict=True))
        return first + self._views(
            replace(one, record=converted[one.record], previous=one.previous and converted[one.previous])
            for one in changes
        )

    def _views(self, changes: Iterable[Change]) -> list[Seen]:
        views = (self._view(change, change.record) for change in changes)
        return [seen for seen in views if seen is not None]


def _selected(records: Sequence[Record], chosen: Callable[[Record], bool]) -> list[Record]:
    return [one for one in records if chosen(one)]


def has_room(count: int, size: int) -> bool:
    """Return whether one more change may wait: `count` wait already, with it they have `size` bytes."""
    return count < PENDING_MAX and size <= PENDING_BYTES_MAX


async def watch(resource: Resource, namespace: str, options: ListOptions) -> Watch:
    """Open a watch; raise Expired if changes since the requested revision are no longer known."""
    kind = ConvertingWatch if resource.converted else Watch
    watching = kind(resource, resource.prefix(namespace), selector(resource, options))
    cache, after = resource.services.cache, revision_of(options.resource_version)
    # Upstream: a watch without resourceVersion, or with "0", begins with synthetic ADDED events.
    initial = options.send_initial if options.send_initial is not None else not after
    if initial:
        if after:
            await wait_for(resource, after)
        elif options.resource_version != "0":
            await cache.fresh()
        watching.start_revision = cache.revision
        # Conversion and selection may take several turns of the event loop, in which changes must not get lost.
        with _meanwhile(resource.collection) as changes:
            records = await resource.all_seen(resource.collection.range(watching._prefix))
            matches = watching._chosen
            if matches is not None:
                select = partial(_selected, records, matches)
                records = await resource.services.heavy.run(work_of_selecting(records), select)
        watching.open(records, changes)
        return watching
    if not after:
        await cache.fresh()
        after = cache.revision
    watching.start_revision = after
    remembered = resource.collection.since(after)
    if remembered is None:
        await _from_history(watching, resource, after)
    else:
        watching.open((), remembered)
    return watching


@contextmanager
def _meanwhile(collection: Collection) -> Iterator[Sequence[Change]]:
    """Collect the changes of a collection until the end of the block."""
    changes: list[Change] = []
    gather = changes.append
    collection.listeners[gather] = None
    try:
        yield changes
    finally:
        collection.listeners.pop(gather, None)


async def _from_history(watching: Watch, resource: Resource, after: int) -> None:
    """Start a watch with changes from the store that the cache no longer has."""
    with _meanwhile(resource.collection) as recent:
        old = await _history(resource, after, resource.services.cache.revision)
    watching.prime(old)
    watching.open((), recent)


async def _history(resource: Resource, after: int, until: int) -> Sequence[Change]:
    """Return the changes between two revisions from the store."""
    services = resource.services
    changes: list[Change] = []
    size = 0
    try:
        # All keys are watched, not only those of the collection: one of them has the event of revision `until`, so the
        # loop ends.
        async with services.store.watch("", after=after, events_max=PENDING_MAX) as history:
            while history.revision < until:
                for event in await anext(history):
                    if event.revision <= until and event.entry.key.startswith(resource.collection.prefix):
                        changes.append(_change(resource, event))
                        size += len(event.entry.value)
                if size > PENDING_BYTES_MAX:  # more than may wait for a client
                    raise Expired(f"too old resource version: {after} ({until})")
    except store_errors.Compacted as error:
        raise Expired(f"too old resource version: {after} ({error.oldest})") from error
    return changes


def _change(resource: Resource, event: Event) -> Change:
    """Return a store event as a change of the collection."""
    read = resource.home.read_entry
    previous = read(event.previous) if event.previous is not None else None
    if event.type is EventType.DELETE:
        kind = ChangeType.DELETED
    else:
        kind = ChangeType.ADDED if previous is None else ChangeType.MODIFIED
    return Change(kind, event.revision, read(event.entry), previous)
