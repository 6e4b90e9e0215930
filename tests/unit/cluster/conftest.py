"""A server that says who asks, for clusters whose API is not the subject."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp.web import BaseRequest, Response, StreamResponse

from mockkube.cluster.api_servers.api_server import ApiServerDependencies, Server
from mockkube.cluster.api_servers.credentials import make_authenticator

Object = dict[str, Any]


class StubServer:
    """Answers every request with the user's name; `/slow` never ends by itself, `/watch` until the server stops."""

    def __init__(self, surroundings: ApiServerDependencies) -> None:
        self.surroundings = surroundings
        self.authenticator = make_authenticator(surroundings.configuration, surroundings.credentials.token)
        self.created: list[Object] = []
        self.stopping = asyncio.Event()
        self.entered = asyncio.Event()

    async def handler(self, request: BaseRequest) -> StreamResponse:
        self.entered.set()
        if request.path == "/slow":
            await asyncio.Event().wait()
        if request.path == "/watch":
            await self.stopping.wait()
            return Response(text="ended")
        user = self.authenticator.authenticate(request)
        assert user is not None
        return Response(text=f"{user.name} {','.join(user.groups)}")

    @property
    def api_server(self) -> None:
        return None

    async def start(self) -> None:
        assert self.surroundings.store.revision >= 0  # the store is started before the server

    def end_watches(self) -> None:
        self.stopping.set()

    async def stop(self) -> None:
        self.stopping.set()

    async def create_object(self, obj: Object) -> Object | None:
        self.created.append(obj)
        return obj

    async def update_object(self, obj: Object) -> Object:
        return obj

    async def update_status(self, obj: Object) -> Object:
        return obj


@pytest.fixture
def built() -> list[StubServer]:
    """Every server built in the test."""
    return []


@pytest.fixture
def build(built: list[StubServer]) -> Callable[[ApiServerDependencies], Server]:
    def build_stub(surroundings: ApiServerDependencies) -> Server:
        built.append(StubServer(surroundings))
        return built[-1]

    return build_stub
