"""The current entries, in memory, in key order."""

from collections.abc import Iterable, Iterator

from mockkube_storage.keys import SortedKeys
from mockkube_storage.model import Entry, Event, EventType, Page


class Current:
    """The entries of the newest revision; a store applies its events to it as they commit."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = {entry.key: entry for entry in entries}
        self._keys = SortedKeys(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key."""
        return self._entries.get(key)

    def page(self, prefix: str, *, start: str, limit: int, revision: int) -> Page:
        """Return the entries of a prefix; `revision` is what to call the present."""
        keys = self._keys.between(prefix, start)
        shown = keys[:limit] if limit else keys
        entries = self._entries
        return Page(tuple([entries[key] for key in shown]), revision, len(keys) - len(shown))

    def apply(self, event: Event) -> None:
        """Bring the entries to the revision of this event."""
        key = event.entry.key
        if event.type is EventType.DELETE:
            del self._entries[key]
            self._keys.remove(key)
            return
        if event.previous is None:
            self._keys.add(key)
        self._entries[key] = event.entry
