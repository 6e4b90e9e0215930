"""What a cluster still knows of a pod that is gone."""

from collections.abc import Sequence
from typing import Any

import pytest

from mockkube.api.errors import Expired, Forbidden, NotFound
from mockkube.client.protocol import Key, ObjectList, Selection, WatchEnded, WatchEvent, WatchEventType
from mockkube.explain.pod_history import read_history
from mockkube.runtime.steps import Signal

P = Key("default", "p")
POD: Any = {"kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": "1"}, "spec": {}}


def event(revision: int, *, uid: str = "1", kind: str = "Pod", at: str = "") -> Any:
    return {
        "metadata": {"resourceVersion": str(revision), "creationTimestamp": at},
        "involvedObject": {"kind": kind, "name": "p", "namespace": "default", "uid": uid},
        "reason": f"at {revision}",
    }


class Watch:
    """Tells what has happened since, and then that it is over."""

    def __init__(self, events: Sequence[WatchEvent]) -> None:
        self.signal = Signal()
        self._events = list(events)
        self.closed = False

    def is_ready(self) -> bool:
        return True

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        events, self._events = self._events, []
        if not events:
            raise WatchEnded
        self.signal.notify()
        return events

    async def close(self) -> None:
        self.closed = True


class Server:
    """A server with some events, which remembers changes since some revision."""

    def __init__(self, *, pod: Any = None, events: Sequence[Any] = (), since: int = 0, changes: Any = ()) -> None:
        self._pod, self._events, self._since = pod, events, since
        self._changes: Sequence[WatchEvent] = changes
        self.watches: list[Watch] = []

    async def get(self, kind: str, key: Key) -> Any:
        if self._pod is None:
            raise NotFound.for_object("", "pods", key.name)
        return self._pod

    async def list(self, kind: str, selection: Selection) -> ObjectList:
        assert (kind, selection.fields) == ("Event", "involvedObject.name=p")
        return ObjectList(list(self._events), "9")

    async def watch(self, kind: str, selection: Selection, after: str) -> Watch:
        if int(after) < self._since:
            raise Expired("too old")
        self.watches.append(Watch(self._changes))
        return self.watches[-1]


async def known(**given: Any) -> Any:
    server: Any = Server(**given)
    memory = await read_history(server, P)
    assert all(watch.closed for watch in server.watches)
    return memory


async def test_a_pod_that_is_there_has_its_own_events_in_their_order() -> None:
    events = [event(5, at="2026-01-02"), event(4, uid="0"), event(3, kind="Job"), event(7, at="2026-01-01")]
    memory = await known(pod=POD, events=events)
    assert (memory.pod, memory.is_gone) == (POD, False)
    assert [one["reason"] for one in memory.events] == ["at 7", "at 5"]


@pytest.mark.parametrize(
    "since",
    [
        pytest.param(0, id="from the first event on"),
        pytest.param(4, id="from a later one, when the first is too long ago"),
    ],
)
async def test_a_pod_that_is_gone_is_as_it_was_at_its_end(since: int) -> None:
    before, after = {**POD, "status": {"phase": "Running"}}, {**POD, "status": {"phase": "Failed"}}
    changes = [WatchEvent(WatchEventType.MODIFIED, before), WatchEvent(WatchEventType.DELETED, after)]
    memory = await known(events=[event(3), event(5)], since=since, changes=changes)
    assert (memory.pod, memory.is_gone) == (after, True)


async def test_of_several_pods_of_the_name_the_last_is_meant() -> None:
    first = {**POD, "metadata": {**POD["metadata"], "uid": "0"}}
    changes = [WatchEvent(WatchEventType.DELETED, first), WatchEvent(WatchEventType.DELETED, POD)]
    memory = await known(events=[event(3, uid="0"), event(5)], changes=changes)
    assert memory.pod == POD
    assert [one["reason"] for one in memory.events] == ["at 5"]


@pytest.mark.parametrize(
    ("since", "changes"),
    [
        pytest.param(9, [], id="all is too long ago"),
        pytest.param(0, [WatchEvent(WatchEventType.MODIFIED, POD)], id="its end is not told"),
    ],
)
async def test_of_a_pod_that_is_forgotten_events_are_left(since: int, changes: Sequence[WatchEvent]) -> None:
    memory = await known(events=[event(3)], since=since, changes=changes)
    assert (memory.pod, memory.is_gone, len(memory.events)) == (None, True, 1)


async def test_a_pod_without_events_is_not_found() -> None:
    with pytest.raises(NotFound):
        await known()


async def test_whoever_may_not_read_events_hears_the_rest() -> None:
    class Strict(Server):
        async def list(self, kind: str, selection: Selection) -> ObjectList:
            raise Forbidden.for_object("", "events", "", "no")

    server: Any = Strict(pod=POD)
    assert not (await read_history(server, P)).events
