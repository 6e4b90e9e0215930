"""Memory engine: the simplest one, for tests, and the model that the others are compared with.

It keeps every version until it is compacted, loses everything with the process, and runs no task.
"""

from mockkube_storage.errors import Compacted, Conflict, Unavailable
from mockkube_storage.keys import check_key
from mockkube_storage.model import Entry, Event, Page, delete_event, put_event
from mockkube_storage.store import Store
from mockkube_storage.versions import Versions
from mockkube_storage.watch import QUEUED_EVENTS_MAX, Watch


class MemoryStore(Store):
    """Store in memory. Closing it ends its watchers; starting it again finds the data unchanged."""

    def __init__(self) -> None:
        self._open = False
        self._versions = Versions()

    @property
    def revision(self) -> int:
        """The revision of the last write."""
        return self._versions.hub.revision

    async def start(self) -> None:
        """Begin to serve; the first start finds an empty store."""
        self._open = True

    async def close(self) -> None:
        """Stop serving and end the watchers; the data stays."""
        self._open = False
        self._versions.hub.end(Unavailable("memory:", "it has been closed"))

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
        return self._versions.get(key, revision)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Return a page of the sorted keys, with their versions at a revision."""
        self._check_open()
        return self._versions.list(prefix, start=start, limit=limit, revision=revision)

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

    async def delete(self, key: str, *, expected: int) -> Entry:
        """Delete the entry."""
        current = self._current_entry(key, expected)
        return self._commit(delete_event(current, self.revision + 1))

    def watch(self, prefix: str, *, after: int, events_max: int = QUEUED_EVENTS_MAX) -> Watch:
        """Watch a prefix; the hub keeps all events that are not compacted."""
        self._check_open()
        return Watch(self._versions.hub, self, prefix, after=after, events_max=events_max)

    async def events(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Raise Compacted: the hub holds all events there are, so any that it lacks are compacted."""
        self._check_open()
        raise Compacted(after, self._versions.compacted)

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
