"""An API server in memory, and two kinds of client of it: one within the process, one over HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from aiohttp import web
from mockkube_storage.engines.memory import MemoryStore

from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.http.requests.open_watches import OpenWatches
from mockkube.apiserver.identity.user import MASTERS_GROUP, User
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.server import ApiServer, ApiServerOptions
from mockkube.client.http import HttpClient
from mockkube.client.identity import controller_manager
from mockkube.client.kubeconfig import RestConfig
from mockkube.client.protocol import Client, Watch, WatchEvent
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT, Version
from mockkube.proposals.component_extensions import make_schema
from mockkube.runtime.clock import RealClock
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal

COMPACTED = 4
"""Revisions before this are not known to the server."""


class Local:
    """The server, reached within the process."""

    def __init__(self, server: ApiServer) -> None:
        self._server, self._door = server, LocalEndpoint()

    async def back(self) -> None:
        self._door.open(self._server)

    async def away(self) -> None:
        self._door.close()
        await self._door.wait_until_idle()

    async def end_watches(self) -> None:
        self._door.close()
        self._door.open(self._server)

    async def client(self, sight: VersionedDecoder | None = None) -> Client:
        return LocalClient(self._door, controller_manager(DEFAULT), sight)


class Http:
    """The server, reached over a socket of this machine."""

    def __init__(self, server: ApiServer, stack: AsyncExitStack) -> None:
        self._server, self._stack, self._port = server, stack, 0
        self._runner: web.ServerRunner | None = None

    async def back(self) -> None:
        self._runner = web.ServerRunner(web.Server(self._server.handler), shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]

    async def away(self) -> None:
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.shutdown()
            await runner.cleanup()

    async def end_watches(self) -> None:
        self._server.end_watches()
        self._server.handler.open_watches = OpenWatches()

    async def client(self, sight: VersionedDecoder | None = None) -> Client:
        access = RestConfig(f"http://127.0.0.1:{self._port}", token="secret")
        return await self._stack.enter_async_context(
            HttpClient(access, "kube-controller-manager/v1.36.4", decoder=sight)
        )


Reach = Local | Http
Seen = Callable[[Watch, int], Awaitable[list[WatchEvent]]]


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with MemoryStore() as store:
        for number in range(COMPACTED):
            await store.create(f"/before/{number}", b"")
        await store.compact(store.revision)
        options = ApiServerOptions(
            Authenticator({"secret": User("admin", groups=(MASTERS_GROUP,))}),
            caps=Capabilities(gates=frozenset({"HostnameOverride"})),
            disable_admission=("ServiceAccount",),
        )
        made = ApiServer(store=store, options=options, clock=RealClock(), random=Random.from_seed(1, "server"))
        await made.start()
        yield made
        await made.stop()


@pytest.fixture(params=["local", "http"])
async def reach(request: pytest.FixtureRequest, server: ApiServer) -> AsyncIterator[Reach]:
    async with AsyncExitStack() as stack:
        made: Reach = Local(server) if request.param == "local" else Http(server, stack)
        await made.back()
        yield made
        await stack.aclose()
        await made.away()


@pytest.fixture
async def client(reach: Reach) -> Client:
    return await reach.client()


@pytest.fixture
async def older(reach: Reach) -> Client:
    """A client of a component three versions behind the server."""
    return await reach.client(VersionedDecoder(make_schema(Version(1, 33))))


async def until(ready: Callable[[], bool], bell: Signal) -> None:
    """Return once something is ready."""
    while not ready():
        await bell.wait()


@pytest.fixture
def seen() -> Seen:
    """Takes so many events from a watch, as they arrive."""

    async def taken(watch: Watch, count: int) -> list[WatchEvent]:
        events: list[WatchEvent] = []
        while len(events) < count:
            await until(watch.is_ready, watch.signal)
            events += watch.take(count - len(events))
        return events

    return taken
