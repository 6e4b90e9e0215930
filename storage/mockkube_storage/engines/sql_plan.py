"""Decision about a group of writes: which are committed, as which rows and events.

Pure: the latest versions of the keys come in, the plan comes out; nothing changes until it is committed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockkube_storage.errors import Conflict
from mockkube_storage.model import Entry, Event, delete_event, put_event


@dataclass(frozen=True, slots=True)
class Write:
    """One requested write. No value deletes; `expected` is the revision to replace, None to create."""

    key: str
    value: bytes | None
    expected: int | None


@dataclass(frozen=True, slots=True)
class LatestVersion:
    """Latest version of a key, deletions included: 0 and None if there is none."""

    revision: int
    entry: Entry | None


@dataclass(slots=True)
class CommitPlan:
    """Rows to commit, their events, and the outcome of each write in order."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    outcomes: list[Entry | Conflict] = field(default_factory=list)


def plan_writes(writes: Sequence[Write], *, newest: int, head_of: Callable[[str], LatestVersion]) -> CommitPlan:
    """Decide the writes one after the other, each on top of those before it, after revision `newest`."""
    plan = CommitPlan()
    changed_versions: dict[str, LatestVersion] = {}
    for write in writes:
        # A group may hold several writes to one key; the second follows the first although that is not committed yet.
        head = changed_versions.get(write.key) or head_of(write.key)
        if not _matches_expectation(write, head.entry):
            # A conflict uses no revision and does not affect the other writes of the group.
            plan.outcomes.append(Conflict(write.key, head.entry))
            continue
        newest += 1
        event = _make_event(write, head.entry, newest)
        changed_versions[write.key] = LatestVersion(newest, None if write.value is None else event.entry)
        plan.rows.append(_make_row(write, event, head))
        plan.events.append(event)
        plan.outcomes.append(event.entry)
    return plan


def _matches_expectation(write: Write, current: Entry | None) -> bool:
    if write.expected is None:
        return current is None
    return current is not None and current.revision == write.expected


def _make_event(write: Write, current: Entry | None, revision: int) -> Event:
    if write.value is None:
        assert current is not None  # only a creation expects nothing
        return delete_event(current, revision)
    created = revision if current is None else current.create_revision
    return put_event(Entry(write.key, write.value, created, revision), current)


def _make_row(write: Write, event: Event, head: LatestVersion) -> dict[str, Any]:
    return {
        "revision": event.revision,
        "key": write.key,
        "previous": head.revision,
        "create_revision": event.entry.create_revision,
        "value": write.value,
    }
