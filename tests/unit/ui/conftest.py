"""A cluster whose page is served, and a browser's side of it."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from mockkube.cluster.cluster import Cluster
from mockkube.cluster.temporary_cluster import make_temporary_configuration, open_temporary_cluster

NOTHING_RUNS = {"without": ["scheduler", "controllers", "kubelets"], "ui": True}


@dataclass
class Answer:
    """Response of the page's server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Browser:
    """What a browser sends for a page: cookies, the key once it is logged in, and headers of a test."""

    session: aiohttp.ClientSession
    link: str
    key: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return self.link.partition("/ui/")[0]

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        every = {**({"Mockkube-Ui-Key": self.key} if self.key else {}), **self.headers}
        data = None
        if body is not None:
            data, every["Content-Type"] = json.dumps(body), "application/json"
        every = {name.replace("_", "-"): value for name, value in {**every, **headers}.items() if value}
        async with self.session.request(
            method, self.origin + path, data=data, headers=every, allow_redirects=False
        ) as one:
            return Answer(one.status, one.headers, await one.read())

    async def log_in(self, link: str = "") -> Answer:
        answer = await self.send("POST", "/ui/login", {"code": (link or self.link).partition("#")[2]})
        self.key = answer.json.get("key", "")
        return answer

    async def read_stream(self, count: int) -> list[dict[str, Any]]:
        """Return the first lines of the stream."""
        async with self.session.get(f"{self.origin}/ui/stream", headers={"Mockkube-Ui-Key": self.key}) as response:
            return [json.loads(await response.content.readline()) for _ in range(count)]


@pytest.fixture
async def cluster() -> AsyncIterator[tuple[Cluster, str]]:
    """A cluster of two nodes on which nothing runs, and the link to its page."""
    configuration = make_temporary_configuration({**NOTHING_RUNS, "nodes": 2})
    async with open_temporary_cluster(configuration) as cluster, cluster as running:
        yield cluster, running.ui_link


@pytest.fixture
async def browser(cluster: tuple[Cluster, str]) -> AsyncIterator[Browser]:
    """A browser with the link of `mockkube up --ui`, not logged in."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True), read_bufsize=2**20) as session:
        yield Browser(session, cluster[1])
