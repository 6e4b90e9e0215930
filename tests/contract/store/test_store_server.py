"""The server of a store: its HTTP side, and what it does with input that no client of ours sends."""

import asyncio
import json
import random
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mockkube_storage.encoding import encode_entry
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.engines.log import LogStore
from mockkube_storage.errors import Unavailable
from mockkube_storage.model import Entry
from mockkube_storage.remote import http, messages
from mockkube_storage.remote.messages import Answer, Request, frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.contract.store.conftest import AnswerWith, Serve

SEEDS = range(300)
HELLO = frame(Request.HELLO, messages.HELLO.pack(messages.PROTOCOL_VERSION, messages.NO_STORE_ID, 0))
UPGRADE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: mockkube-store\r\n\r\n"
VALID = [
    frame(Request.CREATE, messages.CREATE.pack(2), b"/x", b"value"),
    frame(Request.UPDATE, messages.UPDATE.pack(2, 2), b"/x", b"value"),
    frame(Request.DELETE, messages.DELETE.pack(2), b"/x"),
    frame(Request.REVISION, messages.REQUEST.pack(1)),
    frame(Request.GET, messages.GET.pack(1, 1), b"/x"),
    frame(Request.LIST, messages.LIST.pack(1, 1, 0, 1), b"/", b""),
    frame(Request.HISTORY, messages.GET.pack(1, 0), b""),
    frame(Request.COMPACT, messages.GET.pack(1, 1)),
    frame(Request.RELEASED),
    HELLO,
]


@pytest.fixture
async def served(tmp_path: Path) -> "AsyncIterator[LogStore]":
    async with LogStore(str(tmp_path / "store"), fsync=False) as store:
        yield store


@pytest.fixture
async def url(served: LogStore, serve: "Serve") -> "AsyncIterator[str]":
    async with serve(served) as url:
        yield url


@pytest.mark.parametrize("path", ["/health", "/health?serializable=true"])
async def test_health_is_told_as_etcd_does(url: str, path: str) -> None:
    status, head, body = await _get(url, path)
    assert (status, json.loads(body)) == (200, {"health": "true", "reason": ""})
    assert "content-type: application/json" in head.lower()


async def test_a_store_with_a_problem_is_not_healthy(url: str, tmp_path: Path) -> None:
    (tmp_path / "store" / "store.log").unlink()
    status, _, body = await _get(url, "/health")
    assert (status, json.loads(body)) == (503, {"health": "false", "reason": "it has been removed"})
    assert [(await _get(url, path))[::2] for path in ("/readyz", "/livez")] == [(503, b"it has been removed\n")] * 2


async def test_the_version_is_told_as_etcd_does(url: str) -> None:
    status, _, body = await _get(url, "/version")
    assert (status, json.loads(body)) == (
        200,
        {"etcdserver": "3.6.5", "etcdcluster": "3.6.0", "storage": "3.6.0"},
    )


async def test_other_paths(url: str) -> None:
    assert (await _get(url, "/readyz"))[::2] == (await _get(url, "/livez"))[::2] == (200, b"ok\n")
    assert b"etcd_server_has_leader 1" in (await _get(url, "/metrics"))[2]
    assert (await _get(url, "/v2/keys"))[0] == 404
    assert (await _get(url, "/health", method="POST"))[0] == 405
    assert (await _get(url, "/health", method="HEAD"))[::2] == (200, b"")


async def test_a_connection_serves_several_requests(url: str) -> None:
    reader, writer = await _connect(url)
    writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
    for _ in range(2):
        assert (await reader.readuntil(b"ok\n")).startswith(b"HTTP/1.1 200 OK\r\n")
    writer.write(b"GET /livez HT")
    await asyncio.sleep(0)
    writer.write(b"TP/1.1\r\nConnection: close\r\n\r\n")
    assert (await reader.read()).endswith(b"\r\nConnection: close\r\n\r\nok\n")
    await _close(writer)


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        pytest.param(b"hello\r\n\r\n", b"HTTP/1.1 400 ", id="no request"),
        pytest.param(b"GET / HTTP/9\r\n\r\n", b"HTTP/1.1 400 ", id="other protocol"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000, b"HTTP/1.1 431 ", id="large head"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"", id="gRPC"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01", b"", id="TLS"),
    ],
)
async def test_what_is_not_http_is_refused(url: str, data: bytes, answer: bytes) -> None:
    reader, writer = await _connect(url)
    writer.write(data)
    received = b""
    with suppress(ConnectionError):
        received = await reader.read()
    assert received.startswith(answer)
    await _close(writer)


async def test_a_client_of_etcd_is_told_of_in_the_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    reader, writer = await _connect(url)
    writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    with suppress(ConnectionError):
        await reader.read()
    await _close(writer)
    assert "closed a connection of a gRPC client of etcd" in caplog.text


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(struct.pack(">I", 0), id="empty frame"),
        pytest.param(struct.pack(">IB", messages.REQUEST_BYTES_MAX + 1, Request.CREATE), id="huge frame"),
        pytest.param(frame(Request.CREATE, messages.CREATE.pack(1000), b"/x"), id="key cut off"),
        pytest.param(frame(Request.CREATE, b"\0"), id="fields cut off"),
        pytest.param(frame(Request.CREATE, messages.CREATE.pack(0)), id="empty key"),
        pytest.param(frame(Request.CREATE, messages.CREATE.pack(2), b"\0a"), id="NUL in a key"),
        pytest.param(frame(Request.CREATE, messages.CREATE.pack(2), b"\xff\xfe"), id="no UTF-8"),
        pytest.param(
            frame(Request.CREATE, messages.CREATE.pack(3), "\ud800".encode(errors="surrogatepass")), id="lone"
        ),
        pytest.param(frame(99), id="unknown type"),
        pytest.param(HELLO, id="greeting again"),
    ],
)
async def test_an_invalid_message_closes_its_connection_only(url: str, data: bytes) -> None:
    async with open_store(url) as store:
        entry = await store.create("/a", b"1")
        reader, writer = await _connect(url)
        writer.write(UPGRADE + HELLO)
        await reader.readuntil(b"/a")
        writer.write(data)
        with suppress(ConnectionError):
            await reader.read()
        await _close(writer)
        assert (await store.list("")).entries == (entry,)


@pytest.mark.parametrize("data", VALID[:-1])
async def test_a_message_before_the_greeting_is_refused(url: str, data: bytes) -> None:
    reader, writer = await _connect(url)
    writer.write(UPGRADE + data)
    received = b""
    with suppress(ConnectionError):
        received = await reader.read()
    assert received in (b"", http._SWITCH)
    await _close(writer)


async def test_the_server_survives_what_it_cannot_read(url: str) -> None:
    async with open_store(url) as store:
        for seed in SEEDS:
            reader, writer = await _connect(url)
            writer.write(UPGRADE + HELLO + _mutate(random.Random(seed)))
            writer.write_eof()
            with suppress(ConnectionError):
                await reader.read()
            await _close(writer)
        entry = await store.create("/still there", b"")
        assert await store.get("/still there") == entry
        async with open_store(url) as other:
            assert (await other.list("")).entries == (await store.list("")).entries


async def test_a_client_survives_what_it_cannot_read(answer_with: "AnswerWith") -> None:
    """A server that sends anything makes a store unavailable, and nothing else."""
    answers = [
        frame(Answer.WELCOME, messages.WELCOME.pack(b"s" * 16, 5, 0, 1)),
        frame(Answer.ENTRIES, encode_entry(Entry("/a", b"1", 5, 5))),
        frame(Answer.COMMIT, b"\1" + bytes(24)),
        frame(Answer.COMMIT, bytes([messages.Outcome.DONE]) + bytes(8)),
        frame(Answer.LIVE, messages.REVISION.pack(5)),
        frame(Answer.REVISED, messages.REVISED.pack(1, 5, 0)),
        frame(Answer.PAGE, messages.PAGE.pack(1, 5, 0)),
        frame(Answer.FAILED, messages.FAILED.pack(1, 1, 1, 1)),
        frame(Answer.REVOKE),
    ]
    generator = random.Random(1)

    def make_answer() -> bytes:
        data = bytearray(b"".join(generator.choice(answers) for _ in range(generator.randint(0, 6))))
        for _ in range(generator.randint(0, 3) if data else 0):
            data[generator.randrange(len(data))] = generator.randrange(256)
        return http._SWITCH + data

    async with answer_with(make_answer) as url:
        for _ in SEEDS:
            store = open_store(url)
            with suppress(Unavailable):
                await store.start()
                with suppress(Unavailable):
                    await store.get("/a")
                await store.close()


def _mutate(generator: random.Random) -> bytes:
    """Return valid frames with some bytes changed, removed or inserted."""
    data = bytearray(b"".join(generator.choice(VALID[:-1]) for _ in range(generator.randint(1, 8))))
    for _ in range(generator.randint(0, 4)):
        position = generator.randrange(len(data))
        match generator.randrange(3):
            case 0:
                data[position] = generator.randrange(256)
            case 1:
                del data[position]
            case _:
                data.insert(position, generator.randrange(256))
    return bytes(data)


async def _connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def _get(url: str, path: str, *, method: str = "GET") -> tuple[int, str, bytes]:
    """Return status, head and body of an answer."""
    reader, writer = await _connect(url)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    await _close(writer)
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode(), body
