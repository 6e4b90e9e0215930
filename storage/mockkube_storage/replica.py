"""Copy of a store that is kept elsewhere: its current entries, and the hub of this process's watchers."""

from collections.abc import Iterable
from typing import Final

from mockkube_storage.current import CurrentEntries
from mockkube_storage.encoding import Malformed
from mockkube_storage.errors import Compacted
from mockkube_storage.model import REVISION_FIRST, Entry, Event
from mockkube_storage.watch import WatchHub

# Events kept in memory for watchers that come back.
RECENT_EVENTS_MAX: Final = 4_096


class Replica:
    """Copy of the entries of a server's store, and the hub of this process's watchers."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.store_id = b""
        self.current = CurrentEntries()
        self.hub = WatchHub(REVISION_FIRST, recent_max=RECENT_EVENTS_MAX)
        self.compacted = 0
        self.generation = 0  # how often it has been loaded
        self.server_problem = ""  # why the server did not keep the last write

    def load(self, store_id: bytes, entries: Iterable[Entry], revision: int) -> None:
        """Replace everything; the watchers end, because events are missing."""
        self.current = CurrentEntries(entries)
        if not self.store_id:
            self.hub = WatchHub(revision, recent_max=RECENT_EVENTS_MAX)
        else:
            self.hub.skip_to(revision, Compacted(self.hub.revision, revision))
        self.store_id = store_id
        self.compacted = 0
        self.generation += 1

    def publish(self, events: list[Event]) -> None:
        """Apply and publish the events of a commit. Raises Malformed unless they follow those before."""
        if events[0].revision <= self.hub.revision:
            raise Malformed(f"revision {events[0].revision} after {self.hub.revision}")
        for event in events:
            self.current.apply(event)
        self.hub.publish(events)

    def set_compacted(self, revision: int) -> None:
        """Record up to where the server has compacted."""
        if revision > self.compacted:
            self.compacted = revision
            self.hub.forget(min(revision, self.hub.revision))
