"""Clients that break the protocol or abuse it: their stream or connection ends, with the code of RFC 9113."""

import asyncio
from collections.abc import Callable

import pytest

from mockkube.apiserver.http import connections
from mockkube.apiserver.http2 import connection, frame_limits, frame_writer, frames
from mockkube.apiserver.http2.errors import ErrorCode
from mockkube.apiserver.http2.request_head import LIST_BYTES_MAX
from tests.unit.apiserver.http2.conftest import Server
from tests.unit.apiserver.http2.frame_client import GET, POST, Client

END = frames.END_HEADERS | frames.END_STREAM
PROTOCOL_ERROR, FRAME_SIZE_ERROR = ErrorCode.PROTOCOL_ERROR, ErrorCode.FRAME_SIZE_ERROR
NUMBER = b"\0\0\0\x01"

Act = Callable[[Client], None]


@pytest.fixture(autouse=True)
def _quick_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "GOAWAY_SECONDS", 0.01)


@pytest.fixture(autouse=True)
async def _serving(server: Server):
    """Other clients are served, whatever one does, and nothing of the hostile one runs on."""
    yield
    server.handler.release.set()
    other = await server.connect()
    assert (await other.get(1)).body == b"ok"
    assert (await other.get(3)).body == b"ok"
    assert server.handler.running == 0


def frame(kind: int, flags: int = 0, stream_id: int = 0, payload: bytes = b"") -> Act:
    return lambda client: client.send_frame(kind, flags, stream_id, payload)


def settings(*pairs: tuple[int, int]) -> Act:
    return lambda client: client.send_raw(frames.encode_settings(pairs))


def after_headers(act: Act) -> Act:
    """Open stream 1 with an incomplete header block, then act."""

    def do(client: Client) -> None:
        client.send_frame(frames.HEADERS, 0, 1, b"\x82")
        act(client)

    return do


@pytest.mark.parametrize(
    ("act", "code"),
    [
        pytest.param(frame(frames.DATA, 0, 0, b"x"), PROTOCOL_ERROR, id="DATA without a stream"),
        pytest.param(frame(frames.DATA, 0, 1, b"x"), PROTOCOL_ERROR, id="DATA on an idle stream"),
        pytest.param(frame(frames.DATA, frames.PADDED, 1, b"\x05"), PROTOCOL_ERROR, id="padding beyond the frame"),
        pytest.param(frame(frames.DATA, frames.PADDED, 1, b""), PROTOCOL_ERROR, id="padding without its length"),
        pytest.param(frame(frames.HEADERS, END, 0, b"\x82"), PROTOCOL_ERROR, id="HEADERS without a stream"),
        pytest.param(frame(frames.HEADERS, END, 2, b"\x82"), PROTOCOL_ERROR, id="HEADERS on a stream of the server"),
        pytest.param(
            frame(frames.HEADERS, END | frames.HAS_PRIORITY, 1, b"\0\0"), FRAME_SIZE_ERROR, id="half a priority"
        ),
        pytest.param(frame(frames.CONTINUATION, END, 1, b""), PROTOCOL_ERROR, id="CONTINUATION of nothing"),
        pytest.param(
            after_headers(frame(frames.PING, 0, 0, b"12345678")), PROTOCOL_ERROR, id="PING inside a header block"
        ),
        pytest.param(
            after_headers(frame(frames.CONTINUATION, END, 3)), PROTOCOL_ERROR, id="CONTINUATION of another stream"
        ),
        pytest.param(
            after_headers(frame(frames.HEADERS, END, 3, b"\x82")), PROTOCOL_ERROR, id="HEADERS inside a header block"
        ),
        pytest.param(after_headers(frame(0x20)), PROTOCOL_ERROR, id="an unknown frame inside a header block"),
        pytest.param(frame(frames.RST_STREAM, 0, 0, NUMBER), PROTOCOL_ERROR, id="RST_STREAM without a stream"),
        pytest.param(frame(frames.RST_STREAM, 0, 1, NUMBER), PROTOCOL_ERROR, id="RST_STREAM on an idle stream"),
        pytest.param(frame(frames.RST_STREAM, 0, 1, b"\0"), FRAME_SIZE_ERROR, id="RST_STREAM of a wrong size"),
        pytest.param(frame(frames.PRIORITY, 0, 0, b"\0" * 5), PROTOCOL_ERROR, id="PRIORITY without a stream"),
        pytest.param(frame(frames.SETTINGS, 0, 1), PROTOCOL_ERROR, id="SETTINGS on a stream"),
        pytest.param(frame(frames.SETTINGS, 0, 0, b"\0" * 5), FRAME_SIZE_ERROR, id="SETTINGS of a wrong size"),
        pytest.param(frame(frames.SETTINGS, 1, 0, b"\0" * 6), FRAME_SIZE_ERROR, id="an acknowledgement with settings"),
        pytest.param(settings((2, 2)), PROTOCOL_ERROR, id="ENABLE_PUSH 2"),
        pytest.param(settings((4, 1 << 31)), ErrorCode.FLOW_CONTROL_ERROR, id="too large a window"),
        pytest.param(settings((5, 16383)), PROTOCOL_ERROR, id="too small a frame size"),
        pytest.param(settings((5, 1 << 24)), PROTOCOL_ERROR, id="too large a frame size"),
        pytest.param(settings((4, 1), (4, 2)), PROTOCOL_ERROR, id="a setting twice"),
        pytest.param(settings(*((one, 0) for one in range(0x100, 0x165))), PROTOCOL_ERROR, id="101 settings"),
        pytest.param(frame(frames.PUSH_PROMISE, 0, 1, NUMBER), PROTOCOL_ERROR, id="PUSH_PROMISE"),
        pytest.param(frame(frames.PING, 0, 1, b"12345678"), PROTOCOL_ERROR, id="PING on a stream"),
        pytest.param(frame(frames.PING, 0, 0, b"1234567"), FRAME_SIZE_ERROR, id="PING of a wrong size"),
        pytest.param(frame(frames.GOAWAY, 0, 1, b"\0" * 8), PROTOCOL_ERROR, id="GOAWAY on a stream"),
        pytest.param(frame(frames.GOAWAY, 0, 0, b"\0"), FRAME_SIZE_ERROR, id="GOAWAY of a wrong size"),
        pytest.param(frame(frames.WINDOW_UPDATE, 0, 0, b"\0" * 4), PROTOCOL_ERROR, id="credit of nothing"),
        pytest.param(frame(frames.WINDOW_UPDATE, 0, 1, NUMBER), PROTOCOL_ERROR, id="credit for an idle stream"),
        pytest.param(frame(frames.WINDOW_UPDATE, 0, 0, b"\0"), FRAME_SIZE_ERROR, id="credit of a wrong size"),
        pytest.param(frame(frames.HEADERS, END, 1, b"\xff\xff"), ErrorCode.COMPRESSION_ERROR, id="a bad header block"),
        pytest.param(
            lambda client: client.send_raw(frames.encode_header(frames.DATA, 0, 1, (256 << 10) + 1)),
            FRAME_SIZE_ERROR,
            id="a frame that is too large",
        ),
    ],
)
async def test_an_error_of_the_connection_ends_it(client: Client, act: Act, code: ErrorCode):
    act(client)
    assert await client.goaway_code() == code
    assert await client.rest() == b""


@pytest.mark.parametrize(
    ("act", "code"),
    [
        pytest.param(
            lambda client: (client.send_headers(1, {**GET, ":path": "/wait"}), client.send_data(1, b"x")),
            ErrorCode.STREAM_CLOSED,
            id="DATA after the end of the request",
        ),
        pytest.param(
            lambda client: (client.send_headers(1, {**GET, ":path": "/wait"}), client.send_headers(1, {"a": "b"})),
            ErrorCode.STREAM_CLOSED,
            id="HEADERS after the end of the request",
        ),
        pytest.param(frame(frames.PRIORITY, 0, 1, NUMBER + b"\0"), PROTOCOL_ERROR, id="a stream before itself"),
        pytest.param(frame(frames.PRIORITY, 0, 1, b"\0"), FRAME_SIZE_ERROR, id="PRIORITY of a wrong size"),
        pytest.param(
            lambda client: (
                client.send_headers(1, {**GET, ":path": "/wait"}),
                client.send_frame(frames.WINDOW_UPDATE, 0, 1, b"\0" * 4),
            ),
            PROTOCOL_ERROR,
            id="credit of nothing",
        ),
        pytest.param(
            lambda client: (client.send_headers(1, POST, end=False), client.send_headers(1, {"a": "b"}, end=False)),
            PROTOCOL_ERROR,
            id="trailers that do not end the stream",
        ),
        pytest.param(
            lambda client: (client.send_headers(1, POST, end=False), client.send_headers(1, {":path": "/"})),
            PROTOCOL_ERROR,
            id="trailers with a pseudo-header",
        ),
        pytest.param(
            lambda client: (
                client.send_headers(1, {**POST, ":path": "/echo", "content-length": "1"}, end=False),
                client.send_data(1, b"xy"),
            ),
            PROTOCOL_ERROR,
            id="more data than content-length",
        ),
        pytest.param(
            lambda client: client.send_headers(1, {**POST, "content-length": "1"}),
            PROTOCOL_ERROR,
            id="content-length without a body",
        ),
        pytest.param(
            lambda client: client.send_headers(1, [(":method", "GET"), (":path", "/")]),
            PROTOCOL_ERROR,
            id="a request without a scheme",
        ),
    ],
)
async def test_an_error_of_a_stream_ends_it_alone(client: Client, server: Server, act: Act, code: ErrorCode):
    act(client)
    assert await client.reset_code(1) == code
    assert (await client.get(9)).body == b"ok"


async def test_data_on_a_closed_stream_is_refused(client: Client):
    await client.get(1)
    client.send_data(1, b"x")
    assert await client.reset_code(1) == ErrorCode.STREAM_CLOSED
    assert (await client.get(3)).body == b"ok"


async def test_headers_on_a_closed_stream_end_the_connection(client: Client):
    await client.get(1)
    client.send_headers(1, {"a": "b"})
    assert await client.goaway_code() == ErrorCode.STREAM_CLOSED


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(frames.PREFACE + frames.encode_header(frames.PING, 0, 0, 8) + b"12345678", id="PING first"),
        pytest.param(frames.PREFACE + frames.encode_header(frames.SETTINGS, 1, 0, 0), id="an acknowledgement first"),
        pytest.param(frames.PREFACE + b"GET / HTTP/1.1\r\n\r\n", id="HTTP/1.1 after the preface"),
    ],
)
async def test_settings_come_first(server: Server, data: bytes):
    client = Client(*await server.connect_raw())
    client.send_raw(data)
    assert await client.goaway_code() in (PROTOCOL_ERROR, FRAME_SIZE_ERROR)


async def test_an_acknowledgement_too_many_ends_the_connection(client: Client):
    for _ in range(2):
        client.send_frame(frames.SETTINGS, frames.ACK)
    assert await client.goaway_code() == PROTOCOL_ERROR


async def test_headers_of_the_connection_are_refused(client: Client):
    response = await client.get(1)
    client.send_headers(3, {**GET, "connection": "upgrade", "upgrade": "websocket"})
    response = await client.response(3)
    assert response.status == 400
    assert response.body == b'request header "Connection" is not valid in HTTP/2\n'


async def test_more_streams_than_allowed_are_refused(client: Client, server: Server):
    for number in range(101):
        client.send_headers(2 * number + 1, {**GET, ":path": "/wait"})
    assert await client.reset_code(201) == ErrorCode.REFUSED_STREAM
    assert server.handler.running == 100
    client.send_frame(frames.SETTINGS, frames.ACK)
    client.send_headers(203)
    assert await client.reset_code(203) == PROTOCOL_ERROR
    client.send_frame(frames.RST_STREAM, 0, 1, NUMBER)
    assert (await client.get(205)).status == 200


async def test_rapid_resets_end_the_connection(client: Client, server: Server):
    for stream_id in range(1, 2001, 2):
        client.send_headers(stream_id, {**POST, ":path": "/wait"})
        client.send_frame(frames.RST_STREAM, 0, stream_id, NUMBER)
    assert await client.goaway_code() == ErrorCode.ENHANCE_YOUR_CALM
    assert server.handler.running <= connection.STREAMS_MAX
    assert len(server.handler.requests) <= connection.STREAMS_MAX


async def test_resets_at_the_pace_of_the_handlers_end_the_connection_too(client: Client, server: Server):
    for number in range(frame_limits.CONTROL_FRAMES_MAX):
        client.send_headers(4 * number + 1, {**GET, ":path": "/wait"})
        client.send_frame(frames.RST_STREAM, 0, 4 * number + 1, NUMBER)
        if number % 50 == 0:
            assert (await client.get(4 * number + 3)).status == 200
    assert await client.goaway_code() == ErrorCode.ENHANCE_YOUR_CALM


@pytest.mark.parametrize("spoil", [pytest.param(True, id="errors"), pytest.param(False, id="too many streams")])
async def test_streams_that_the_server_resets_end_the_connection(client: Client, server: Server, *, spoil: bool):
    for stream_id in range(1, 3001, 2):
        client.send_headers(stream_id, {**POST, ":path": "/wait"})
        if spoil:
            client.send_frame(frames.WINDOW_UPDATE, 0, stream_id, b"\0" * 4)
    assert await client.goaway_code() == ErrorCode.ENHANCE_YOUR_CALM
    assert server.handler.running <= connection.STREAMS_MAX


@pytest.mark.parametrize(
    "flood",
    [
        pytest.param(frames.encode_header(frames.PING, 0, 0, 8) + b"12345678", id="PING"),
        pytest.param(frames.encode_settings(()), id="SETTINGS"),
        pytest.param(frames.encode_header(frames.PRIORITY, 0, 1, 5) + b"\0" * 5, id="PRIORITY"),
        pytest.param(frames.encode_header(0x30, 0, 0, 0), id="an unknown frame"),
        pytest.param(frames.encode_header(frames.DATA, 0, 1, 0), id="empty DATA"),
        pytest.param(frames.encode_header(frames.DATA, 0, 1, 1) + b"x", id="tiny DATA"),
        pytest.param(frames.encode_window_update(0, 1), id="WINDOW_UPDATE of the connection"),
        pytest.param(frames.encode_window_update(1, 1), id="WINDOW_UPDATE of a stream"),
    ],
)
async def test_a_flood_ends_the_connection(client: Client, flood: bytes):
    client.send_headers(1, {**POST, ":path": "/wait"}, end=False)
    client.send_raw(flood * 3000)
    assert await client.goaway_code() == ErrorCode.ENHANCE_YOUR_CALM


async def test_credit_for_what_was_sent_is_no_flood(server: Server):
    client = await server.connect({frames.SETTINGS_INITIAL_WINDOW_SIZE: 1 << 24})
    client.grant(0, 1 << 24)
    for stream_id in range(1, 21, 2):
        assert (await client.get(stream_id, "/large")).status == 200
        client.send_raw(frames.encode_window_update(0, 1024) * 290)
    assert (await client.get(101)).status == 200


async def test_answers_do_not_pile_up_for_a_client_that_does_not_read(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(frame_limits, "CONTROL_FRAMES_MAX", 1 << 30)
    monkeypatch.setattr(frame_writer, "QUEUED_CONTROL_FRAMES_MAX", 50)
    client.reader._limit = 1  # type: ignore[attr-defined] - the stream stops reading the socket
    ping = frames.encode_header(frames.PING, 0, 0, 8) + b"12345678"

    async def send_pings() -> None:
        while True:
            client.send_raw(ping * 1000)
            await client.writer.drain()

    async with asyncio.timeout(5):
        with pytest.raises(ConnectionError):
            await send_pings()


@pytest.mark.parametrize("part", [pytest.param(b"", id="empty"), pytest.param(b"\x82" * 100, id="small")])
async def test_a_flood_of_continuations_ends_the_connection(client: Client, part: bytes):
    client.send_frame(frames.HEADERS, 0, 1, b"\x82")
    for _ in range(200):
        client.send_frame(frames.CONTINUATION, 0, 1, part)
    assert await client.goaway_code() == ErrorCode.ENHANCE_YOUR_CALM


async def test_a_header_block_beyond_the_limit_ends_the_connection(client: Client):
    client.send_frame(frames.HEADERS, 0, 1, b"\x82" * 100_000)
    client.send_frame(frames.CONTINUATION, END, 1, b"\x82" * (LIST_BYTES_MAX - 100_000 + 1))
    assert await client.goaway_code() == ErrorCode.ENHANCE_YOUR_CALM


@pytest.mark.parametrize("field", [pytest.param(b"\x82", id="fields"), pytest.param(b"\x20", id="table sizes")])
async def test_a_block_of_many_tiny_fields_ends_the_connection(client: Client, field: bytes):
    client.send_frame(frames.HEADERS, END, 1, field * 100_000)
    assert await client.goaway_code() == ErrorCode.COMPRESSION_ERROR


async def test_a_header_list_beyond_the_limit_is_answered(client: Client):
    # A field of 4,000 bytes enters the table, and each further byte repeats it.
    name = client.encoder.encode([("x-bomb", "b" * 3000)])
    client.send_frame(frames.HEADERS, END, 1, name + b"\xbe" * 4_000)
    assert (await client.response(1)).status == 431
    assert (await client.get(3)).status == 200


async def test_too_many_headers_are_answered(client: Client):
    client.send_headers(1, [*GET.items(), *(("x-many", str(one)) for one in range(1025))])
    assert (await client.response(1)).status == 431
    assert (await client.get(3)).status == 200


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(frames.PREFACE[:10], id="half a preface"),
        pytest.param(frames.PREFACE, id="no settings"),
        pytest.param(frames.PREFACE + frames.encode_settings(())[:5], id="half a frame"),
    ],
)
async def test_a_greeting_that_is_not_completed_ends_the_connection(
    server: Server, monkeypatch: pytest.MonkeyPatch, data: bytes
):
    monkeypatch.setattr(connection, "PREFACE_SECONDS_MAX", 0.05)
    monkeypatch.setattr(connections, "HEADER_SECONDS_MAX", 0.05)
    reader, writer = await server.connect_raw()
    writer.write(data)
    async with asyncio.timeout(5):
        await reader.read()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(frames.encode_header(frames.HEADERS, END, 1, 10) + b"\x82", id="half a frame"),
        pytest.param(frames.encode_header(frames.HEADERS, 0, 1, 1) + b"\x82", id="half a header block"),
        pytest.param(b"\0\0", id="half a frame header"),
    ],
)
async def test_a_head_that_is_not_completed_ends_the_connection(
    client: Client, monkeypatch: pytest.MonkeyPatch, data: bytes
):
    monkeypatch.setattr(connections, "HEADER_SECONDS_MAX", 0.05)
    assert (await client.get(1)).status == 200
    client.send_raw(data)
    assert await client.goaway_code() == ErrorCode.SETTINGS_TIMEOUT
    assert await client.rest() == b""


async def test_a_body_that_comes_byte_by_byte_is_passed_on(client: Client, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr(connections, "HEADER_SECONDS_MAX", 0.0)
        client.send_headers(1, {**POST, ":path": "/echo"}, end=False)
        client.send_raw(frames.encode_header(frames.DATA, frames.END_STREAM, 1, 26))
        for byte in range(ord("a"), ord("z") + 1):
            client.send_raw(bytes([byte]))
            await asyncio.sleep(0)
        assert (await client.response(1)).body == bytes(range(ord("a"), ord("z") + 1))
