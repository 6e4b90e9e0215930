"""A door holds requests while there is no server, and says so when it takes too long."""

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from mockkube.cluster.api_servers import request_gate as doors
from mockkube.cluster.api_servers.listeners import is_control_path
from mockkube.cluster.api_servers.request_gate import RequestGate


def request(path: str = "/api/v1/pods") -> web.Request:
    return make_mocked_request("GET", path)


async def answer(_request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text="answered")


class Slow:
    """A handler that answers when it is told to."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, _request: web.BaseRequest) -> web.StreamResponse:
        self.entered.set()
        await self.go.wait()
        return web.Response()


async def test_who_comes_before_it_opens_waits() -> None:
    door = RequestGate()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(door(request()))
        await asyncio.sleep(0)
        assert not waiting.done()
        door.open(answer)
    assert waiting.result().status == 200


async def test_who_waits_too_long_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "HOLD_SECONDS_MAX", 0)
    told = await RequestGate()(request())
    assert (told.status, told.headers["Retry-After"]) == (503, "1")


async def test_it_is_empty_once_everybody_has_left() -> None:
    door, slow = RequestGate(), Slow()
    door.open(slow)
    async with asyncio.TaskGroup() as group:
        inside = group.create_task(door(request()))
        await slow.entered.wait()
        door.close()
        empty = group.create_task(door.drain())
        await asyncio.sleep(0)
        assert not empty.done()
        slow.go.set()
    assert inside.result().status == 200


async def test_nobody_inside_is_nobody_to_wait_for() -> None:
    door = RequestGate()
    door.open(answer)
    await door(request())
    door.close()
    await door.drain()


async def test_who_does_not_leave_is_shown_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "DRAIN_SECONDS_MAX", 0)
    door, slow = RequestGate(), Slow()
    door.open(slow)
    inside = asyncio.ensure_future(door(request()))
    await slow.entered.wait()
    door.close()
    await door.drain()
    assert inside.cancelled()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        pytest.param("/api", 200, id="core discovery"),
        pytest.param("/apis", 200, id="discovery"),
        pytest.param("/openapi/v3", 200, id="openapi"),
        pytest.param("/apis/control.mockkube.dev/v1alpha1/components/kubelet", 200, id="control"),
        pytest.param("/api/v1/pods", 503, id="the cluster's own"),
        pytest.param("/apis/control.mockkube.device/v1", 503, id="a group whose name begins alike"),
        pytest.param("/metrics", 503, id="metrics"),
    ],
)
async def test_a_stopped_server_lets_through_what_steers_it(path: str, status: int) -> None:
    door = RequestGate()
    door.open(answer, is_control_path)
    assert (await door(request(path))).status == status
