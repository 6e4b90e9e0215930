"""What the store keeps and hands out: entries, the events that made them, pages of them.

Everything here is immutable and shared between readers.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

REVISION_FIRST: Final = 1
"""The revision of a store nobody has written to; the first write is the next one. 0 always means "now"."""


class EventType(StrEnum):
    """What a write did to its key."""

    PUT = "PUT"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Entry:
    """One key at one revision.

    `create_revision` is that of the write that brought the key into being; a key that is deleted and
    created again has a new one.
    """

    key: str
    value: bytes
    create_revision: int
    revision: int


@dataclass(frozen=True, slots=True)
class Event:
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
    def more(self) -> bool:
        """Whether another page follows."""
        return self.remaining > 0


def put(entry: Entry, previous: Entry | None) -> Event:
    """The event of a creation (no previous state) or an update."""
    return Event(EventType.PUT, entry.revision, entry, previous)


def deletion(previous: Entry, revision: int) -> Event:
    """The event of a deletion: the last value, at the revision of its end."""
    last = Entry(previous.key, previous.value, previous.create_revision, revision)
    return Event(EventType.DELETE, revision, last, previous)
