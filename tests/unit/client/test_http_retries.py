"""A client repeats a request when the server says when, as client-go does."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
import pytest_asyncio
from aiohttp import web

from mockkube.api.errors import ApiError
from mockkube.client.http import HttpClient
from mockkube.client.kubeconfig import RestConfig
from mockkube.runtime.clock import RealClock


class PatientClock(RealClock):
    """A clock whose sleeps take no time."""

    def __init__(self) -> None:
        self.sleeps: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)


@dataclass
class Server:
    """A server that answers with these codes, the last one for ever."""

    url: str = ""
    codes: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        code, after = self.codes[min(self.count, len(self.codes) - 1)]
        self.count += 1
        headers = {"Retry-After": after} if after else {}
        return web.json_response({"kind": "Status", "code": code}, status=code, headers=headers)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    one = Server()
    runner = web.ServerRunner(web.Server(one.handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    one.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield one
    await runner.cleanup()


@pytest.mark.parametrize(
    ("codes", "count", "sleeps", "code"),
    [
        pytest.param([(429, "1"), (200, "")], 2, [1], 200, id="too many requests"),
        pytest.param([(503, "2"), (500, "0"), (200, "")], 3, [2, 0], 200, id="errors of the server"),
        pytest.param([(500, "")], 1, [], 500, id="no time is named"),
        pytest.param([(409, "1")], 1, [], 409, id="an error of the client"),
        pytest.param([(429, "1")], 11, [1] * 10, 429, id="ten times at most"),
    ],
)
async def test_it_waits_as_long_as_the_server_says(
    server: Server, codes: list[tuple[int, str]], count: int, sleeps: list[float], code: int
) -> None:
    server.codes = codes
    clock = PatientClock()
    async with HttpClient(RestConfig(server.url), "test", clock=clock) as client:
        try:
            await client._request_json("POST", "/api/v1/pods", body={})
            answered = 200
        except ApiError as error:
            answered = error.code
    assert (server.count, clock.sleeps, answered) == (count, sleeps, code)
