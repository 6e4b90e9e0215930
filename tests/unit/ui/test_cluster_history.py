"""History of the page: what it keeps, what it folds, and what a reader gets."""

import asyncio

import pytest

from mockkube.ui import cluster_history
from mockkube.ui.cluster_history import Change, ClusterHistory, RowKey

POD = RowKey("pods", "default", "p")
NODE = RowKey("nodes", "", "n1")


def change(key: RowKey, state: str | None, revision: int) -> Change:
    return Change(key, None if state is None else [state], revision, revision * 1000)


def test_a_change_that_shows_nothing_new_is_left_out() -> None:
    history = ClusterHistory()
    history.load({NODE: ["Ready"]}, 500)
    history.add(change(NODE, "Ready", 2))
    history.add(change(NODE, "NotReady", 3))
    history.add(change(POD, None, 4))
    assert [(one.key, one.row) for one in history.changes] == [(NODE, ["NotReady"])]
    assert history.current == {NODE: ["NotReady"]}
    assert history.base == {NODE: ["Ready"]}


def test_old_changes_are_folded_into_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_history, "CHANGES_MAX", 2)
    history = ClusterHistory()
    for revision, state in enumerate(["Pending", "Running", "Failed", None], start=1):
        history.add(change(POD, state, revision))
    assert history.base == {POD: ["Running"]}
    assert history.start == 2000
    assert [one.row for one in history.changes] == [["Failed"], None]
    assert history.read_changes(1) is None
    assert history.read_changes(3) == [change(POD, None, 4)]
    assert history.read_changes(4) == []


def test_a_new_list_becomes_the_changes_that_were_missed() -> None:
    history = ClusterHistory()
    history.load({NODE: ["Ready"], POD: ["Running"]}, 0)
    other = RowKey("pods", "default", "q")
    history.replace(["pods"], {other: ["Pending"]}, 9, 9000)
    assert history.current == {NODE: ["Ready"], other: ["Pending"]}
    assert [(one.key, one.row) for one in history.changes] == [(POD, None), (other, ["Pending"])]


async def test_a_reader_waits_for_the_next_change() -> None:
    history = ClusterHistory()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(history.wait(0))
        await asyncio.sleep(0)
        assert not waiting.done()
        history.add(change(POD, "Pending", 1))
    await history.wait(0)
