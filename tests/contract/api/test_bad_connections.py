"""Clients that break the protocol, or keep to it at their own pace: the server closes them and goes on serving."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest
import pytest_asyncio

from mockkube.apiserver.http import connections
from mockkube.apiserver.http.handlers import watch_server
from mockkube.apiserver.http.requests import request_context

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANSWER_SECONDS_MAX: Final = 5.0
READY: Final = b"GET /readyz HTTP/1.1\r\nHost: [::1]\r\n\r\n"


class Connection:
    """A socket to the server, without a word of HTTP of its own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        """Send as much as the server takes."""
        self.writer.write(data)
        await self.writer.drain()

    async def status(self) -> int:
        """The status of the next answer, whose body is read, too."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            line, *headers = (await self.reader.readuntil(b"\r\n\r\n")).decode().splitlines()
            lengths = [
                int(header.partition(":")[2]) for header in headers if header.lower().startswith("content-length")
            ]
            await self.reader.readexactly(lengths[0])
        return int(line.split()[1])

    async def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""


@asynccontextmanager
async def connected(api: "Api") -> AsyncIterator[Connection]:
    """A connection with the smallest of buffers."""
    host, _, port = api.url.rpartition("/")[2].partition(":")
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.setblocking(False)
    await asyncio.get_running_loop().sock_connect(plain, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=plain, limit=1 << 16)
    try:
        yield Connection(reader, writer)
    finally:
        writer.transport.abort()


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def _serving(api: "Api") -> AsyncIterator[None]:
    """After each test the server answers."""
    yield
    assert (await api.ask("GET", "/readyz")).body == b"ok"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200, id="a TLS greeting"),
        pytest.param(b"\x00" * 1000, id="zeros"),
        pytest.param(b"hello\r\n\r\n", id="a word"),
        pytest.param(b"GET\r\n\r\n", id="a method alone"),
        pytest.param(b"GET /readyz HTTP/9.9\r\nHost: [::1]\r\n\r\n", id="a version of the future"),
        pytest.param(b"GET /readyz HTTP/1.1\r\nHost localhost\r\n\r\n", id="a header without a colon"),
        pytest.param(b"GET /readyz HTTP/1.1\r\nHost: [::1]\r\nA: \x00\r\n\r\n", id="a NUL in a header"),
        pytest.param(b"GET /ready\x00z HTTP/1.1\r\nHost: [::1]\r\n\r\n", id="a NUL in the path"),
        pytest.param(b"GET /readyz HTTP/1.1\r\nHost: [::1]\r\nHost: 127.0.0.1\r\n\r\n", id="two hosts"),
        pytest.param(b"POST /api HTTP/1.1\r\nHost: [::1]\r\nContent-Length: -5\r\n\r\n", id="a length below nothing"),
        pytest.param(b"POST /api HTTP/1.1\r\nHost: [::1]\r\nContent-Length: many\r\n\r\n", id="a length in words"),
        pytest.param(
            b"POST /api HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            id="two lengths",
        ),
        pytest.param(
            b"POST /api HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="a length and chunks",
        ),
        pytest.param(
            b"POST /api/v1/namespaces HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            id="no chunk",
        ),
        pytest.param(b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\nHost: [::1]\r\n\r\n", id="a line of a mebibyte"),
        pytest.param(
            b"GET /readyz HTTP/1.1\r\nHost: [::1]\r\nA: " + b"a" * (1 << 20) + b"\r\n\r\n", id="a header of a mebibyte"
        ),
        pytest.param(
            b"GET /readyz HTTP/1.1\r\nHost: [::1]\r\n" + b"A: b\r\n" * 100_000 + b"\r\n",
            id="a hundred thousand headers",
        ),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nhello!\r\n", id="half a preface of HTTP/2"),
    ],
)
async def test_what_is_not_http_is_refused_or_closed(api: "Api", data: bytes) -> None:
    async with connected(api) as connection:
        try:
            await connection.send(data)
            answer = await connection.rest()
        except ConnectionError:
            return
    assert answer == b"" or answer.partition(b" ")[2][:4] in (b"400 ", b"431 "), answer[:200]


async def test_a_request_for_the_server_as_such_is_answered(api: "Api") -> None:
    async with connected(api) as connection:
        await connection.send(b"OPTIONS * HTTP/1.1\r\nHost: [::1]\r\n\r\n")
        assert await connection.status() in (200, 400, 404, 405)


async def test_requests_sent_at_once_are_answered_in_order(api: "Api", lab: str) -> None:
    missing = f"GET {lab}/secrets/none HTTP/1.1\r\nHost: [::1]\r\n\r\n".encode()
    async with connected(api) as connection:
        await connection.send(READY + missing + READY + missing)
        assert [await connection.status() for _ in range(4)] == [200, 404, 200, 404]


async def test_a_body_may_come_in_the_smallest_of_pieces(api: "Api", lab: str) -> None:
    body = b'{"metadata": {"name": "slow"}}'
    async with connected(api) as connection:
        length = f"Content-Type: application/json\r\nContent-Length: {len(body)}"
        await connection.send(f"POST {lab}/secrets HTTP/1.1\r\nHost: [::1]\r\n{length}\r\n\r\n".encode())
        for byte in body:
            await connection.send(bytes([byte]))
            await api.ask("GET", "/readyz")  # others are answered meanwhile
        assert await connection.status() == 201


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET /readyz HT", id="half a line"),
        pytest.param(b"GET /readyz HTTP/1.1\r\nHost: [::1]\r\nAcc", id="half a header"),
        pytest.param(
            b"POST /api/v1/namespaces HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 99\r\n\r\n{", id="half a body"
        ),
        pytest.param(
            b"POST /api/v1/namespaces HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
            id="half a chunk",
        ),
    ],
)
async def test_a_client_that_falls_silent_keeps_nobody_waiting(api: "Api", data: bytes) -> None:
    async with connected(api) as connection:
        await connection.send(data)
        assert (await api.ask("GET", "/readyz")).status == 200
    assert (await api.ask("GET", "/api/v1/namespaces/default")).status == 200


async def test_a_client_that_has_half_closed_still_gets_its_answer(api: "Api") -> None:
    async with connected(api) as connection:
        await connection.send(READY)
        connection.writer.write_eof()
        answer = await connection.rest()
    assert answer == b"" or answer.startswith(b"HTTP/1.1 200 OK\r\n")


async def test_a_client_that_goes_in_the_middle_of_its_body_creates_nothing(api: "Api", lab: str) -> None:
    body = b'{"metadata": {"name": "half"}}'
    async with connected(api) as connection:
        length = f"Content-Type: application/json\r\nContent-Length: {len(body) + 1}"
        await connection.send(f"POST {lab}/secrets HTTP/1.1\r\nHost: [::1]\r\n{length}\r\n\r\n".encode() + body)
    assert (await api.get(f"{lab}/secrets"))["items"] == []


async def test_three_hundred_idle_connections_keep_nobody_waiting(api: "Api") -> None:
    streams = [await asyncio.open_connection(*api.url.rpartition("/")[2].split(":")) for _ in range(300)]
    assert (await api.ask("GET", "/readyz")).status == 200
    for _, writer in streams:
        writer.transport.abort()


async def fill(api: "Api", path: str, changes: int) -> None:
    """Change a large object so often."""
    for index in range(changes):
        await api.patch(f"{path}/large", {"metadata": {"labels": {"index": str(index)}}})


async def test_a_client_that_never_reads_its_watch_is_ended(
    api: "Api", lab: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_server, "_WRITE_SECONDS_MAX", 0.05)
    await api.create(f"{lab}/secrets", {"metadata": {"name": "large"}, "stringData": {"key": "x" * (512 << 10)}})
    async with connected(api) as connection:
        await connection.send(f"GET {lab}/secrets?watch=true HTTP/1.1\r\nHost: [::1]\r\n\r\n".encode())
        await connection.reader.readuntil(b"\r\n\r\n")
        await fill(api, f"{lab}/secrets", 60)
        seen = (await connection.rest()).count(b'{"type":')
    assert seen < 60


async def test_a_slow_reader_does_not_slow_the_others(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/secrets", {"metadata": {"name": "large"}, "stringData": {"key": "x" * (200 << 10)}})
    async with connected(api) as connection, api.watch(f"{lab}/secrets") as other:
        await connection.send(f"GET {lab}/secrets?watch=true HTTP/1.1\r\nHost: [::1]\r\n\r\n".encode())
        await connection.reader.readuntil(b"\r\n\r\n")
        await fill(api, f"{lab}/secrets", 20)
        assert await other.take(21) == [("ADDED", "large"), *[("MODIFIED", "large")] * 20]


HALF_A_BODY = (
    b"POST /api/v1/namespaces HTTP/1.1\r\nHost: [::1]\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
)


async def test_a_body_that_does_not_go_on_is_given_up(api: "Api", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_context, "BODY_PAUSE_SECONDS_MAX", 0.05)
    async with connected(api) as connection:
        await connection.send(HALF_A_BODY)
        assert await connection.status() == 504


async def test_a_body_that_comes_drop_by_drop_is_given_up(api: "Api", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_context, "BODY_SECONDS_MAX", 0.0)
    async with connected(api) as connection:
        await connection.send(HALF_A_BODY + b" ")
        await connection.send(b" ")
        assert await connection.status() == 504


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET /readyz HT", id="half a line"),
        pytest.param(b"GET /readyz HTTP/1.1\r\nHost: [::1]\r\nAcc", id="half a header"),
    ],
)
async def test_a_head_that_is_not_completed_ends_the_connection(
    api: "Api", monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS_MAX", 0.2)
    async with connected(api) as connection:
        await connection.send(data)
        assert await connection.rest() == b""


async def test_the_head_of_a_second_request_must_be_completed_too(api: "Api", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS_MAX", 0.2)
    async with connected(api) as connection:
        await connection.send(READY)
        assert await connection.status() == 200
        await connection.send(b"GET /rea")
        assert await connection.rest() == b""


async def test_clients_that_go_in_the_middle_of_their_bodies_are_no_errors(
    api: "Api", caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(20):
        async with connected(api) as connection:
            await connection.send(HALF_A_BODY)
            await api.ask("GET", "/readyz")
    await api.ask("GET", "/readyz")
    assert caplog.records == []


async def test_many_headers_are_read(api: "Api") -> None:
    async with connected(api) as connection:
        await connection.send(READY[:-2] + b"".join(b"X-%d: a\r\n" % one for one in range(500)) + b"\r\n")
        assert await connection.status() == 200


async def test_a_head_that_is_too_large_as_a_whole_ends_the_connection(api: "Api") -> None:
    async with connected(api) as connection:
        try:
            for number in range(100):
                await connection.send((b"" if number else READY[:-2]) + b"X-%d: " % number + b"a" * 60_000 + b"\r\n")
        except ConnectionError:
            return
        answer = await connection.rest()
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")


async def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(api: "Api", lab: str) -> None:
    body = b'{"metadata": {"name": "expected"}}'
    head = f"POST {lab}/secrets HTTP/1.1\r\nHost: [::1]\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
    async with connected(api) as connection:
        await connection.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode())
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            assert await connection.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await connection.send(body)
        assert await connection.status() == 201


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Host": "rebound.example"}, id="a name that was pointed at loopback"),
        pytest.param({"Origin": "https://evil.example"}, id="a page of another site"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="an image of another site"),
    ],
)
async def test_a_page_of_another_site_reads_and_writes_nothing(api: "Api", lab: str, headers: dict[str, str]) -> None:
    assert (await api.ask("GET", f"{lab}/secrets", headers=headers)).status == 403
    body = {"metadata": {"name": "planted"}}
    assert (await api.ask("POST", f"{lab}/configmaps", body, headers=headers)).status == 403
    assert (await api.ask("GET", f"{lab}/configmaps/planted")).status == 404


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
async def test_a_form_creates_nothing(api: "Api", lab: str, media: str) -> None:
    body = {"metadata": {"name": "planted"}}
    assert (await api.ask("POST", f"{lab}/configmaps", body, media=media)).status == 415
    assert (await api.ask("GET", f"{lab}/configmaps/planted")).status == 404


async def test_a_body_without_a_type_creates_nothing(api: "Api", lab: str) -> None:
    body = b'{"metadata": {"name": "planted"}}'
    async with connected(api) as connection:
        await connection.send(f"POST {lab}/configmaps HTTP/1.1\r\nHost: [::1]\r\n".encode())
        await connection.send(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert await connection.status() == 415
    assert (await api.ask("GET", f"{lab}/configmaps/planted")).status == 404


async def test_who_guesses_tokens_is_slowed_and_nobody_else(api: "Api") -> None:
    bad = {"Authorization": "Bearer guessed"}
    async with asyncio.TaskGroup() as group:
        guesses = [group.create_task(api.ask("GET", "/api", headers=bad)) for _ in range(60)]
        assert (await api.ask("GET", "/api")).status == 200
    assert {guess.result().status for guess in guesses} == {401, 429}
    assert sum(guess.result().status == 401 for guess in guesses) < 60
