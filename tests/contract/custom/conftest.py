"""A cluster without components over plain HTTP, and definitions of custom resources in groups of their own."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
import pytest
import pytest_asyncio

from mockkube.cluster.cluster import Cluster, build_api_server
from mockkube.cluster.configuration.cluster_configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.state.state_directory import StateDirectory

Object = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ANSWER_SECONDS_MAX = 10.0

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, read whole."""

    status: int
    media: str
    text: bytes
    warnings: list[str]

    @property
    def body(self) -> Any:
        """The body as a JSON value."""
        return orjson.loads(self.text)

    @property
    def message(self) -> str:
        """The message of a Status."""
        return str(self.body["message"])


class Client:
    """Asks, and says what it was answered."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session, self.url = session, url

    async def ask(self, method: str, path: str, body: Any = None, *, media: str = "application/json") -> Answer:
        """Send a request and read the answer."""
        data = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": media}
        async with (
            asyncio.timeout(ANSWER_SECONDS_MAX),
            self.session.request(method, self.url + path, data=data, headers=headers) as response,
        ):
            told = [value.removeprefix('299 - "')[:-1] for value in response.headers.getall("Warning", [])]
            return Answer(response.status, response.content_type, await response.read(), told)

    async def get(self, path: str) -> Object:
        """What is at a path, which must be there."""
        answer = await self.ask("GET", path)
        assert answer.status == 200, answer.text
        return dict(answer.body)

    async def create(self, path: str, obj: Object) -> Object:
        """Create an object, which must succeed."""
        answer = await self.ask("POST", path, obj)
        assert answer.status == 201, answer.text
        return dict(answer.body)

    async def patch(self, path: str, patch: Object) -> Object:
        """Merge a patch, which must succeed."""
        answer = await self.ask("PATCH", path, patch, media="application/merge-patch+json")
        assert answer.status == 200, answer.text
        return dict(answer.body)

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator["aiohttp.ClientResponse"]:
        """The events below a path, a line each."""
        async with self.session.get(f"{self.url}{path}?watch=true") as response:
            assert response.status == 200
            yield response


class Things:
    """A definition of things, in a group of its own, and the client to use it with."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.group = f"g{next(_numbers)}.example.com"
        self.name = f"things.{self.group}"

    def definition(self, schema: Object, *more: Object, **version: Any) -> Object:
        """A definition with these fields of the spec; `version` is added to its first version."""
        whole = {"type": "object", "properties": {"spec": schema, "status": {"type": "object", **OPEN}}}
        first = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}, **version}
        names = {"plural": "things", "kind": "Thing"}
        spec = {"group": self.group, "scope": "Namespaced", "names": names, "versions": [first, *more]}
        kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        return {**kind, "metadata": {"name": self.name}, "spec": spec}

    async def define(self, schema: Object, *more: Object, **version: Any) -> Object:
        """Store the definition."""
        return await self.client.create(DEFINITIONS, self.definition(schema, *more, **version))

    def path(self, name: str = "", version: str = "v1") -> str:
        """Where things are, or one of them."""
        root = f"/apis/{self.group}/{version}/namespaces/default/things"
        return f"{root}/{name}" if name else root

    def thing(self, name: str, version: str = "v1", **spec: Any) -> Object:
        """A thing."""
        return {
            "apiVersion": f"{self.group}/{version}", "kind": "Thing", "metadata": {"name": name}, "spec": spec,
        }  # fmt: skip

    async def refused(self, **spec: Any) -> str:
        """Why a thing cannot be created, after the name of the kind."""
        answer = await self.client.ask("POST", self.path(), self.thing("t", **spec))
        assert answer.status == 422, answer.text
        return answer.message.partition(" is invalid: ")[2]


OPEN = {"x-kubernetes-preserve-unknown-fields": True}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """The client of this module's cluster."""
    configuration = ClusterConfiguration(name="custom", port=0, db=MEMORY, tls=False)
    state = StateDirectory(tmp_path_factory.mktemp("state"))
    async with (
        Cluster(configuration, state, make_api_server=build_api_server) as running,
        aiohttp.ClientSession() as session,
    ):
        yield Client(session, running.url)


@pytest.fixture
def things(client: Client) -> Things:
    """A definition nobody has stored yet."""
    return Things(client)
