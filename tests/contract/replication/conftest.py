"""Control planes of several clusters in this process, which share one store; each has a state directory of its own.

Every test that takes `start`, `members` or `shared_url` runs once per engine that can be shared. In slow tests these
are PostgreSQL, when MOCKKUBE_TEST_POSTGRES is set, and etcd, when it is found.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from mockkube_storage.engines.catalogue import ENGINES
from mockkube_storage.engines.log import LogStore
from mockkube_storage.engines.postgresql import PostgresqlStore
from mockkube_storage.engines.replica_store import ReplicaStore

from mockkube.apiserver.registry.watch_cache import WatchCache
from mockkube.cluster.cluster import Cluster, RunningCluster
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.state.state_directory import StateDirectory
from tests.contract.store.conftest import POSTGRES, SKIP_POSTGRES, _serve, emptied
from tests.contract.store.etcd_cluster import run_etcd, skip_without_etcd

Object = dict[str, Any]
WITHOUT = ("scheduler", "controllers", "kubelets")
SECRET = "0123456789abcdef"
LATE_SECONDS = 0.05
SHARED_ENGINES = [
    pytest.param(engine.name, marks=[] if engine.name == "remote" else pytest.mark.slow)
    for engine in ENGINES
    if engine.is_shared
]


@dataclass(frozen=True, slots=True)
class Member:
    """One process of the control plane, and a client of its API server."""

    cluster: Cluster
    running: RunningCluster
    session: aiohttp.ClientSession

    async def request(
        self, method: str, path: str, body: Any = None, *, token: str = "", media: str = "application/json"
    ) -> tuple[int, Any]:
        """Send a request; return status code and body."""
        headers = {"Content-Type": media, "Authorization": f"Bearer {token or self.running.token}"}
        data = None if body is None else orjson.dumps(body)
        async with self.session.request(method, self.running.url + path, data=data, headers=headers) as response:
            return response.status, orjson.loads(await response.read())

    async def get(self, path: str) -> Object:
        """Return the object or list at a path, which must exist."""
        status, body = await self.request("GET", path)
        assert status == 200, body
        return dict(body)

    async def create(self, path: str, obj: Object) -> Object:
        """Create an object, which must succeed."""
        status, body = await self.request("POST", path, obj)
        assert status == 201, body
        return dict(body)

    async def patch(self, path: str, patch: Object) -> Object:
        """Send a merge patch, which must succeed."""
        status, body = await self.request("PATCH", path, patch, media="application/merge-patch+json")
        assert status == 200, body
        return dict(body)

    async def delete(self, path: str) -> Object:
        """Delete an object, which must succeed."""
        status, body = await self.request("DELETE", path)
        assert status == 200, body
        return dict(body)


Start = Callable[..., AbstractAsyncContextManager[Member]]


@pytest.fixture
def late_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each server see changes later than the one before it, as if the store were far away."""
    numbers, run_without_delay = count(), WatchCache.run

    async def run(cache: WatchCache) -> None:
        # Stores of control resources are not shared.
        is_shared = isinstance(cache.store, ReplicaStore | PostgresqlStore)
        if not is_shared or not (late_seconds := next(numbers) * LATE_SECONDS):
            await run_without_delay(cache)
        loop, arrived = asyncio.get_running_loop(), asyncio.Queue[tuple[float, Any]]()

        async def read() -> None:
            async with aclosing(cache.store.watch("", after=cache.revision)) as watch:
                async for events in watch:
                    arrived.put_nowait((loop.time() + late_seconds, events))

        reading = asyncio.create_task(read())
        try:
            while True:
                due, events = await arrived.get()
                await asyncio.sleep(due - loop.time())
                cache._apply(events)
        finally:
            reading.cancel()

    monkeypatch.setattr(WatchCache, "run", run)


@pytest.fixture(params=SHARED_ENGINES)
async def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """URL of an empty store of each engine that several processes may use."""
    match request.param:
        case "remote":
            async with LogStore(str(tmp_path / "store"), fsync=False) as served, _serve(served) as url:
                yield url
        case "postgresql":
            if not POSTGRES:
                pytest.skip(SKIP_POSTGRES)
            yield await emptied()
        case "etcd":
            skip_without_etcd()
            async with run_etcd(tmp_path / "etcd") as member:
                yield member.url
        case name:
            raise AssertionError(f"no way to test engine {name}")


@pytest.fixture
def start(shared_url: str, tmp_path: Path) -> Start:
    """Starts a process of the control plane with these fields of the configuration."""

    @asynccontextmanager
    async def start_member(name: str, **fields: Any) -> AsyncIterator[Member]:
        given: dict[str, Any] = {"name": name, "port": 0, "db": shared_url, "join": True, "cluster_key": SECRET}
        configuration = ClusterConfiguration(**given | {"without": WITHOUT} | fields)
        directory = StateDirectory(tmp_path / "state" / name)
        async with AsyncExitStack() as stack:
            cluster = Cluster(configuration, directory)
            running = await stack.enter_async_context(cluster)
            trust = ssl.create_default_context(cafile=running.ca_file) if running.ca_file else False
            connector = aiohttp.TCPConnector(ssl=trust)
            session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
            yield Member(cluster, running, session)

    return start_member


@pytest.fixture
async def members(start: Start) -> AsyncIterator[tuple[Member, Member, Member]]:
    """Three processes of one control plane, without components besides the API server."""
    async with start("one") as one, start("two") as two, start("three") as three:
        yield one, two, three
