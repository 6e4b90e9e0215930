"""A cluster whose control API is the subject, over plain HTTP, and a client that says what it was answered."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
import pytest_asyncio

from mockkube.cluster.cluster import Cluster
from mockkube.cluster.configuration.cluster_configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.state.state_directory import StateDirectory

Object = dict[str, Any]
CONTROL = "/apis/control.mockkube.dev/v1alpha1"
COMPONENTS = f"{CONTROL}/components"
WITHOUT = ("scheduler", "controllers", "kubelets")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, read whole."""

    status: int
    body: Any
    warnings: list[str]

    @property
    def message(self) -> str:
        """The message of a Status."""
        return str(self.body["message"])


class Control:
    """A client of one server of the cluster."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session = session
        self.url = url

    def at(self, url: str) -> "Control":
        """The same client at another server."""
        return Control(self.session, url)

    async def ask(
        self, method: str, path: str, body: Any = None, *, media: str = "application/json", accept: str = "*/*"
    ) -> Answer:
        """Send a request and read the answer."""
        headers = {"Content-Type": media, "Accept": accept}
        data = None if body is None else orjson.dumps(body)
        async with self.session.request(method, self.url + path, data=data, headers=headers) as response:
            told = [value.removeprefix('299 - "')[:-1] for value in response.headers.getall("Warning", [])]
            return Answer(response.status, orjson.loads(await response.read()), told)

    async def get(self, path: str) -> Object:
        """The object or list at a path, which must be there."""
        answer = await self.ask("GET", path)
        assert answer.status == 200, answer.body
        return dict(answer.body)

    async def create(self, path: str, obj: Object) -> Object:
        """Create the object, which must succeed."""
        answer = await self.ask("POST", path, obj)
        assert answer.status == 201, answer.body
        return dict(answer.body)

    async def patch(self, path: str, patch: Object) -> Answer:
        """Send a merge patch."""
        return await self.ask("PATCH", path, patch, media="application/merge-patch+json")

    async def tell(self, component: str, **spec: Any) -> Object:
        """Change what a component is told, which must succeed, and wait until it does so."""
        answer = await self.patch(f"{COMPONENTS}/{component}", {"spec": spec})
        assert answer.status == 200, answer.body
        return await self.settled(component)

    async def settled(self, component: str) -> Object:
        """The component once its status is about what it is told now."""
        async for obj in self.seen(component):
            if obj.get("status", {}).get("observedGeneration") == obj["metadata"]["generation"]:
                return obj
        raise AssertionError("the watch has ended")

    async def seen(self, name: str, plural: str = "components") -> AsyncIterator[Object]:
        """The object as it is, then each time it has changed; a watch that ends is begun again."""
        query = f"watch=true&fieldSelector=metadata.name={name}"
        while True:
            async with self.session.get(f"{self.url}{CONTROL}/{plural}?{query}") as response:
                assert response.status == 200, await response.read()
                async for line in response.content:
                    yield orjson.loads(line)["object"]


Start = Callable[..., AbstractAsyncContextManager[Control]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a cluster with these fields of the configuration."""

    @asynccontextmanager
    async def started(**fields: Any) -> AsyncIterator[Control]:
        said: dict[str, Any] = {"name": "lab", "port": 0, "db": MEMORY, "tls": False, "without": WITHOUT, **fields}
        cluster = Cluster(ClusterConfiguration(**said), StateDirectory(tmp_path / "state" / "lab"))
        async with cluster as running, aiohttp.ClientSession() as session:
            yield Control(session, running.url)

    return started


@pytest_asyncio.fixture
async def control(start: Start) -> AsyncIterator[Control]:
    """The client of a new cluster in which only the API server is to run."""
    async with start() as client:
        yield client
