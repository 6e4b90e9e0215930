"""What the scheduler reports again becomes a series."""

from typing import Any

import pytest

from mockkube.api.errors import Unavailable
from mockkube.client.events import WARNING
from mockkube.client.series_recorder import SeriesRecorder
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "ns", "uid": "u"}}
NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "uid": "n"}}


@pytest.fixture
def recorder(shelf: Any, clock: VirtualClock, chance: Random) -> SeriesRecorder:
    return SeriesRecorder(shelf, clock, chance, owner="kube-scheduler", host="here")


async def report(recorder: SeriesRecorder, note: str = "no node") -> None:
    recorder.record(POD, WARNING, "FailedScheduling", note, action="Scheduling", controller="default-scheduler")
    await send(recorder)


async def send(recorder: SeriesRecorder) -> None:
    while recorder.is_ready():
        await recorder.step()


async def go_to(recorder: SeriesRecorder, clock: VirtualClock, moment: float) -> None:
    while (at := recorder.wake_at()) is not None and at <= moment:
        clock.move_to(at)
        await send(recorder)
    clock.move_to(moment)


def series(shelf: Any) -> list[int | None]:
    return [event.get("series", {}).get("count") for event in shelf.events.values()]


async def test_an_event_says_who_does_what_with_what(recorder: SeriesRecorder, shelf: Any) -> None:
    recorder.record(POD, WARNING, "Preempted", "by node n", action="Preempting", controller="mine", related=NODE)
    await send(recorder)
    [event] = shelf.events.values()
    assert event["metadata"].pop("name").startswith("p.")
    assert event == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"namespace": "ns"},
        "eventTime": "2030-01-01T00:00:00.000000Z",
        "reportingController": "mine",
        "reportingInstance": "mine-here",
        "action": "Preempting",
        "reason": "Preempted",
        "regarding": {"kind": "Pod", "apiVersion": "v1", "name": "p", "namespace": "ns", "uid": "u"},
        "related": {"kind": "Node", "apiVersion": "v1", "name": "n", "uid": "n"},
        "note": "by node n",
        "type": "Warning",
    }


async def test_the_second_like_it_begins_a_series_and_further_ones_are_only_counted(
    recorder: SeriesRecorder, shelf: Any
) -> None:
    for number in range(4):
        await report(recorder, f"note {number}")
    assert (series(shelf), shelf.asked) == ([2], ["create", "patch"])
    assert next(iter(shelf.events.values()))["note"] == "note 0"


async def test_a_series_is_finished_six_minutes_after_its_last(
    recorder: SeriesRecorder, shelf: Any, clock: VirtualClock
) -> None:
    for _ in range(3):
        await report(recorder)
    await go_to(recorder, clock, 700)
    assert (series(shelf), recorder.wake_at()) == ([2], 720.0)
    await go_to(recorder, clock, 720)
    assert (series(shelf), recorder.wake_at()) == ([3], None)
    await report(recorder)
    assert series(shelf) == [3, None]


async def test_a_series_that_goes_on_is_written_every_half_hour(
    recorder: SeriesRecorder, shelf: Any, clock: VirtualClock
) -> None:
    for _ in range(29):
        await report(recorder)
        await go_to(recorder, clock, clock.monotonic() + 60)
    assert series(shelf) == [2]
    await go_to(recorder, clock, 1800)
    assert series(shelf) == [29]


async def test_a_single_event_is_forgotten_without_a_word(
    recorder: SeriesRecorder, shelf: Any, clock: VirtualClock
) -> None:
    await report(recorder)
    await go_to(recorder, clock, 1000)
    await report(recorder)
    assert (series(shelf), shelf.asked) == ([None, None], ["create", "create"])


async def test_a_series_whose_event_has_expired_is_written_anew(recorder: SeriesRecorder, shelf: Any) -> None:
    await report(recorder)
    shelf.events.clear()
    await report(recorder)
    assert series(shelf) == [2]


async def test_what_is_sent_again_is_not_counted_again(
    recorder: SeriesRecorder, shelf: Any, clock: VirtualClock
) -> None:
    await report(recorder)
    shelf.answer = lambda: Unavailable("away") if len(shelf.asked) < 4 else None
    await report(recorder)
    await go_to(recorder, clock, 60)
    assert (series(shelf), shelf.asked) == ([2], ["create", "patch", "patch", "patch"])
