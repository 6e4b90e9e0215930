"""Decision about a group of writes: which of them are done, as which events.

Pure: the current entries come in, events and outcomes come out; nothing changes until they are committed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mockkube_storage.errors import Conflict
from mockkube_storage.model import Entry, Event, delete_event, put_event


@dataclass(frozen=True, slots=True)
class Write:
    """One requested write. No value deletes; `expected` is the revision to replace, None to create."""

    key: str
    value: bytes | None
    expected: int | None


@dataclass(slots=True)
class Decisions:
    """Events of a group of writes, and the outcome of each write in order."""

    events: list[Event] = field(default_factory=list)
    outcomes: list[Entry | Conflict] = field(default_factory=list)


class PendingCommit:
    """Events of a commit that has not been applied yet, each on top of those before it."""

    __slots__ = ("_changed", "_current_of", "events")

    def __init__(self, current_of: Callable[[str], Entry | None]) -> None:
        self.events: list[Event] = []
        self._current_of = current_of
        self._changed: dict[str, Entry | None] = {}

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key after the events so far."""
        # A commit may hold several writes to one key; the second follows the first although that is not applied yet.
        return self._changed[key] if key in self._changed else self._current_of(key)

    def add(self, write: Write, revision: int) -> Event:
        """Add the event of a write at a revision; a deletion must find an entry."""
        key, current = write.key, self.get(write.key)
        if write.value is None:
            assert current is not None
            event = delete_event(current, revision)
            self._changed[key] = None
        else:
            created = revision if current is None else current.create_revision
            event = put_event(Entry(key, write.value, created, revision), current)
            self._changed[key] = event.entry
        self.events.append(event)
        return event


def decide_writes(writes: Sequence[Write], *, newest: int, current_of: Callable[[str], Entry | None]) -> Decisions:
    """Decide the writes one after the other, each on top of those before it, after revision `newest`."""
    commit = PendingCommit(current_of)
    outcomes: list[Entry | Conflict] = []
    for write in writes:
        current = commit.get(write.key)
        if _matches_expectation(write, current):
            newest += 1
            outcomes.append(commit.add(write, newest).entry)
        else:
            # A conflict uses no revision and does not affect the other writes of the group.
            outcomes.append(Conflict(write.key, current))
    return Decisions(commit.events, outcomes)


def _matches_expectation(write: Write, current: Entry | None) -> bool:
    if write.expected is None:
        return current is None
    return current is not None and current.revision == write.expected
