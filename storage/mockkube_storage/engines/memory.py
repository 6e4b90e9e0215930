"""Memory engine: the simplest one, for tests, and the model that the others are compared with.

It keeps every version until it is compacted, loses everything with the process, and runs no task.
"""

import os
from bisect import bisect_right
from collections.abc import Sequence

from mockkube_storage.current import CurrentEntries
from mockkube_storage.engines.sql_plan import CommitPlan, LatestVersion, Write, plan_writes
from mockkube_storage.errors import Compacted, Conflict, FutureRevision, Unavailable
from mockkube_storage.keys import SortedKeys, check_key
from mockkube_storage.model import REVISION_FIRST, Entry, Event, EventType, Page, delete_event, put_event
from mockkube_storage.store import Store
from mockkube_storage.watch import QUEUED_EVENTS_MAX, Watch, WatchHub


class MemoryStore(Store):
    """Store in memory. Closing it ends its watchers; starting it again finds the data unchanged."""

    def __init__(self) -> None:
        self._open = False
        self._compacted = 0
        self._watch_hub = WatchHub(REVISION_FIRST)
        self._current = CurrentEntries()
        self._versions: dict[str, list[Event]] = {}
        self._versioned_keys = SortedKeys()
        self.store_id = os.urandom(16)

    @property
    def revision(self) -> int:
        """The revision of the last write."""
        return self._watch_hub.revision

    async def start(self) -> None:
        """Begin to serve; the first start finds an empty store."""
        self._open = True

    async def close(self) -> None:
        """Stop serving and end the watchers; the data stays."""
        self._open = False
        self._watch_hub.end(Unavailable("memory:", "it has been closed"))

    async def current_revision(self) -> int:
        """Return `revision`: no other process can write."""
        self._check_open()
        return self.revision

    async def poll(self) -> None:
        """Do nothing: no other process can write."""
        self._check_open()

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        """Return the current entry of a key, or its version at a revision."""
        self._check_open()
        if not revision:
            return self._current.get(key)
        self._check_readable(revision)
        return self._version_at(key, revision)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Return a page of the sorted keys, with their versions at a revision."""
        self._check_open()
        if revision in (0, self.revision):
            return self._current.page(prefix, start=start, limit=limit, revision=self.revision)
        self._check_readable(revision)
        keys = self._versioned_keys.keys_in_range(prefix, start)
        entries = [entry for key in keys if (entry := self._version_at(key, revision)) is not None]
        page_entries = entries[:limit] if limit else entries
        return Page(tuple(page_entries), revision, len(entries) - len(page_entries))

    async def create(self, key: str, value: bytes) -> Entry:
        """Create the key, at the next revision."""
        self._check_open()
        check_key(key)
        if (current := self._current.get(key)) is not None:
            raise Conflict(key, current)
        revision = self.revision + 1
        return self._commit(put_event(Entry(key, value, revision, revision), None))

    async def update(self, key: str, value: bytes, *, expected: int) -> Entry:
        """Replace the entry."""
        current = self._current_entry(key, expected)
        return self._commit(put_event(Entry(key, value, current.create_revision, self.revision + 1), current))

    async def delete(self, key: str, *, expected: int) -> Entry:
        """Delete the entry."""
        current = self._current_entry(key, expected)
        return self._commit(delete_event(current, self.revision + 1))

    def watch(self, prefix: str, *, after: int, events_max: int = QUEUED_EVENTS_MAX) -> Watch:
        """Watch a prefix; the hub keeps all events that are not compacted."""
        self._check_open()
        return Watch(self._watch_hub, self, prefix, after=after, events_max=events_max)

    async def events(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Raise Compacted: the hub holds all events there are, so any that it lacks are compacted."""
        self._check_open()
        raise Compacted(after, self._compacted)

    async def compact(self, revision: int) -> None:
        """Drop the versions and events that no read or watch may ask for any more."""
        self._check_open()
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision <= self._compacted:
            return
        # Only keys written since the last compaction can have versions to drop.
        written_keys = {event.entry.key: None for event in self._watch_hub.events_until(revision)}
        for key in written_keys:
            self._drop_versions(key, revision)
        self._watch_hub.forget(revision)
        self._compacted = revision

    @property
    def compacted_revision(self) -> int:
        """Revision up to which the store is compacted."""
        return self._compacted

    async def commit(self, writes: Sequence[Write]) -> CommitPlan:
        """Decide a group of writes and publish it."""
        self._check_open()
        plan = plan_writes(writes, newest=self.revision, head_of=self._latest_version)
        if plan.events:
            self._publish(plan.events)
        return plan

    def current_entries(self) -> tuple[Entry, ...]:
        """Return the entries at the newest revision."""
        return tuple(self._current)

    def events_after(self, revision: int) -> Sequence[Event] | None:
        """Return all events after a revision; None if some of them are compacted."""
        return self._watch_hub.events_after(revision)

    def _latest_version(self, key: str) -> LatestVersion:
        entry = self._current.get(key)
        return LatestVersion(entry.revision if entry else 0, entry)

    def _check_open(self) -> None:
        if not self._open:
            raise Unavailable("memory:", "it is not started, or has been closed")

    def _check_readable(self, revision: int) -> None:
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision < self._compacted:
            raise Compacted(revision, self._compacted)

    def _current_entry(self, key: str, expected: int) -> Entry:
        """Return the entry of a key; raise Conflict unless its revision is `expected`."""
        self._check_open()
        check_key(key)
        current = self._current.get(key)
        if current is None or current.revision != expected:
            raise Conflict(key, current)
        return current

    def _version_at(self, key: str, revision: int) -> Entry | None:
        versions = self._versions.get(key, [])
        index = bisect_right(versions, revision, key=lambda event: event.revision)
        if not index or versions[index - 1].type is EventType.DELETE:
            return None
        return versions[index - 1].entry

    def _commit(self, event: Event) -> Entry:
        self._publish((event,))
        return event.entry

    def _publish(self, events: Sequence[Event]) -> None:
        for event in events:
            key = event.entry.key
            if key not in self._versions:
                self._versions[key] = []
                self._versioned_keys.add(key)
            self._versions[key].append(event)
            self._current.apply(event)
        self._watch_hub.publish(events)

    def _drop_versions(self, key: str, revision: int) -> None:
        """Drop the versions of a key that only reads before `revision` would need."""
        versions = self._versions[key]
        index = bisect_right(versions, revision, key=lambda event: event.revision) - 1
        # A read at the revision finds no deleted key either way, so the deletion itself need not be kept.
        if versions[index].type is EventType.DELETE:
            index += 1
        del versions[:index]
        if not versions:
            del self._versions[key]
            self._versioned_keys.remove(key)
