"""Credit in both directions: a client gets no more than it grants, and sends no more than it is granted."""

import asyncio
import tracemalloc

import pytest
from aiohttp import web

from mockkube.apiserver.http2 import frames, stream
from mockkube.apiserver.http2.errors import ErrorCode
from tests.unit.apiserver.http2.conftest import Server
from tests.unit.apiserver.http2.frame_client import GET, POST, Client

LARGE = {**GET, ":path": "/large"}
LARGE_BYTES = 300_000


async def read_data(client: Client, stream_id: int, count: int) -> int:
    """Read DATA frames of a stream until they hold so many bytes; return the bytes of the largest frame."""
    largest = 0
    while count > 0:
        size = len((await client.wait_for(frames.DATA, stream_id)).payload)
        largest, count = max(largest, size), count - size
    assert count == 0, "more data than expected"
    return largest


async def test_a_response_waits_for_credit_of_its_stream(server: Server):
    client = await server.connect({frames.SETTINGS_INITIAL_WINDOW_SIZE: 1000})
    client.grant(0, 1 << 20)
    client.send_headers(1, LARGE)
    await read_data(client, 1, 1000)
    assert (await client.get(3)).body == b"ok"  # nothing came before
    client.grant(1, 500)
    await read_data(client, 1, 500)
    client.grant(1, LARGE_BYTES)
    assert len((await client.response(1)).body) == LARGE_BYTES - 1500


async def test_a_response_waits_for_credit_of_the_connection(server: Server):
    client = await server.connect({frames.SETTINGS_INITIAL_WINDOW_SIZE: 1 << 20})
    client.send_headers(1, LARGE)
    await read_data(client, 1, frames.WINDOW_DEFAULT)
    client.grant(0, LARGE_BYTES)
    assert len((await client.response(1)).body) == LARGE_BYTES - frames.WINDOW_DEFAULT


async def test_a_window_of_one_byte_is_filled_byte_by_byte(server: Server):
    client = await server.connect({frames.SETTINGS_INITIAL_WINDOW_SIZE: 1})
    client.send_headers(1)
    await read_data(client, 1, 1)
    client.grant(1, 1)
    frame = await client.wait_for(frames.DATA, 1)
    assert (frame.payload, frame.ends_stream) == (b"k", True)


async def test_a_later_initial_window_applies_to_open_streams(server: Server):
    client = await server.connect({frames.SETTINGS_INITIAL_WINDOW_SIZE: 0})
    client.grant(0, 1 << 20)
    client.send_headers(1, LARGE)
    await client.wait_for(frames.HEADERS, 1)
    client.send_raw(frames.encode_settings([(frames.SETTINGS_INITIAL_WINDOW_SIZE, LARGE_BYTES)]))
    await read_data(client, 1, LARGE_BYTES)


async def test_a_window_may_become_negative(server: Server):
    client = await server.connect({frames.SETTINGS_INITIAL_WINDOW_SIZE: 1000})
    client.send_headers(1, LARGE)
    await read_data(client, 1, 1000)
    client.send_raw(frames.encode_settings([(frames.SETTINGS_INITIAL_WINDOW_SIZE, 0)]))
    client.grant(1, 1000)
    client.send_frame(frames.PING, 0, 0, b"12345678")
    await client.wait_for(frames.PING)
    assert not [frame for frame in client.seen if frame.kind == frames.DATA]
    client.grant(1, 10)
    await read_data(client, 1, 10)


async def test_waiting_responses_share_the_credit_of_the_connection(server: Server):
    client = await server.connect({frames.SETTINGS_INITIAL_WINDOW_SIZE: 1 << 20})
    for stream_id in (1, 3):
        client.send_headers(stream_id, LARGE)
    left = 2 * LARGE_BYTES
    streams: list[int] = []
    client.grant(0, (1 << 15) + 1)  # 96 KiB with the default window
    while left:
        frame = await client.wait_for(frames.DATA)
        left -= len(frame.payload)
        streams.append(frame.stream_id)
        client.grant(0, len(frame.payload))
    half = len(streams) // 2
    assert {1, 3} <= set(streams[:half])


async def test_many_responses_complete_within_a_small_window(server: Server):
    client = await server.connect()
    ids = range(1, 121, 4)
    for stream_id in ids:
        client.send_headers(stream_id, LARGE)
        client.send_headers(stream_id + 2, {**GET, ":path": "/stream"})
    received = dict.fromkeys(ids, 0)
    while min(received.values()) < LARGE_BYTES:
        frame = await client.wait_for(frames.DATA)
        if frame.payload:
            client.grant(0, len(frame.payload))
        if frame.stream_id in received:
            received[frame.stream_id] += len(frame.payload)
            if not frame.ends_stream:
                client.grant(frame.stream_id, len(frame.payload))
        if len(received) > 20 and frame.stream_id in received:  # the client loses interest in some
            del received[frame.stream_id]
            client.send_frame(frames.RST_STREAM, 0, frame.stream_id, b"\0\0\0\x08")
    assert set(received.values()) == {LARGE_BYTES}


async def test_frames_are_no_larger_than_the_client_accepts(server: Server):
    settings = {frames.SETTINGS_INITIAL_WINDOW_SIZE: 1 << 20}
    client = await server.connect(settings)
    client.grant(0, 1 << 20)
    client.send_headers(1, LARGE)
    assert await read_data(client, 1, LARGE_BYTES) == frames.FRAME_BYTES_DEFAULT
    other = await server.connect({**settings, frames.SETTINGS_MAX_FRAME_SIZE: 1 << 20})
    other.grant(0, 1 << 20)
    other.send_headers(1, LARGE)
    assert await read_data(other, 1, LARGE_BYTES) == 64 << 10


async def test_a_response_without_credit_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream, "STALL_SECONDS_MAX", 0.05)
    client = await server.connect({frames.SETTINGS_INITIAL_WINDOW_SIZE: 10})
    client.send_headers(1, LARGE)
    assert await client.reset_code(1) == ErrorCode.CANCEL
    assert (await client.get(3)).status == 200
    assert server.handler.running == 0


async def test_credit_byte_by_byte_does_not_keep_a_response(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream, "STALL_SECONDS_MAX", 0.1)
    client = await server.connect({frames.SETTINGS_INITIAL_WINDOW_SIZE: 0})
    client.send_headers(1, LARGE)
    async with asyncio.timeout(5):
        while True:
            client.grant(1, 1)
            frame = await client.next_frame()
            if frame.kind == frames.RST_STREAM:
                break
    assert frame.number == ErrorCode.CANCEL


async def test_a_slow_watcher_holds_one_part(server: Server):
    written = 0

    async def watch(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal written
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"e" * 10_000)
            written += 1

    server.handler.paths["/watch"] = watch
    client = await server.connect()
    client.send_headers(1, {**GET, ":path": "/watch"})
    await read_data(client, 1, frames.WINDOW_DEFAULT)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for stream_id in range(3, 53, 2):
        client.send_headers(stream_id, {**GET, ":path": "/watch"})
    client.send_frame(frames.PING, 0, 0, b"12345678")
    await client.wait_for(frames.PING)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert written == frames.WINDOW_DEFAULT // 10_000
    assert grown < 25 * 64 << 10


async def test_a_client_that_does_not_read_its_socket_holds_one_part(server: Server):
    written = 0

    async def watch(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal written
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"e" * 10_000)
            written += 1

    server.handler.paths["/watch"] = watch
    client = await server.connect({frames.SETTINGS_INITIAL_WINDOW_SIZE: 1 << 30})
    client.grant(0, 1 << 30)
    client.reader._limit = 1  # type: ignore[attr-defined] - the stream stops reading the socket
    client.send_headers(1, {**GET, ":path": "/watch"})
    other = await server.connect()
    for stream_id in range(1, 101, 2):
        await other.get(stream_id)
    count = written
    for stream_id in range(101, 201, 2):
        await other.get(stream_id)
    assert written == count < 300


async def test_a_large_body_gets_credit_as_it_is_read(client: Client):
    body = b"b" * 1_000_000
    client.send_headers(1, {**POST, ":path": "/echo"}, end=False)
    credit, position = 256 << 10, 0
    while position < len(body):
        count = min(credit, 16384, len(body) - position)
        client.send_data(1, body[position : position + count], end=False)
        position, credit = position + count, credit - count
        while credit == 0 and position < len(body):
            credit += (await client.wait_for(frames.WINDOW_UPDATE, 1)).number
    client.send_data(1, b"")
    client.grant(0, 1 << 21)
    client.grant(1, 1 << 21)
    assert (await client.response(1)).body == body


async def test_an_unread_body_gets_no_more_credit_than_its_window(client: Client, server: Server):
    client.send_headers(1, {**POST, ":path": "/wait"}, end=False)
    for _ in range(16):
        client.send_data(1, b"b" * (16 << 10), end=False)
    await client.get(3)
    granted = sum(frame.number for frame in client.seen if (frame.kind, frame.stream_id) == (frames.WINDOW_UPDATE, 1))
    assert granted <= stream.RECEIVE_WINDOW // 2


async def test_unread_bodies_return_their_credit_to_the_connection(client: Client):
    body = b"b" * (16 << 10)
    for number in range(120):  # 30 MiB, more than the connection's window
        stream_id = 2 * number + 1
        client.send_headers(stream_id, {**POST, ":path": "/say_ok"}, end=False)
        for _ in range(15):
            client.send_data(stream_id, body, end=False)
        assert (await client.response(stream_id)).status == 200
    assert sum(frame.number for frame in client.seen if (frame.kind, frame.stream_id) == (frames.WINDOW_UPDATE, 0))


async def test_more_data_than_the_window_is_refused(client: Client):
    client.send_headers(1, {**POST, ":path": "/wait"}, end=False)
    for _ in range(24):
        client.send_data(1, b"b" * (16 << 10), end=False)
    assert await client.reset_code(1) == ErrorCode.FLOW_CONTROL_ERROR


@pytest.mark.parametrize("stream_id", [pytest.param(0, id="connection"), pytest.param(1, id="stream")])
async def test_a_window_beyond_the_largest_one_is_refused(client: Client, stream_id: int):
    client.send_headers(1, {**GET, ":path": "/wait"})
    client.grant(stream_id, frames.WINDOW_LIMIT)
    code = await (client.reset_code(1) if stream_id else client.goaway_code())
    assert code == ErrorCode.FLOW_CONTROL_ERROR
