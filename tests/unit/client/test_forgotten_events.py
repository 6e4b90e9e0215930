"""Recorders forget what can have no effect on later events: their size follows the objects, not the history."""

from typing import Any

import pytest

from mockkube.api.json_objects import Object
from mockkube.client.deleted_objects import BATCH, DeletedObjects
from mockkube.client.event_correlator import BURST, CACHE_SIZE_MAX, PER_SECOND, SIMILAR_SECONDS, SWEEP_SECONDS
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.events import NORMAL, digest_uid
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import WatchEventType
from mockkube.client.series_recorder import FINISH_SECONDS, SeriesRecorder
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock


def pod(number: int) -> Object:
    metadata = {"name": f"p{number}", "namespace": "ns", "uid": f"uid-{number}", "resourceVersion": str(number)}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}


def deletion(obj: Object) -> ObjectChange:
    return ObjectChange(WatchEventType.DELETED, obj, obj)


@pytest.fixture
def recorder(shelf: Any, clock: VirtualClock, chance: Random) -> EventRecorder:
    return EventRecorder(shelf, clock, chance, component="controller")


async def record(recorder: EventRecorder, obj: Object, reason: str = "Started") -> None:
    recorder.record(obj, NORMAL, reason, f"{reason} {obj['metadata']['name']}")
    while recorder.is_ready():
        await recorder.step()


def count_records(recorder: EventRecorder) -> list[int]:
    correlator = recorder._correlator
    return [len(records) for records in (correlator._observed, correlator._similar, correlator._rate_limiters)]


async def test_events_leave_with_their_objects(recorder: EventRecorder) -> None:
    deleted = DeletedObjects(recorder.forget_objects)
    for number in range(10 * BATCH):
        for reason in ("Started", "Killing"):
            await record(recorder, pod(number), reason)
        deleted.handle_change(deletion(pod(number)))
    # The last batch is forgotten: all events that were written before it was complete.
    assert count_records(recorder) == [0, 0, 0]


async def test_events_leave_with_nodes_whose_name_is_their_uid(recorder: EventRecorder) -> None:
    deleted = DeletedObjects(recorder.forget_objects)
    for number in range(BATCH):
        name = f"n{number}"
        recorder.record({"kind": "Node", "name": name, "uid": name}, NORMAL, "Starting", "Starting kubelet.")
        await recorder.step()
        deleted.handle_change(deletion({"kind": "Node", "metadata": {"name": name, "uid": f"uid-{number}"}}))
    assert recorder.remembered == 0


async def test_an_event_that_is_written_after_the_deletion_leaves_later(recorder: EventRecorder) -> None:
    deleted = DeletedObjects(recorder.forget_objects)
    for number in range(BATCH):
        deleted.handle_change(deletion(pod(number)))
    await record(recorder, pod(0))
    assert recorder.remembered == 1
    for number in range(BATCH):
        deleted.handle_change(deletion(pod(BATCH + number)))
    assert recorder.remembered == 0


async def test_events_about_other_objects_are_still_counted(recorder: EventRecorder, shelf: Any) -> None:
    for number in (1, 2):
        await record(recorder, pod(number))
    recorder.forget_objects({digest_uid("uid-1")})
    for number in (1, 2):
        await record(recorder, pod(number))
    assert [(event["message"], event["count"]) for event in shelf.events.values()] == [
        ("Started p1", 1),
        ("Started p2", 2),
        ("Started p1", 1),
    ]


def test_objects_that_live_or_cannot_be_read_are_not_forgotten() -> None:
    forgotten: list[bytes] = []
    deleted = DeletedObjects(forgotten.extend)
    for number in range(BATCH):
        deleted.handle_change(ObjectChange(WatchEventType.MODIFIED, pod(number), pod(number)))
        deleted.handle_change(deletion({"metadata": {"name": "p", "uid": number}}))
    assert forgotten == []


async def test_records_without_effect_are_removed_in_time(recorder: EventRecorder, clock: VirtualClock) -> None:
    for number in range(1000):
        await record(recorder, pod(number))
    clock.move_to(SIMILAR_SECONDS + SWEEP_SECONDS + 1)
    await record(recorder, pod(1))
    # Equal events are counted for ever, as upstream.
    assert count_records(recorder) == [1000, 1, 1]


async def test_an_exhausted_budget_is_kept_until_it_is_full_again(recorder: EventRecorder, clock: VirtualClock) -> None:
    for _ in range(BURST):
        await record(recorder, pod(1))
    clock.move_to(BURST / PER_SECOND - 1)
    await record(recorder, pod(2))
    assert count_records(recorder)[2] == 2
    clock.move_to(BURST / PER_SECOND + SWEEP_SECONDS)
    await record(recorder, pod(2))
    assert count_records(recorder)[2] == 1


async def test_the_least_recently_used_event_is_dropped_first(recorder: EventRecorder, shelf: Any) -> None:
    for number in (*range(CACHE_SIZE_MAX), 0, CACHE_SIZE_MAX):
        await record(recorder, pod(number))
    shelf.asked.clear()
    for number in (0, 1):
        await record(recorder, pod(number))
    assert (recorder.remembered, shelf.asked) == (CACHE_SIZE_MAX, ["patch", "create"])


async def test_events_of_the_scheduler_leave_after_minutes(shelf: Any, clock: VirtualClock, chance: Random) -> None:
    recorder = SeriesRecorder(shelf, clock, chance, owner="kube-scheduler")
    for number in range(1000):
        recorder.record(pod(number), NORMAL, "Scheduled", "to n", action="Binding", controller="default-scheduler")
        await recorder.step()
    # What is remembered of a written event is a fraction of it.
    assert not any(known.unwritten or known.first for known in recorder._series.values())
    for tick in (1, 2):
        clock.move_to(tick * FINISH_SECONDS)
        await recorder.step()
    assert (len(recorder._series), recorder.wake_at()) == (0, None)
