"""Memory engine: the simplest one, for tests, and the model that the others are compared with.

It keeps every version until it is compacted, loses everything with the process, and runs no task.
"""

from collections.abc import Sequence

from mockkube_storage.engines.versioned import VersionedStore
from mockkube_storage.errors import Conflict, Unavailable
from mockkube_storage.keys import check_key
from mockkube_storage.model import Entry, Event, EventType, delete_event, put_event


class MemoryStore(VersionedStore):
    """Store in memory. Closing it ends its watchers; starting it again finds the data unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self._open = False

    async def start(self) -> None:
        """Begin to serve; the first start finds an empty store."""
        self._open = True

    async def close(self) -> None:
        """Stop serving and end the watchers; the data stays."""
        self._open = False
        self._versions.hub.end(Unavailable("memory:", "it has been closed"))

    async def create(self, key: str, value: bytes) -> Entry:
        """Create the key, at the next revision."""
        self._check_open()
        check_key(key)
        if (current := self._versions.current.get(key)) is not None:
            raise Conflict(key, current)
        revision = self.revision + 1
        return self._commit(put_event(Entry(key, value, revision, revision), None))

    async def update(self, key: str, value: bytes, *, expected: int) -> Entry:
        """Replace the entry."""
        current = self._current_entry(key, expected)
        return self._commit(put_event(Entry(key, value, current.create_revision, self.revision + 1), current))

    async def update_all(self, updates: Sequence[tuple[str, bytes, int]]) -> list[Entry | None]:  # hot: per heartbeat
        """Replace entries in one commit."""
        self._check_open()
        current_entries, revision = self._versions.current, self.revision
        events, written = dict[str, Event](), list[Entry | None]()
        for key, value, expected in updates:
            current = current_entries.get(key)
            if current is None or current.revision != expected or key in events:
                written.append(None)
                continue
            revision += 1
            entry = Entry(key, value, current.create_revision, revision)
            events[key] = Event(EventType.PUT, revision, entry, current)
            written.append(entry)
        if events:
            self._versions.publish(tuple(events.values()))
        return written

    async def delete(self, key: str, *, expected: int) -> Entry:
        """Delete the entry."""
        current = self._current_entry(key, expected)
        return self._commit(delete_event(current, self.revision + 1))

    async def compact(self, revision: int) -> None:
        """Drop the versions and events that no read or watch may ask for any more."""
        self._check_open()
        for key in self._versions.begin_compaction(revision):
            self._versions.drop_versions(key, revision)

    def _check_open(self) -> None:
        if not self._open:
            raise Unavailable("memory:", "it is not started, or has been closed")

    def _current_entry(self, key: str, expected: int) -> Entry:
        """Return the entry of a key; raise Conflict unless its revision is `expected`."""
        self._check_open()
        check_key(key)
        current = self._versions.current.get(key)
        if current is None or current.revision != expected:
            raise Conflict(key, current)
        return current

    def _commit(self, event: Event) -> Entry:
        self._versions.publish((event,))
        return event.entry
