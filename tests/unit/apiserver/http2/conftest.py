"""A server on one end of a pair of sockets, whose handler a test controls."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
from aiohttp import web

from mockkube.apiserver.http2.server import DualProtocolServer
from tests.unit.apiserver.http2.frame_client import Client


class Handler:
    """The handler of the server; a test says what it does at a path."""

    def __init__(self) -> None:
        self.paths: dict[str, Callable[[web.BaseRequest], Any]] = {}
        self.requests: list[web.BaseRequest] = []
        self.running = 0
        self.release = asyncio.Event()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        self.running += 1
        try:
            if request.path in self.paths:
                return await self.paths[request.path](request)
            return await getattr(self, request.path.strip("/") or "say_ok")(request)
        finally:
            self.running -= 1

    async def say_ok(self, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"ok")

    async def wait(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer when the test says so."""
        await self.release.wait()
        return web.Response(body=b"released")

    async def echo(self, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=await request.content.read())

    async def large(self, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"x" * 300_000)

    async def stream(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer in parts, as a watch does."""
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for index in range(3):
            await response.write(b"%d\n" % index)
        return response


class Server:
    """A server whose handler a test controls."""

    def __init__(self) -> None:
        self.handler = Handler()
        self.http = DualProtocolServer(self.handler, http2=True, idle_seconds_max=60.0, access_log=None)
        self._writers: list[asyncio.StreamWriter] = []

    async def connect_raw(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        ours, theirs = socket.socketpair()
        await asyncio.get_running_loop().connect_accepted_socket(self.http, theirs)
        reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 20)
        self._writers.append(writer)
        return reader, writer

    async def connect(self, settings: Mapping[int, int] | None = None) -> Client:
        """A client that has sent its preface and settings."""
        client = Client(*await self.connect_raw())
        client.greet(settings)
        return client

    async def stop(self) -> None:
        await self.http.shutdown(0.1)
        for writer in self._writers:
            writer.transport.abort()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    started = Server()
    yield started
    await started.stop()


@pytest.fixture
async def client(server: Server) -> Client:
    return await server.connect()
