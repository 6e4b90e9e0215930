"""A cluster without components over plain HTTP, one per module, and a client that says what it was answered."""

import asyncio
import io
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import aiohttp
import orjson
import pytest
import pytest_asyncio
from mockkube_storage.store import Store
from multidict import CIMultiDictProxy
from yarl import URL

from mockkube.api.catalogue import KindInfo
from mockkube.cluster.cluster import ApiServerDependencies, Cluster, Server, build_api_server
from mockkube.cluster.configuration.cluster_configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.state.state_directory import StateDirectory

Object = dict[str, Any]
JSON = "application/json"
ANSWER_SECONDS_MAX = 10.0
"""Longer than any answer or event takes; a test that waits so long has failed."""
COMPONENTS = ("scheduler", "controllers", "kubelets")
BUG = b"unexpected error"
"""What the server says of itself when it has failed; other answers of 500 are upstream's own."""

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, read whole."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as a JSON value."""
        return orjson.loads(self.body)

    @property
    def message(self) -> str:
        """The message of a Status."""
        return str(self.json["message"])

    @property
    def warnings(self) -> list[str]:
        """The texts of the Warning headers."""
        return [value.removeprefix('299 - "')[:-1] for value in self.headers.getall("Warning", [])]


class Watch:
    """The events of one watch, one after the other."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self) -> tuple[str, Object]:
        """The next event: its type and its object."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            line = await self.response.content.readline()
        assert line, "the watch has ended"
        event = orjson.loads(line)
        return event["type"], event["object"]

    async def take(self, count: int) -> list[tuple[str, str]]:
        """The next events: the type of each and the name of its object."""
        events = [await self.next() for _ in range(count)]
        return [(kind, obj["metadata"]["name"]) for kind, obj in events]

    async def ended(self) -> bool:
        """Whether the server ends the watch in good order, with nothing more to say."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            return await self.response.content.read() == b""


class Api:
    """A client that adds nothing of its own: paths, queries and bodies arrive as they are given."""

    def __init__(self, session: aiohttp.ClientSession, url: str, store: Store) -> None:
        self.session, self.url, self.store = session, url, store

    @classmethod
    @asynccontextmanager
    async def of_new_cluster(cls, directory: Path, **configuration: Any) -> AsyncIterator[Self]:
        """The client of a cluster that runs as long as the context."""
        surroundings: list[ApiServerDependencies] = []

        def build(given: ApiServerDependencies) -> Server:
            surroundings.append(given)
            return build_api_server(given)

        settings = {"name": "contract", "port": 0, "db": MEMORY, "tls": False, "without": COMPONENTS, **configuration}
        cluster = Cluster(ClusterConfiguration(**settings), StateDirectory(directory), make_api_server=build)
        silent = ("Accept-Encoding", "User-Agent")
        async with (
            cluster as running,
            aiohttp.ClientSession(auto_decompress=False, skip_auto_headers=silent) as session,
        ):
            yield cls(session, running.url, surroundings[0].store)

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        media: str = JSON,
        accept: str = "",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send a request; a body that is neither text nor bytes goes as JSON. No answer may speak of a bug."""
        sent = dict(headers or {})
        if accept:
            sent["Accept"] = accept
        if body is not None:
            sent.setdefault("Content-Type", media)
            body = json.dumps(body) if not isinstance(body, bytes | str) else body
            body = io.BytesIO(body.encode() if isinstance(body, str) else body)
        url = URL(self.url + path, encoded=True)
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            async with self.session.request(method, url, data=body, headers=sent) as response:
                answer = Answer(response.status, response.headers, await response.read())
        assert answer.status != 500 or BUG not in answer.body, f"{method} {path[:200]}: see the log for the traceback"
        return answer

    async def get(self, path: str) -> Object:
        """The object or list at a path, which must be there."""
        answer = await self.ask("GET", path)
        assert answer.status == 200, answer.body
        return dict(answer.json)

    async def create(self, path: str, obj: Object) -> Object:
        """Create the object, which must succeed."""
        answer = await self.ask("POST", path, obj)
        assert answer.status == 201, answer.body
        return dict(answer.json)

    async def patch(self, path: str, patch: Any, kind: str = "merge") -> Object:
        """Patch the object, which must succeed; `kind` is `json`, `merge` or `strategic-merge`."""
        answer = await self.ask("PATCH", path, patch, media=f"application/{kind}-patch+json")
        assert answer.status == 200, answer.body
        return dict(answer.json)

    async def delete(self, path: str, options: Object | None = None) -> Answer:
        """Delete what is at a path, which must succeed."""
        answer = await self.ask("DELETE", path, options)
        assert answer.status in (200, 202), answer.body
        return answer

    @asynccontextmanager
    async def watch(self, path: str, query: str = "") -> AsyncIterator[Watch]:
        """The events below a path."""
        url = URL(f"{self.url}{path}?watch=true&{query}", encoded=True)
        async with self.session.get(url, timeout=aiohttp.ClientTimeout(sock_read=None)) as response:
            assert response.status == 200, await response.read()
            yield Watch(response)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Api]:
    """The client of this module's cluster."""
    async with Api.of_new_cluster(tmp_path_factory.mktemp("state")) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def lab(api: Api) -> str:
    """The path of the core resources in a namespace of this test's own."""
    name = f"lab-{next(_numbers)}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return f"/api/v1/namespaces/{name}"


Minimal = Callable[[KindInfo, str, str], Object]
"""Of a kind, a version and a namespace: the least that is valid."""


@pytest.fixture(scope="module")
def minimal() -> Minimal:
    """Minimal valid objects, all of the name `contract` unless their kind asks for another."""
    text = Path(__file__).with_name("minimal.json").read_text()

    def make(kind: KindInfo, version: str, namespace: str) -> Object:
        bodies: dict[str, Object] = orjson.loads(text.replace("{namespace}", namespace))
        body = bodies.get(f"{kind.group or 'core'}/{kind.kind}", {})
        api_version = f"{kind.group}/{version}" if kind.group else version
        metadata = {"name": "contract", **body.get("metadata", {})}
        return {**body, "apiVersion": api_version, "kind": kind.kind, "metadata": metadata}

    return make
