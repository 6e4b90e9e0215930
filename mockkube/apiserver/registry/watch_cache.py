"""Watch cache: objects of every resource and their recent changes, fed by one watch on the store.

There is one `Collection` for each stored resource, all updated in revision order. Reads and watches are served from
here.

upstream 1.36: apiserver/pkg/storage/cacher/{cacher,watch_cache}.go
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from enum import StrEnum
from typing import Final, NamedTuple

from mockkube_storage.keys import SortedKeys
from mockkube_storage.model import Entry, Event, EventType
from mockkube_storage.store import Store
from mockkube_storage.watch import Watch

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.well_formed import is_well_formed
from mockkube.apiserver.registry.cached_object import CachedObject, ObjectAttributes
from mockkube.apiserver.registry.compressible_bytes import CompressibleBytes
from mockkube.client.bad_objects import BadObjects, reader_name
from mockkube.runtime.hot_loops import HotLoops
from mockkube.runtime.steps import yield_to_event_loop
from mockkube.runtime.waiters import Waiters

REGISTRY_PREFIX: Final = "/registry/"
# Keys of what the processes of a control plane share besides objects.
SHARED_PREFIX: Final = "/mockkube/"
# Changes that a collection keeps for watches that resume; older ones are read from the store or have expired.
HISTORY_MAX: Final = 4096
# Total size of the objects in these changes, which bounds the memory of collections with large objects.
HISTORY_BYTES_MAX: Final = 8 * 1024 * 1024

# Changes that may wait for the cache; without its watch the server could not answer any write.
_WAITING_CHANGES_MAX: Final = 1_000_000
# Size of the changes that callers apply before they let others run: one request may delete thousands of objects.
_UNYIELDED_BYTES_MAX: Final = 16 * 1024


class ChangeType(StrEnum):
    """Type of a change, as in watch events."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


# Named tuples are made in a third of the time of frozen dataclasses: one of these for every write.
class CacheChange(NamedTuple):
    """Change of a collection. In a deletion `object` is the last state, at the revision of the deletion."""

    type: ChangeType
    revision: int
    object: CachedObject
    previous: CachedObject | None


ChangeListener = Callable[[CacheChange], None]
# Function that is called with the heartbeats of a commit, and with the change that is the same in all.
HeartbeatListener = Callable[[Sequence[CacheChange], ReadOnlyObject], None]
EntryDecoder = Callable[[Entry], CachedObject]


class ListRange(list[CachedObject]):
    """Objects of a prefix, shared by all who list it until something in the collection changes."""

    __slots__ = ("encoded_items",)

    def __init__(self, cached_objects: Iterable[CachedObject] = ()) -> None:
        super().__init__(cached_objects)
        # Encoded list items by apiVersion, as far as a list in that version has been rendered.
        self.encoded_items: dict[str, Sequence[CompressibleBytes]] = {}


class Collection:
    """Cached objects of one stored resource, in key order, and its recent changes."""

    def __init__(self, prefix: str, decode_entry: EntryDecoder, bad_objects: BadObjects | None = None) -> None:
        """Report objects on which a listener fails to `bad_objects`."""
        self.prefix = prefix
        self.decode_entry = decode_entry
        self.bad_objects = BadObjects() if bad_objects is None else bad_objects
        self.objects: dict[str, CachedObject] = {}
        self._keys = SortedKeys()
        # Revision of the newest change.
        self.revision = 0
        # The history is complete after this revision.
        self.history_start = 0
        self.history: deque[CacheChange] = deque()
        self._history_bytes = 0
        # Functions that are called with each change, and whether they apply a selector to it.
        self.listeners: dict[ChangeListener, bool] = {}
        # Attributes of objects that are being written, by the identity of the value for the store: they need not be
        # read from its JSON again.
        self.written_attributes: dict[int, ObjectAttributes] = {}
        # Listeners that take the heartbeats of a commit together, with the function for that.
        self.heartbeat_listeners: dict[ChangeListener, HeartbeatListener] = {}
        # Changes of heartbeats that are being written together, by the first revision of their commit.
        self.heartbeats: dict[int, ReadOnlyObject] = {}
        # Functions that end each watch on this collection.
        self.watch_stoppers: dict[Callable[[], None], None] = {}
        self._ranges: dict[str, ListRange] = {}
        # Those of them that are well-formed.
        self._sound: dict[str, list[CachedObject]] = {}

    @property
    def plural(self) -> str:
        """Plural of the kind, for messages."""
        return self.prefix.rstrip("/").rpartition("/")[2]

    def get(self, key: str) -> CachedObject | None:
        """Return the object of a key."""
        return self.objects.get(key)

    def range(self, prefix: str, start: str = "") -> Sequence[CachedObject]:
        """Return the objects with a key prefix, in key order, from `start` on. Callers must not change the result."""
        if not self.objects:
            return ()
        if start:
            return self._slice(max(prefix, start), prefix)
        span = self._ranges.get(prefix)
        if span is None:
            span = ListRange(self._slice(prefix, prefix))
            if span:
                # Empty ones are made anew: there is one for each namespace that ever was, and nothing clears those of
                # a collection that never changes.
                self._ranges[prefix] = span
        return span

    def well_formed(self, prefix: str, reader: str) -> Sequence[CachedObject]:
        """Return as `range` the objects whose fields have the types of their kind; report the others."""
        if not self.objects:
            return ()
        found = self._sound.get(prefix)
        if found is None:
            found = [one for one in self.range(prefix) if self._check(one, reader)]
            if found:
                self._sound[prefix] = found
        return found

    def _check(self, cached: CachedObject, reader: str) -> bool:
        if is_well_formed(cached.load()):
            return True
        self.bad_objects.record_failure(
            reader, self.plural, cached.display_name, TypeError("a field is not of the type it must be")
        )
        return False

    def _slice(self, start: str, prefix: str) -> list[CachedObject]:
        keys, cached_objects = self._keys.keys_in_range(prefix, start), self.objects
        # Runs in threads, too, while the event loop changes the collection: a key may have been deleted since.
        return [cached for key in keys if (cached := cached_objects.get(key)) is not None]

    def load(self, entries: Iterable[Entry], revision: int) -> None:
        """Start with these entries, read at a revision."""
        for entry in entries:
            self.objects[entry.key] = self.decode_entry(entry)
        self._keys = SortedKeys(self.objects)
        self.revision = max((cached.revision for cached in self.objects.values()), default=0)
        self.history_start = revision
        self._ranges.clear()
        self._sound.clear()

    def replace_decoder(self, decode_entry: EntryDecoder, convert: Callable[[CachedObject], CachedObject]) -> None:
        """Decode entries with another function from now on, and convert what has been decoded."""
        self.decode_entry = decode_entry
        self.objects = {key: convert(cached) for key, cached in self.objects.items()}
        self._ranges.clear()
        self._sound.clear()

    def apply(self, event: Event) -> None:
        """Apply one event of the store and notify the listeners."""
        if event.revision <= self.history_start:
            return  # it was read from the store already
        key = event.entry.key
        self._ranges.clear()
        self._sound.clear()
        previous = self.objects.get(key)
        cached = self.decode_entry(event.entry)
        if event.type is EventType.DELETE:
            if previous is not None:
                del self.objects[key]
                self._keys.remove(key)
            change = CacheChange(ChangeType.DELETED, event.revision, cached, previous)
        else:
            self.objects[key] = cached
            if previous is None:
                self._keys.add(key)
            kind = ChangeType.ADDED if previous is None else ChangeType.MODIFIED
            change = CacheChange(kind, event.revision, cached, previous)
        self._append_history((change,), cached.size)
        if self.bad_objects:
            self.bad_objects.forget(self.plural, cached.display_name)
        # Copied, because a listener may remove itself when it lags.
        for listener in tuple(self.listeners):
            try:
                listener(change)
            except Exception as error:  # the other listeners and later changes must not be lost over it
                self._report_failure(listener, change, error)

    def apply_heartbeats(self, events: Sequence[Event], heartbeat: ReadOnlyObject) -> None:
        """Apply the events of a commit, which are heartbeats with the same change."""
        objects, changes = self.objects, list[CacheChange]()
        if events[0].revision <= self.history_start:
            return  # they were read from the store already
        for event in events:  # hot: per heartbeat
            entry = event.entry
            previous = objects.get(entry.key)
            if previous is None or previous.heartbeat is None or len(previous.stored_value) != len(entry.value):
                cached = self.decode_entry(entry)
            else:
                cached = previous.after_heartbeat(entry)
            objects[entry.key] = cached
            changes.append(CacheChange(ChangeType.MODIFIED, entry.revision, cached, previous))
        self._ranges.clear()
        self._sound.clear()
        self._append_history(changes, sum([change.object.size for change in changes]))
        if self.bad_objects:
            for change in changes:
                self.bad_objects.forget(self.plural, change.object.display_name)
        for listener in tuple(self.listeners):
            receive_together = self.heartbeat_listeners.get(listener)
            if receive_together is not None:
                receive_together(changes, heartbeat)
                continue
            for change in changes:
                try:
                    listener(change)
                except Exception as error:
                    self._report_failure(listener, change, error)

    def _report_failure(self, listener: ChangeListener, change: CacheChange, error: Exception) -> None:
        is_deleted = change.type is ChangeType.DELETED
        show = self.bad_objects.log_failure if is_deleted else self.bad_objects.record_failure
        show(reader_name(listener), self.plural, change.object.display_name, error)

    def _append_history(self, changes: Sequence[CacheChange], size: int) -> None:
        """Remember changes whose objects have a total size."""
        history, self.revision = self.history, changes[-1].revision
        history.extend(changes)
        size += self._history_bytes
        while len(history) > HISTORY_MAX or size > HISTORY_BYTES_MAX:
            forgotten = history.popleft()
            size -= forgotten.object.size
            self.history_start = forgotten.revision
        self._history_bytes = size

    def forget_history(self, revision: int) -> None:
        """Drop the changes up to a revision."""
        history = self.history
        while history and history[0].revision <= revision:
            self._history_bytes -= history.popleft().object.size
        self.history_start = max(self.history_start, revision)

    def changes_since(self, revision: int) -> Sequence[CacheChange] | None:
        """Return the changes after a revision; None if the history does not reach that far."""
        if revision < self.history_start:
            return None
        return [change for change in self.history if change.revision > revision]


class WatchCache:
    """All collections, kept up to date by one task that reads the store's watch."""

    def __init__(self, store: Store, hot_loops: HotLoops | None = None, *, applies_in_callers: bool = False) -> None:
        """Report objects that cannot be read as hot loops, if `hot_loops` is given.

        `applies_in_callers`: who waits for a revision applies what the store has delivered, instead of waking the task
        that does so. For simulations: with sockets, writes that wait together cost less.
        """
        self.store = store
        self._applies_in_callers = applies_in_callers
        self.bad_objects = BadObjects(hot_loops)
        self.revision = 0
        # Called with the bytes of every batch of changes, for store maintenance.
        self.on_bytes_written: Callable[[int], None] = lambda count: None
        self._collections: dict[str, Collection] = {}
        self._waiters: Waiters[int] = Waiters()
        self._watch: Watch | None = None
        # Size of the changes that callers applied since others could run.
        self._unyielded_bytes = 0

    def collection(self, name: str, decode_entry: EntryDecoder) -> Collection:
        """Return the collection of this name (`core/pods`), created when first requested, before `start`."""
        if name not in self._collections:
            self._collections[name] = Collection(f"{REGISTRY_PREFIX}{name}/", decode_entry, self.bad_objects)
        return self._collections[name]

    async def open_collection(self, name: str, decode_entry: EntryDecoder) -> Collection:
        """Return the collection of this name, read from the store if it is new: for resources served later."""
        if name not in self._collections:
            page = await self.store.list(f"{REGISTRY_PREFIX}{name}/")
            # The cache may have passed events of this prefix already, which it would never apply to the new collection.
            while page.revision < self.revision:
                page = await self.store.list(f"{REGISTRY_PREFIX}{name}/")
            self.collection(name, decode_entry).load(page.entries, page.revision)
        return self._collections[name]

    def drop_collection(self, name: str) -> None:
        """Remove a collection with its history; `open_collection` reads it from the store again."""
        self._collections.pop(name, None)

    def forget_history(self, revision: int) -> None:
        """Drop the changes up to a revision that the store has compacted: no watch can begin before it."""
        for collection in self._collections.values():
            collection.forget_history(min(revision, self.revision))

    async def start(self) -> None:
        """Read the current contents of the store."""
        page = await self.store.list(REGISTRY_PREFIX)
        entries: dict[str, list[Entry]] = {}
        for entry in page.entries:
            entries.setdefault(_collection_name(entry.key), []).append(entry)
        for name, collection in self._collections.items():
            collection.load(entries.get(name, ()), page.revision)
        self.revision = page.revision

    async def run(self) -> None:
        """Apply the changes of the store until cancelled."""
        async with aclosing(self.store.watch("", after=self.revision, events_max=_WAITING_CHANGES_MAX)) as watch:
            self._watch = watch
            try:
                async for events in watch:
                    self._apply(events)
            finally:
                self._watch = None

    def _apply(self, events: Sequence[Event]) -> None:
        first, size = events[0], 0
        collection = self._collections.get(_collection_name(first.entry.key))
        if collection is not None and (heartbeat := collection.heartbeats.get(first.revision)) is not None:
            collection.apply_heartbeats(events, heartbeat)
            size = sum([len(event.entry.value) for event in events])
        else:
            for event in events:
                if event is not first:  # most commits are one event, whose collection is looked up above
                    collection = self._collections.get(_collection_name(event.entry.key))
                if collection is not None:
                    collection.apply(event)
                size += len(event.entry.value)
        self.revision = events[-1].revision
        self.on_bytes_written(size)
        self._waiters.release(self.revision)

    async def wait_until_at(self, revision: int) -> None:
        """Return once everything up to this revision has been applied."""
        if revision <= self.revision:
            return
        if self._applies_in_callers and self._watch is not None:
            await self._apply_delivered(self._watch, revision)
        if revision > self.revision:
            await self._waiters.wait(revision)

    async def _apply_delivered(self, watch: Watch, revision: int) -> None:
        """Apply what the store has delivered, up to a revision; let others run now and then."""
        yields = False
        while revision > self.revision and (events := watch.take()) is not None:
            self._apply(events)
            for event in events:
                # As if each event were a commit of its own: the order of concurrent requests follows from this number.
                if self._unyielded_bytes >= _UNYIELDED_BYTES_MAX:
                    self._unyielded_bytes, yields = 0, True
                self._unyielded_bytes += len(event.entry.value)
        if self._unyielded_bytes >= _UNYIELDED_BYTES_MAX:
            self._unyielded_bytes, yields = 0, True
        if yields:
            await yield_to_event_loop()

    async def wait_until_fresh(self) -> int:
        """Wait for everything committed before this call, for a consistent read; return the revision reached."""
        await self.wait_until_at(await self.store.current_revision())
        return self.revision


def _collection_name(key: str) -> str:  # hot: per write
    """Return the name of the collection of a key, `core/pods` for one that begins with `/registry/core/pods/`."""
    if not key.startswith(REGISTRY_PREFIX):
        return ""
    name_at = len(REGISTRY_PREFIX)
    end = key.find("/", key.find("/", name_at) + 1)
    return key[name_at:end] if end > 0 else ""
