"""Monitors of kinds that come and go leave nothing behind."""

from typing import Any

import pytest

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object
from mockkube.client.informer import InformerFactory, ObjectChange
from mockkube.client.protocol import EVERYTHING, ObjectList, Selection, WatchEvent, WatchEventType, key_of
from mockkube.controllers.framework.resource_monitors import ResourceMonitors
from mockkube.runtime.steps import Signal
from mockkube.runtime.virtual_time import VirtualClock


class SilentWatch:
    """A watch that delivers nothing."""

    def __init__(self) -> None:
        self.signal = Signal()

    def is_ready(self) -> bool:
        return False

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        return []

    async def close(self) -> None:
        pass


class Server:
    """A client that lists five objects of each custom kind, and none of the others."""

    def __init__(self) -> None:
        self.served = True

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        custom = kind.endswith(".example.com")
        if custom and not self.served:
            raise NotFound("not served")
        metadata = [{"name": f"o-{n}", "uid": f"{kind}-{n}", "resourceVersion": "1"} for n in range(5 if custom else 0)]
        return ObjectList([{"kind": kind, "metadata": one} for one in metadata], "1")

    async def watch(self, kind: str, selection: Selection, after: str) -> SilentWatch:
        return SilentWatch()


def make_crd(number: int) -> Object:
    names = {"kind": f"Thing{number}", "plural": f"thing{number}s"}
    spec = {"group": "example.com", "names": names, "scope": "Cluster", "versions": [{"name": "v1", "served": True}]}
    return {
        "metadata": {"name": f"thing{number}s.example.com", "uid": str(number)},
        "spec": spec,
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    }


@pytest.fixture
def server() -> Any:
    """Any: it offers the part of a client that is used."""
    return Server()


async def settle(monitors: ResourceMonitors) -> None:
    while monitors.is_ready():
        await monitors.step()


async def test_objects_of_a_kind_that_is_gone_are_deleted(server: Any) -> None:
    clock, known = VirtualClock(), dict[object, Any]()
    monitors = ResourceMonitors(server, clock, InformerFactory(server, clock, owner="c"), "c")

    def handle(change: ObjectChange) -> None:
        if change.type is WatchEventType.DELETED:
            del known[change.object["metadata"]["uid"]]
        else:
            known[change.object["metadata"]["uid"]] = change.object

    monitors.add_event_handler(handle)
    await settle(monitors)
    kinds = len(monitors.kinds())
    for number in range(20):
        crd = make_crd(number)
        monitors._on_crd_change(ObjectChange(WatchEventType.ADDED, crd, None))
        await settle(monitors)
        assert {key_of(obj).name for obj in known.values()} == {f"o-{n}" for n in range(5)}
        # The watch of the monitor has not delivered the deletions of the objects.
        monitors._on_crd_change(ObjectChange(WatchEventType.DELETED, crd, crd))
        await settle(monitors)
        assert not known
    assert len(monitors.kinds()) == len(monitors._client._watched) == kinds
    assert not monitors.is_ready()


async def test_a_kind_may_be_deleted_while_it_is_listed(server: Any) -> None:
    clock = VirtualClock()
    monitors = ResourceMonitors(server, clock, InformerFactory(server, clock, owner="c"), "c")
    monitors.add_event_handler(lambda change: None)
    await settle(monitors)
    kinds, crd = len(monitors.kinds()), make_crd(1)
    monitors._on_crd_change(ObjectChange(WatchEventType.ADDED, crd, None))
    [kind] = [one for one in monitors.kinds() if one.group == "example.com"]
    monitor = monitors._monitors[kind]
    monitors._on_crd_change(ObjectChange(WatchEventType.DELETED, crd, crd))
    server.served = False
    await monitors._step_monitor(kind, monitor)
    await settle(monitors)
    assert len(monitors.kinds()) == kinds
    assert not monitors._unserved
