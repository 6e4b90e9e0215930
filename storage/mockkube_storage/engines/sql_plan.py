"""Rows of a group of writes: what a SQL engine inserts for the decisions of `writes`.

Pure: the latest versions of the keys come in, the plan comes out; nothing changes until it is committed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockkube_storage.model import Entry, Event, EventType
from mockkube_storage.writes import Decisions, Write, decide_writes


@dataclass(frozen=True, slots=True)
class LatestVersion:
    """Latest version of a key, deletions included: 0 and None if there is none."""

    revision: int
    entry: Entry | None


@dataclass(slots=True)
class CommitPlan(Decisions):
    """Decisions about a group of writes, and the rows to commit."""

    rows: list[dict[str, Any]] = field(default_factory=list)


def plan_writes(writes: Sequence[Write], *, newest: int, head_of: Callable[[str], LatestVersion]) -> CommitPlan:
    """Decide the writes one after the other, each on top of those before it, after revision `newest`."""
    decisions = decide_writes(writes, newest=newest, current_of=lambda key: head_of(key).entry)
    rows: list[dict[str, Any]] = []
    changed_revisions: dict[str, int] = {}
    for event in decisions.events:
        key = event.entry.key
        previous = changed_revisions.get(key) or head_of(key).revision
        changed_revisions[key] = event.revision
        rows.append(_make_row(event, previous))
    return CommitPlan(decisions.events, decisions.outcomes, rows)


def _make_row(event: Event, previous: int) -> dict[str, Any]:
    return {
        "revision": event.revision,
        "key": event.entry.key,
        "previous": previous,
        "create_revision": event.entry.create_revision,
        "value": None if event.type is EventType.DELETE else event.entry.value,
    }
