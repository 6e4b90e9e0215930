"""Objects that pods refer to are cached while pods need them."""

from typing import Any

import pytest

from mockkube.api.errors import ApiError, Unavailable
from mockkube.api.json_objects import Object
from mockkube.client.protocol import Key
from mockkube.kubelet.pods.referenced_objects import CACHED_SECONDS, KEPT_SECONDS, ReferencedObjects
from mockkube.runtime.virtual_time import VirtualClock


class Server:
    """A client that has every object, unless it is away."""

    def __init__(self) -> None:
        self.away: ApiError | None = None

    async def get(self, kind: str, key: Key) -> Object:
        if self.away is not None:
            raise self.away
        return {"kind": kind, "metadata": {"name": key.name, "namespace": key.namespace}}


def pod(number: int) -> Object:
    volumes = [{"name": "v", "configMap": {"name": f"config-{number}"}}]
    return {"metadata": {"name": f"p{number}", "namespace": "ns"}, "spec": {"containers": [], "volumes": volumes}}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


async def test_objects_that_no_pod_needs_any_more_are_dropped(clock: VirtualClock) -> None:
    client: Any = Server()
    informer: Any = None
    referenced = ReferencedObjects(client, clock, informer, informer)
    for number in range(1000):
        await referenced.read([pod(number)])
    clock.move_to(CACHED_SECONDS + KEPT_SECONDS)
    await referenced.read([pod(1)])
    assert [reference.name for reference in referenced._cache] == ["config-1"]


async def test_all_are_kept_while_the_server_does_not_answer(clock: VirtualClock) -> None:
    client: Any = Server()
    informer: Any = None
    referenced = ReferencedObjects(client, clock, informer, informer)
    for number in range(10):
        await referenced.read([pod(number)])
    client.away = Unavailable("away")
    clock.move_to(10 * KEPT_SECONDS)
    await referenced.read([pod(1), pod(2)])
    assert len(referenced._cache) == 10
