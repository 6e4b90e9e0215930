"""Data model of the store: entries, the events that changed them, pages of entries.

All of it is immutable and shared between readers.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

# Revision of an empty store, as in etcd; the first write has the next one. Arguments use 0 for "the current one".
REVISION_FIRST: Final = 1


class EventType(StrEnum):
    """Type of a change: a key was written or deleted."""

    PUT = "PUT"
    DELETE = "DELETE"


# Entries and events are made for every write; a named tuple takes a third of the time of a frozen dataclass.
class Entry(NamedTuple):
    """Value of a key at one revision.

    `create_revision` is that of the write that created the key; a key that is deleted and created again has a new one.
    """

    key: str
    value: bytes
    create_revision: int
    revision: int


class Event(NamedTuple):
    """One committed write.

    `entry` is the state after a PUT, and the last state of a deleted key, under the revision of the
    deletion: `entry.revision == revision` always. `previous` is the state before, None for a creation.
    """

    type: EventType
    revision: int
    entry: Entry
    previous: Entry | None


@dataclass(frozen=True, slots=True)
class Page:
    """Entries in key order at one revision; `remaining` counts the matching keys after the last one."""

    entries: tuple[Entry, ...]
    revision: int
    remaining: int

    @property
    def has_more(self) -> bool:
        """True if another page follows."""
        return self.remaining > 0


def put_event(entry: Entry, previous: Entry | None) -> Event:
    """Return the event of a creation (no previous entry) or an update."""
    return Event(EventType.PUT, entry.revision, entry, previous)


def delete_event(previous: Entry, revision: int) -> Event:
    """Return the event of a deletion: the last value, at the revision of the deletion."""
    last = Entry(previous.key, previous.value, previous.create_revision, revision)
    return Event(EventType.DELETE, revision, last, previous)
