"""Recorded events are counted, combined and dammed."""

from typing import Any

import pytest

from mockkube.api.errors import Unavailable
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.events import NORMAL, WARNING
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock

NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "uid": "u", "resourceVersion": "7"}}


def about(name: str) -> dict[str, Any]:
    return {**NODE, "metadata": {"name": name, "uid": name}}


@pytest.fixture
def recorder(shelf: Any, clock: VirtualClock, chance: Random) -> EventRecorder:
    return EventRecorder(shelf, clock, chance, component="controller")


async def send(recorder: EventRecorder) -> None:
    while recorder.is_ready():
        await recorder.step()


def written(shelf: Any) -> list[tuple[str, int]]:
    return [(event["message"], event["count"]) for event in shelf.events.values()]


async def test_an_event_says_who_reports_what_about_whom(recorder: EventRecorder, shelf: Any) -> None:
    recorder.record(NODE, WARNING, "Burnt", "the node is on fire", host="n", annotations={"a": "b"})
    await send(recorder)
    [event] = shelf.events.values()
    name = event["metadata"].pop("name")
    assert name.startswith("n.")
    assert event == {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"namespace": "default", "annotations": {"a": "b"}},
        "involvedObject": {"kind": "Node", "apiVersion": "v1", "name": "n", "uid": "u", "resourceVersion": "7"},
        "reason": "Burnt",
        "message": "the node is on fire",
        "source": {"component": "controller", "host": "n"},
        "firstTimestamp": "2030-01-01T00:00:00Z",
        "lastTimestamp": "2030-01-01T00:00:00Z",
        "count": 1,
        "type": "Warning",
        "reportingComponent": "controller",
        "reportingInstance": "n",
    }


async def test_equal_events_are_one_that_is_counted(recorder: EventRecorder, shelf: Any, clock: VirtualClock) -> None:
    for _ in range(3):
        recorder.record(NODE, NORMAL, "Said", "hello")
        await send(recorder)
        clock.move_to(clock.monotonic() + 10)
    [event] = shelf.events.values()
    assert (event["count"], event["firstTimestamp"][-3:], event["lastTimestamp"][-3:]) == (3, "00Z", "20Z")
    assert shelf.asked == ["create", "patch", "patch"]


async def test_a_counted_event_that_is_gone_is_written_anew(recorder: EventRecorder, shelf: Any) -> None:
    recorder.record(NODE, NORMAL, "Said", "hello")
    await send(recorder)
    shelf.events.clear()
    recorder.record(NODE, NORMAL, "Said", "hello")
    await send(recorder)
    assert written(shelf) == [("hello", 2)]


async def test_the_tenth_similar_event_begins_a_combination(recorder: EventRecorder, shelf: Any) -> None:
    for number in range(12):
        recorder.record(NODE, NORMAL, "Said", f"hello {number}")
    await send(recorder)
    assert written(shelf)[8:] == [("hello 8", 1), ("(combined from similar events): hello 11", 3)]


async def test_similar_events_of_long_ago_do_not_count(
    recorder: EventRecorder, shelf: Any, clock: VirtualClock
) -> None:
    for number in range(9):
        recorder.record(NODE, NORMAL, "Said", f"hello {number}")
    await send(recorder)
    clock.move_to(601)
    recorder.record(NODE, NORMAL, "Said", "hello again")
    await send(recorder)
    assert written(shelf)[-1] == ("hello again", 1)


async def test_a_flood_about_one_object_is_dammed_and_others_are_not(
    recorder: EventRecorder, shelf: Any, clock: VirtualClock
) -> None:
    for _ in range(40):
        recorder.record(NODE, NORMAL, "Said", "hello")
    recorder.record(about("other"), NORMAL, "Said", "hello")
    await send(recorder)
    assert written(shelf) == [("hello", 25), ("hello", 1)]
    clock.move_to(301)
    recorder.record(NODE, NORMAL, "Said", "hello")
    await send(recorder)
    assert written(shelf)[0] == ("hello", 41)  # those held back were counted


async def test_an_event_is_counted_once_however_often_it_is_sent(
    recorder: EventRecorder, shelf: Any, clock: VirtualClock
) -> None:
    shelf.answer = lambda: Unavailable("away") if len(shelf.asked) < 4 else None
    recorder.record(NODE, NORMAL, "Said", "hello")
    while not shelf.events:
        await send(recorder)
        if not shelf.events:
            clock.move_to(recorder.wake_at() or 0.0)
    assert written(shelf) == [("hello", 1)]
    assert shelf.asked == ["create"] * 4
