"""Reads and watches of the engines that have all versions in memory."""

from abc import abstractmethod

from mockkube_storage.errors import Compacted
from mockkube_storage.model import Entry, Event, Page
from mockkube_storage.store import Store
from mockkube_storage.versions import Versions
from mockkube_storage.watch import QUEUED_EVENTS_MAX, Watch


class VersionedStore(Store):
    """Store that is the only one to write its data, and has it in memory; an engine adds the writes."""

    def __init__(self) -> None:
        self._versions = Versions()

    @abstractmethod
    def _check_open(self) -> object:
        """Raise Unavailable unless the store is started."""

    @property
    def revision(self) -> int:
        """The revision of the last write."""
        return self._versions.hub.revision

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

    def watch(self, prefix: str, *, after: int, events_max: int = QUEUED_EVENTS_MAX) -> Watch:
        """Watch a prefix; the hub keeps all events that are not compacted."""
        self._check_open()
        return Watch(self._versions.hub, self, prefix, after=after, events_max=events_max)

    async def events(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Raise Compacted: the hub holds all events there are, so any that it lacks are compacted."""
        self._check_open()
        raise Compacted(after, self._versions.compacted)
