"""The API over HTTP/2: the same answers as over HTTP/1.1, watches beside each other on one connection."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest

from mockkube.apiserver.http.handlers import watch_server
from mockkube.apiserver.http2 import frames
from mockkube.apiserver.http2.errors import ErrorCode
from mockkube.cluster.cluster import Cluster
from mockkube.cluster.configuration.cluster_configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.state.state_directory import StateDirectory
from tests.unit.apiserver.http2.frame_client import GET, POST, Client

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
COMPONENTS: Final = ("scheduler", "controllers", "kubelets")
# Headers that differ between any two answers, or belong to the connection of HTTP/1.1.
VARYING: Final = {"date", "audit-id", "connection", "transfer-encoding"}
JSON: Final = {"Content-Type": "application/json"}
MERGE: Final = {"Content-Type": "application/merge-patch+json"}


@asynccontextmanager
async def sessions(url: str, **options: Any) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """A client of HTTP/1.1 and one of HTTP/2."""
    async with (
        httpx.AsyncClient(base_url=url, trust_env=False, **options) as first,
        httpx.AsyncClient(base_url=url, trust_env=False, http1=False, http2=True, **options) as second,
    ):
        yield first, second


@asynccontextmanager
async def connected(api: "Api") -> AsyncIterator[Client]:
    """A connection whose client grants no credit by itself."""
    host, _, port = api.url.rpartition("/")[2].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 22)
    client = Client(reader, writer)
    client.greet()
    try:
        yield client
    finally:
        writer.transport.abort()


@pytest.mark.parametrize(
    ("method", "path", "headers", "body"),
    [
        pytest.param("GET", "/configmaps/known", {}, None, id="an object"),
        pytest.param("GET", "/configmaps/known", {"Accept": "application/yaml"}, None, id="an object as YAML"),
        pytest.param("GET", "/configmaps?pretty=true", {}, None, id="an indented list"),
        pytest.param(
            "GET", "/configmaps", {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}, None, id="a table"
        ),
        pytest.param("GET", "/secrets/large", {"Accept-Encoding": "gzip"}, None, id="a compressed object"),
        pytest.param("GET", "/secrets/large", {"Accept-Encoding": "identity"}, None, id="a large object"),
        pytest.param("GET", "/configmaps/unknown", {}, None, id="an object that is missing"),
        pytest.param("HEAD", "/configmaps/known", {}, None, id="HEAD"),
        pytest.param("TRACE", "/configmaps/known", {}, None, id="a method that is not allowed"),
        pytest.param("POST", "/configmaps?dryRun=All", JSON, b'{"metadata": {"name": "known"}}', id="a conflict"),
        pytest.param("POST", "/configmaps", JSON, b"{", id="a body that is no JSON"),
        pytest.param("POST", "/configmaps", {"Content-Type": "text/csv"}, b"a", id="a type that nobody reads"),
        pytest.param("POST", "/configmaps", JSON, b" " * (3 << 20), id="an empty body of the largest size"),
        pytest.param("PATCH", "/configmaps/known?dryRun=All", MERGE, b'{"data": {"c": "d"}}', id="a patch"),
        pytest.param("GET", "/configmaps?watch=true&timeoutSeconds=1", {}, None, id="a watch that times out"),
        pytest.param("GET", "/configmaps?watch=true&resourceVersion=x", {}, None, id="a watch that is refused"),
    ],
)
async def test_both_protocols_give_the_same_answer(
    api: "Api", lab: str, method: str, path: str, headers: dict[str, str], body: bytes | None
) -> None:
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "known"}, "data": {"a": "b"}})
    await api.create(f"{lab}/secrets", {"metadata": {"name": "large"}, "stringData": {"key": "x" * 300_000}})
    async with sessions(api.url) as both:
        first, second = [await session.request(method, lab + path, headers=headers, content=body) for session in both]
    assert (first.http_version, second.http_version) == ("HTTP/1.1", "HTTP/2")
    assert first.status_code == second.status_code
    assert _comparable(first) == _comparable(second)
    assert {name: value for name, value in first.headers.items() if name not in VARYING} == {
        name: value for name, value in second.headers.items() if name not in VARYING
    }


def _comparable(answer: httpx.Response) -> Any:
    """The body, without the times that a dry run sets anew."""
    try:
        value = json.loads(answer.content)
    except ValueError:
        return answer.content
    if isinstance(value, dict):
        value.get("metadata", {}).pop("managedFields", None)
    return value


async def test_an_object_is_written_over_http2(api: "Api", lab: str) -> None:
    async with sessions(api.url) as (_, session):
        url = f"{lab}/configmaps"
        created = await session.post(url, json={"metadata": {"name": "made"}, "data": {"large": "x" * 900_000}})
        assert created.status_code == 201
        patched = await session.patch(f"{url}/made", content=b'{"data": {"large": null}}', headers=MERGE)
        assert "data" not in patched.json()
        assert (await session.delete(f"{url}/made")).status_code == 200
    assert (await api.ask("GET", f"{url}/made")).status == 404


async def test_a_body_that_is_too_large_is_refused_before_it_is_sent(api: "Api", lab: str) -> None:
    async with connected(api) as client:
        head = {**POST, ":path": f"{lab}/configmaps", "content-type": "application/json"}
        client.send_headers(1, {**head, "content-length": str((3 << 20) + 1)}, end=False)
        assert (await client.response(1)).status == 413
        assert await client.reset_code(1) == ErrorCode.NO_ERROR
        client.send_headers(3, head, end=False)
        credit, frame = 256 << 10, b" " * 16384
        # Without a length the bytes are counted: credit comes until they are too many.
        while credit >= 0:
            client.send_data(3, frame, end=False)
            credit -= len(frame)
            if credit < len(frame) and (update := await client.next_frame()).kind == frames.WINDOW_UPDATE:
                credit += update.number if update.stream_id == 3 else 0
            elif credit < len(frame):
                break
        assert dict(client.decoder.decode(update.payload))[":status"] == "413"


async def test_watches_share_a_connection(api: "Api", lab: str) -> None:
    async with connected(api) as client:
        client.grant(0, 1 << 20)
        for stream_id in range(1, 101, 2):
            client.send_headers(stream_id, {**GET, ":path": f"{lab}/configmaps?watch=true"})
        for _ in range(50):
            await client.wait_for(frames.HEADERS)
        await api.create(f"{lab}/configmaps", {"metadata": {"name": "new"}})
        seen = {(await client.wait_for(frames.DATA)).stream_id for _ in range(50)}
        assert seen == set(range(1, 101, 2))


async def _fill(api: "Api", path: str, changes: int) -> None:
    for index in range(changes):
        await api.patch(f"{path}/large", {"metadata": {"labels": {"index": str(index)}}})


async def test_a_watch_that_is_not_read_ends_and_its_neighbors_go_on(
    api: "Api", lab: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_server, "_WRITE_SECONDS_MAX", 0.2)
    await api.create(f"{lab}/secrets", {"metadata": {"name": "large"}, "stringData": {"key": "x" * (200 << 10)}})
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "small"}})
    async with connected(api) as client:
        client.send_headers(1, {**GET, ":path": f"{lab}/configmaps?watch=true"})
        assert b"small" in (await client.wait_for(frames.DATA, 1)).payload
        client.send_headers(3, {**GET, ":path": f"{lab}/secrets?watch=true"})
        assert await client.reset_code(3) == ErrorCode.CANCEL
        assert sum(len(frame.payload) for frame in client.seen if frame.stream_id == 3) <= frames.WINDOW_DEFAULT
        client.grant(0, 1 << 20)
        await api.create(f"{lab}/configmaps", {"metadata": {"name": "next"}})
        assert b"next" in (await client.wait_for(frames.DATA, 1)).payload


async def test_a_slow_watcher_that_reads_a_little_gets_every_event(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/secrets", {"metadata": {"name": "large"}, "stringData": {"key": "x" * (100 << 10)}})
    async with connected(api) as client:
        client.grant(0, 1 << 30)
        client.send_headers(1, {**GET, ":path": f"{lab}/secrets?watch=true"})
        await _fill(api, f"{lab}/secrets", 5)
        text = b""
        while text.count(b"\n") < 6:
            part = (await client.wait_for(frames.DATA, 1)).payload
            client.grant(1, len(part))
            text += part
        assert [json.loads(line)["type"] for line in text.splitlines()] == ["ADDED", *["MODIFIED"] * 5]


@asynccontextmanager
async def tls_cluster(directory: Path, **configuration: Any) -> AsyncIterator[tuple[str, str, ssl.SSLContext]]:
    """The URL of a cluster with TLS, its token, and a context that trusts it."""
    settings = {"name": "http2", "port": 0, "db": MEMORY, "without": COMPONENTS, **configuration}
    async with Cluster(ClusterConfiguration(**settings), StateDirectory(directory)) as running:
        yield running.url, running.token, ssl.create_default_context(cafile=running.ca_file)


async def test_clients_choose_by_alpn(tmp_path: Path) -> None:
    async with tls_cluster(tmp_path) as (url, token, trust):
        headers = {"Authorization": f"Bearer {token}"}
        async with sessions(url, verify=trust, headers=headers) as both:
            answers = [await session.get("/api/v1/namespaces") for session in both for _ in range(2)]
        assert [answer.http_version for answer in answers] == ["HTTP/1.1", "HTTP/1.1", "HTTP/2", "HTTP/2"]
        assert {answer.status_code for answer in answers} == {200}


async def test_a_client_without_credentials_gets_one_answer_per_connection(tmp_path: Path) -> None:
    async with tls_cluster(tmp_path) as (url, token, trust):
        trust.set_alpn_protocols(["h2"])
        host, _, port = url.rpartition("/")[2].partition(":")
        for authorization, status in (("Bearer wrong", 401), ("", 403), (f"Bearer {token}", 200)):
            client = Client(*await asyncio.open_connection(host, int(port), ssl=trust))
            client.greet()
            request = {**GET, ":scheme": "https", ":path": "/api/v1/nodes"}
            client.send_headers(1, {**request, "authorization": authorization} if authorization else request)
            assert (await client.response(1)).status == status
            ended = frames.GOAWAY in {frame.kind for frame in client.seen}
            assert ended == (status != 200)
            client.writer.transport.abort()


async def test_http2_can_be_disabled(tmp_path: Path) -> None:
    async with tls_cluster(tmp_path, disable_http2_serving=True) as (url, token, trust):
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=url, http2=True, verify=trust, headers=headers) as session:
            answer = await session.get("/api/v1/namespaces")
        assert (answer.http_version, answer.status_code) == ("HTTP/1.1", 200)


async def test_the_end_of_a_cluster_ends_its_watches_in_good_order(tmp_path: Path) -> None:
    settings = {"name": "http2", "port": 0, "db": MEMORY, "without": COMPONENTS, "tls": False}
    cluster = Cluster(ClusterConfiguration(**settings), StateDirectory(tmp_path))
    async with cluster as running:
        host, _, port = running.url.rpartition("/")[2].partition(":")
        client = Client(*await asyncio.open_connection(host, int(port)))
        client.greet()
        client.send_headers(1, {**GET, ":path": "/api/v1/configmaps?watch=true&resourceVersion=0"})
        await client.wait_for(frames.HEADERS, 1)
    assert await client.goaway_code() == ErrorCode.NO_ERROR
    ends = [frame.ends_stream for frame in client.seen if frame.stream_id == 1]
    assert (ends and ends[-1]) or (await client.wait_for(frames.DATA, 1)).ends_stream
    client.writer.close()
