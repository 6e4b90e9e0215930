"""Current entries of a store, in memory and in key order."""

from collections.abc import Iterable, Iterator

from mockkube_storage.keys import SortedKeys
from mockkube_storage.model import Entry, Event, EventType, Page


class CurrentEntries:
    """Entries at the newest revision; a store applies its events to them as they commit."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = {entry.key: entry for entry in entries}
        self._keys = SortedKeys(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key, None if it has none."""
        return self._entries.get(key)

    def estimate_past_bytes(self, stored_bytes: int) -> int:
        """Return about how many of the bytes that a store takes belong to replaced and deleted entries."""
        present = sum([len(entry.key) + len(entry.value) for entry in self._entries.values()])
        # Twice, so that indexes and the heads of records and pages do not count as past.
        return max(stored_bytes - 2 * present, 0)

    def keys_in_range(self, prefix: str, start: str = "") -> list[str]:
        """Return the keys that begin with `prefix`, from `start` on."""
        return self._keys.keys_in_range(prefix, start)

    def page(self, prefix: str, *, start: str, limit: int, revision: int) -> Page:
        """Return the entries of a prefix; `revision` is the store's current one, which the page names."""
        keys = self.keys_in_range(prefix, start)
        page_keys = keys[:limit] if limit else keys
        entries = self._entries
        return Page(tuple([entries[key] for key in page_keys]), revision, len(keys) - len(page_keys))

    def apply(self, event: Event) -> None:
        """Change the entries to those at the revision of an event, which directly follows theirs."""
        key = event.entry.key
        if event.type is EventType.DELETE:
            del self._entries[key]
            self._keys.remove(key)
            return
        # An update leaves the set of keys unchanged, so the sorted keys are touched by creations and deletions only.
        if event.previous is None:
            self._keys.add(key)
        self._entries[key] = event.entry
