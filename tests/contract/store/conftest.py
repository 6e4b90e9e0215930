"""Every test that takes `store` or `url` runs once per engine.

etcd takes part where its executable is found, with one member and, in slow tests, with three. Every test
has one of its own, so that revisions begin anew.
PostgreSQL takes part when MOCKKUBE_TEST_POSTGRES holds the URL of a database that may be emptied. Of several pytest
workers each has a database of its own on that server, so none empties another's.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mockkube_storage.engines.catalogue import ENGINES, open_store
from mockkube_storage.engines.log import LogStore
from mockkube_storage.remote.server import DEFAULT_LIMITS, ServedStore, ServerLimits, StoreServer
from mockkube_storage.store import Store

from tests.contract.store.etcd_cluster import run_cluster, run_etcd, skip_without_etcd

POSTGRES = os.environ.get("MOCKKUBE_TEST_POSTGRES", "")
SHARED = "shared"  # remote, beside another client
THREE_MEMBERS = pytest.param("etcd of three members", marks=pytest.mark.slow)
Serve = Callable[..., AbstractAsyncContextManager[str]]
AnswerWith = Callable[[Callable[[], bytes | None]], AbstractAsyncContextManager[str]]
SKIP_POSTGRES = "MOCKKUBE_TEST_POSTGRES is not set to the URL of a PostgreSQL database that may be emptied"


async def emptied() -> str:
    """Return the URL of this worker's PostgreSQL database, without tables."""
    import asyncpg

    url = await database_of_worker()
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("DROP TABLE IF EXISTS entries, meta")
    finally:
        await connection.close()
    return url


async def database_of_worker() -> str:
    """Return the URL of the database of this pytest worker, created when missing; the given one without workers."""
    import asyncpg

    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if not worker:
        return POSTGRES
    name = f"mockkube_{worker}"
    connection = await asyncpg.connect(POSTGRES)
    try:
        if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", name):
            await connection.execute(f'CREATE DATABASE "{name}"')
    finally:
        await connection.close()
    return urlsplit(POSTGRES)._replace(path=f"/{name}").geturl()


@pytest.fixture
def serve() -> Serve:
    """Serves a store to clients in this process: `async with serve(store) as url`."""
    return _serve


@asynccontextmanager
async def _serve(store: ServedStore, *, port: int = 0, limits: ServerLimits = DEFAULT_LIMITS) -> AsyncIterator[str]:
    """Serve a store to clients in this process; yields its URL."""
    server = StoreServer(store, version="3.6.5", limits=limits)
    running = asyncio.create_task(server.run())
    listening = socket.create_server(("127.0.0.1", port))
    await server.listen(listening)
    try:
        yield f"mockkube-store://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        await server.close()
        running.cancel()
        await asyncio.wait([running])


@pytest.fixture
def answer_with() -> AnswerWith:
    """Starts a server that answers the first bytes of a client: `async with answer_with(make_answer) as url`."""
    return _answer_with


class _Answering(asyncio.Protocol):
    """Connection that answers once and ends; without an answer it stays open."""

    def __init__(self, make_answer: Callable[[], bytes | None], opened: list[asyncio.Transport]) -> None:
        self._make_answer = make_answer
        self._opened = opened

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._opened.append(transport)

    def data_received(self, data: bytes) -> None:
        if (answer := self._make_answer()) is not None:
            self._transport.write(answer)
            self._transport.close()


@asynccontextmanager
async def _answer_with(make_answer: Callable[[], bytes | None]) -> AsyncIterator[str]:
    opened: list[asyncio.Transport] = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Answering(make_answer, opened), "127.0.0.1", 0)
    try:
        yield f"mockkube-store://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for transport in opened:
            transport.abort()
        await asyncio.sleep(0.01)


@pytest.fixture
def empty_postgres() -> Callable[[], Awaitable[str]]:
    """Empties the PostgreSQL database, as often as it is called, and returns its URL."""
    if not POSTGRES:
        pytest.skip(SKIP_POSTGRES)
    return emptied


@pytest.fixture(params=[*(engine.name for engine in ENGINES), SHARED, THREE_MEMBERS])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """The URL of an empty store of each engine."""
    match request.param:
        case "memory":
            yield "memory:"
        case "sqlite":
            yield f"sqlite:///{tmp_path / 'store.db'}"
        case "log":
            yield f"log:///{tmp_path / 'store'}"
        case "postgresql":
            if not POSTGRES:
                pytest.skip(SKIP_POSTGRES)
            yield await emptied()
        case "remote":
            async with LogStore(str(tmp_path), fsync=False) as served, _serve(served) as address:
                yield address
        case "shared":
            # With a second client, the server sends events, and promises nobody to be alone.
            async with LogStore(str(tmp_path), fsync=False) as served, _serve(served) as address, open_store(address):
                yield address
        case "etcd":
            skip_without_etcd()
            async with run_etcd(tmp_path / "etcd") as member:
                yield member.url
        case "etcd of three members":
            skip_without_etcd()
            async with run_cluster(tmp_path, has_proxies=False) as cluster:
                yield cluster.url
        case name:
            raise AssertionError(f"no way to test engine {name}")


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    """A started, empty store of each engine."""
    async with open_store(url) as store:
        yield store
