"""Deciding a group of writes."""

import pytest
from mockkube_storage.engines.sql_plan import CommitPlan, LatestVersion, Write, plan_writes
from mockkube_storage.errors import Conflict
from mockkube_storage.model import Entry, EventType

HEADS = {"/a": LatestVersion(5, Entry("/a", b"old", 3, 5)), "/dead": LatestVersion(6, None)}


def plan(*writes: Write) -> CommitPlan:
    return plan_writes(writes, newest=10, head_of=lambda key: HEADS.get(key, LatestVersion(0, None)))


def test_revisions_count_on_from_the_newest() -> None:
    planned = plan(Write("/x", b"1", None), Write("/y", b"2", None))
    assert [row["revision"] for row in planned.rows] == [11, 12]
    assert [event.revision for event in planned.events] == [11, 12]


@pytest.mark.parametrize(
    ("write", "previous"),
    [
        pytest.param(Write("/x", b"1", None), 0, id="a creation follows nothing"),
        pytest.param(Write("/dead", b"1", None), 6, id="a creation follows the deletion before it"),
        pytest.param(Write("/a", b"1", 5), 5, id="an update follows what it replaces"),
        pytest.param(Write("/a", None, 5), 5, id="a deletion follows what it ends"),
    ],
)
def test_a_row_names_the_version_it_follows(write: Write, previous: int) -> None:
    (row,) = plan(write).rows
    assert (row["previous"], row["value"]) == (previous, write.value)


def test_an_update_keeps_the_creation_and_tells_what_was_before() -> None:
    (event,) = plan(Write("/a", b"new", 5)).events
    assert event.entry == Entry("/a", b"new", 3, 11)
    assert event.previous == HEADS["/a"].entry


def test_a_deletion_tells_the_last_value() -> None:
    (event,) = plan(Write("/a", None, 5)).events
    assert (event.type, event.entry) == (EventType.DELETE, Entry("/a", b"old", 3, 11))


@pytest.mark.parametrize(
    ("write", "current"),
    [
        pytest.param(Write("/a", b"1", None), HEADS["/a"].entry, id="creating what exists"),
        pytest.param(Write("/a", b"1", 4), HEADS["/a"].entry, id="an outdated revision"),
        pytest.param(Write("/x", b"1", 4), None, id="updating what never was"),
        pytest.param(Write("/dead", b"1", 6), None, id="updating what is deleted"),
        pytest.param(Write("/dead", None, 6), None, id="deleting what is deleted"),
    ],
)
def test_a_conflict_writes_nothing_and_tells_the_current_entry(write: Write, current: Entry | None) -> None:
    planned = plan(write)
    (outcome,) = planned.outcomes
    assert isinstance(outcome, Conflict)
    assert (outcome.current, planned.rows, planned.events) == (current, [], [])


def test_each_write_sees_those_before_it() -> None:
    planned = plan(
        Write("/a", b"first", 5),
        Write("/a", b"too late", 5),
        Write("/a", None, 11),
        Write("/a", b"again", None),
    )
    updated, conflict, deleted, created = planned.outcomes
    assert isinstance(conflict, Conflict)
    assert conflict.current == updated == Entry("/a", b"first", 3, 11)
    assert deleted == Entry("/a", b"first", 3, 12)
    assert created == Entry("/a", b"again", 13, 13)
    assert [row["previous"] for row in planned.rows] == [5, 11, 12]
