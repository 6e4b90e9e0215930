"""Kubelets tell of what they do side by side, and none is held up by what others have to tell."""

from typing import Any

import pytest

from mockkube.api.errors import Unavailable
from mockkube.api.json_objects import Object
from mockkube.client.deleted_objects import BATCH
from mockkube.client.event_sink import QUEUED_MAX
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.kubelet.events import node_events as remembering
from mockkube.kubelet.events.node_events import BATCH_MAX, NodeEvents
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock


class Shelf:
    """A client that keeps events, and counts how many are written at once."""

    def __init__(self) -> None:
        self.events: list[Object] = []
        self.away = False

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> Object:
        if self.away:
            raise Unavailable("the server is not running")
        self.events.append(obj)
        return obj

    async def patch(self, kind: str, key: Key, patch: Any, **how: Any) -> Object:
        event = next(one for one in self.events if key_of(one) == key)
        event.update(patch)
        return event


@pytest.fixture
def shelf() -> Any:
    """Any: it offers the part of a client that is used."""
    return Shelf()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def voices(shelf: Any, clock: VirtualClock) -> NodeEvents:
    return NodeEvents(shelf, clock, Random.from_seed(1, "kubelet"), owner="kubelet")


def tell(voices: NodeEvents, node: int, pod: str = "p") -> None:
    about = {"kind": "Pod", "namespace": "default", "name": f"{pod}-{node}", "uid": f"{pod}-{node}"}
    voices.record(about, "Normal", "Started", "Started container", host=f"n{node}")


async def send(voices: NodeEvents) -> int:
    """Write all; return in how many steps."""
    steps = 0
    while voices.is_ready():
        await voices.step()
        steps += 1
    return steps


async def test_an_event_is_told_in_the_name_of_its_node(voices: NodeEvents, shelf: Any) -> None:
    tell(voices, 3)
    await send(voices)
    [event] = shelf.events
    assert event["source"] == {"component": "kubelet", "host": "n3"}
    assert (event["reportingComponent"], event["reportingInstance"]) == ("kubelet", "n3")


async def test_several_nodes_write_in_one_step(voices: NodeEvents, shelf: Any) -> None:
    for node in range(2 * BATCH_MAX):
        tell(voices, node)
    assert await send(voices) == 2
    assert len(shelf.events) == 2 * BATCH_MAX


async def test_no_node_waits_for_another_that_has_much_to_tell(voices: NodeEvents, shelf: Any) -> None:
    for number in range(BATCH_MAX):
        tell(voices, 0, f"p{number}")
    tell(voices, 1)
    await voices.step()
    assert [event["source"]["host"] for event in shelf.events] == ["n0", "n1"]


async def test_each_node_has_a_queue_of_its_own(voices: NodeEvents, shelf: Any) -> None:
    for node in (0, 1):
        for number in range(QUEUED_MAX):
            tell(voices, node, f"p{number}")
    await send(voices)
    assert len(shelf.events) == 2 * QUEUED_MAX


async def test_a_server_that_is_away_is_asked_again(voices: NodeEvents, shelf: Any, clock: VirtualClock) -> None:
    shelf.away = True
    tell(voices, 0)
    tell(voices, 1)
    await send(voices)
    assert shelf.events == []
    shelf.away = False
    while (at := voices.wake_at()) is not None:
        clock.move_to(at)
        await send(voices)
    assert len(shelf.events) == 2


async def test_what_a_node_that_is_gone_had_to_tell_is_told(voices: NodeEvents, shelf: Any) -> None:
    tell(voices, 0)
    voices.remove_node("n0")
    await send(voices)
    assert len(shelf.events) == 1


async def test_equal_events_of_a_node_are_counted(voices: NodeEvents, shelf: Any) -> None:
    for _ in range(2):
        tell(voices, 0)
        await send(voices)
    assert [event["count"] for event in shelf.events] == [2]


async def test_who_was_silent_for_longest_forgets_when_there_is_too_much(
    voices: NodeEvents, shelf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembering, "REMEMBERED_EVENTS_MAX", 4)
    for node in (0, 1, 2, 3, 0, 4, 0, 1):  # with 4 there is one too many, and 1 has been silent for longest
        tell(voices, node)
        await send(voices)
    counts = [(event["source"]["host"], event["count"]) for event in shelf.events]
    assert counts == [("n0", 3), ("n1", 1), ("n2", 1), ("n3", 1), ("n4", 1), ("n1", 1)]


def delete_pod(voices: NodeEvents, name: str) -> None:
    pod = {"kind": "Pod", "metadata": {"name": name, "namespace": "default", "uid": name}}
    voices.deleted_pods.handle_change(ObjectChange(WatchEventType.DELETED, pod, pod))


async def test_pods_that_are_gone_push_out_no_node(
    voices: NodeEvents, shelf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembering, "REMEMBERED_EVENTS_MAX", 4 * BATCH)
    tell(voices, 1)
    for number in range(8 * BATCH):
        tell(voices, 0, f"p{number}")
        await send(voices)
        delete_pod(voices, f"p{number}-0")
    tell(voices, 1)
    await send(voices)
    assert [event["count"] for event in shelf.events if event["source"]["host"] == "n1"] == [2]
    assert sum(recorder.remembered for recorder in voices._recorders.values()) <= 2 * BATCH
