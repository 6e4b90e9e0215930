"""Versions of all keys in memory, and the hub of their watchers.

Nothing here awaits, and nothing checks that a store is open; stores in memory are built on it.
"""

from bisect import bisect_right
from collections.abc import Sequence

from mockkube_storage.current import CurrentEntries
from mockkube_storage.errors import Compacted, FutureRevision
from mockkube_storage.keys import SortedKeys
from mockkube_storage.model import REVISION_FIRST, Entry, Event, EventType, Page
from mockkube_storage.watch import WatchHub


class Versions:
    """Every version that is not compacted; the hub keeps the events."""

    def __init__(self) -> None:
        self.hub = WatchHub(REVISION_FIRST)
        self.current = CurrentEntries()
        self.compacted = 0
        self._events: dict[str, list[Event]] = {}  # by key, in revision order
        self._deleted = SortedKeys()  # keys that have versions, but no current entry

    @property
    def revision(self) -> int:
        """Revision of the last write."""
        return self.hub.revision

    def publish(self, events: Sequence[Event]) -> None:
        """Apply the events of a commit, and hand them to the watchers."""
        self._apply(events)
        self.hub.publish(events)

    def restore(self, events: Sequence[Event], revision: int) -> None:
        """Begin with the versions that a compaction up to a revision has left."""
        self._apply(events)
        self.hub = WatchHub(revision)
        self.hub.forget(revision)
        self.compacted = revision

    def _apply(self, events: Sequence[Event]) -> None:
        for event in events:
            key = event.entry.key
            versions = self._events.get(key)
            if versions is None:
                self._events[key] = [event]
            else:
                versions.append(event)
            if event.type is EventType.DELETE:
                self._deleted.add(key)
            elif event.previous is None and versions:
                self._deleted.remove(key)
            self.current.apply(event)

    def get(self, key: str, revision: int) -> Entry | None:
        """Return the version of a key at a revision, or the current one for 0."""
        if not revision:
            return self.current.get(key)
        self._check_readable(revision)
        return self._entry_at(key, revision)

    def list(self, prefix: str, *, start: str, limit: int, revision: int) -> Page:
        """Return a page of the keys, with their versions at a revision, or the current ones for 0."""
        if revision in (0, self.revision):
            return self.current.page(prefix, start=start, limit=limit, revision=self.revision)
        self._check_readable(revision)
        keys = self.current.keys_in_range(prefix, start)
        if deleted := self._deleted.keys_in_range(prefix, start):
            keys = sorted(keys + deleted)
        entries = [entry for key in keys if (entry := self._entry_at(key, revision)) is not None]
        page_entries = entries[:limit] if limit else entries
        return Page(tuple(page_entries), revision, len(entries) - len(page_entries))

    def begin_compaction(self, revision: int) -> Sequence[str]:
        """Refuse reads before a revision; return the keys that may have versions to drop. Raises FutureRevision."""
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision <= self.compacted:
            return ()
        # Only keys written since the last compaction can have versions to drop.
        written_keys = {event.entry.key: None for event in self.hub.events_until(revision)}
        self.hub.forget(revision)
        self.compacted = revision
        return list(written_keys)

    def drop_versions(self, key: str, revision: int) -> None:
        """Drop the versions of a key that only reads before `revision` would need."""
        events = self._events[key]
        index = bisect_right(events, revision, key=lambda event: event.revision) - 1
        # A read at the revision finds no deleted key either way, so the deletion itself need not be kept.
        if events[index].type is EventType.DELETE:
            index += 1
        del events[:index]
        if not events:
            del self._events[key]
            self._deleted.remove(key)
        # No read needs the entry that a version from before the revision replaced.
        elif (first := events[0]).revision <= revision and first.previous is not None:
            events[0] = Event(first.type, first.revision, first.entry, None)

    def keys(self) -> Sequence[str]:
        """Return all keys that have versions."""
        return list(self._events)

    def event_at(self, key: str, revision: int) -> Event | None:
        """Return the last event of a key up to a revision."""
        events = self._events.get(key, [])
        index = bisect_right(events, revision, key=lambda event: event.revision)
        return events[index - 1] if index else None

    def _entry_at(self, key: str, revision: int) -> Entry | None:
        event = self.event_at(key, revision)
        return None if event is None or event.type is EventType.DELETE else event.entry

    def _check_readable(self, revision: int) -> None:
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)
