"""What a client that keeps to the protocol gets: responses, bodies, trailers, settings, a graceful end."""

import asyncio

import httpx
import pytest
from aiohttp import web

from mockkube.apiserver.http2 import connection, frames
from mockkube.apiserver.http2.errors import ErrorCode
from tests.unit.apiserver.http2.conftest import Server
from tests.unit.apiserver.http2.frame_client import GET, POST, Client


async def test_a_request_is_answered(client: Client, server: Server):
    response = await client.get(1, "/say_ok?a=b")
    assert (response.status, response.body) == (200, b"ok")
    assert response.headers["content-length"] == "2"
    (request,) = server.handler.requests
    assert (request.method, request.path, request.query_string) == ("GET", "/say_ok", "a=b")
    assert request.headers["Host"] == "localhost"


async def test_streams_are_answered_as_they_finish(client: Client, server: Server):
    client.send_headers(1, {**GET, ":path": "/wait"})
    assert (await client.get(3)).body == b"ok"
    server.handler.release.set()
    assert (await client.response(1)).body == b"released"


async def test_a_streamed_response_has_no_headers_of_the_connection(client: Client):
    response = await client.get(1, "/stream")
    assert response.body == b"0\n1\n2\n"
    assert not {"transfer-encoding", "connection"} & set(response.headers)


async def test_a_body_reaches_the_handler_in_pieces_and_without_padding(client: Client):
    client.send_headers(1, {**POST, ":path": "/echo"}, end=False)
    client.send_data(1, b"one ", end=False)
    client.send_frame(frames.DATA, frames.PADDED | frames.END_STREAM, 1, b"\x05two" + b"\0" * 5)
    assert (await client.response(1)).body == b"one two"


async def test_trailers_end_a_body(client: Client):
    client.send_headers(1, {**POST, ":path": "/echo"}, end=False)
    client.send_data(1, b"all", end=False)
    client.send_headers(1, {"x-checksum": "1"})
    assert (await client.response(1)).body == b"all"


async def test_header_blocks_may_come_in_parts(client: Client):
    block = client.encoder.encode([*GET.items(), ("x-long", "a" * 100)])
    client.send_frame(frames.HEADERS, frames.END_STREAM, 1, block[:10])
    client.send_frame(frames.CONTINUATION, 0, 1, block[10:20])
    client.send_frame(frames.CONTINUATION, frames.END_HEADERS, 1, block[20:])
    assert (await client.response(1)).status == 200


async def test_every_split_of_the_bytes_gives_the_same_request(server: Server):
    client = await server.connect()
    other = Client(*await server.connect_raw())
    block = client.encoder.encode(list({**POST, ":path": "/echo"}.items()))
    data = frames.PREFACE + frames.encode_settings(())
    data += frames.encode_header(frames.HEADERS, frames.END_HEADERS, 1, len(block)) + block
    data += frames.encode_header(frames.DATA, frames.END_STREAM, 1, 5) + b"hello"
    for index in range(len(data)):
        other.send_raw(data[index : index + 1])
        await asyncio.sleep(0)
    assert (await other.response(1)).body == b"hello"


async def test_the_client_is_asked_for_its_body(client: Client):
    client.send_headers(1, {**POST, ":path": "/echo", "expect": "100-continue", "content-length": "2"}, end=False)
    asked = await client.wait_for(frames.HEADERS, 1)
    assert client.decoder.decode(asked.payload) == [(":status", "100")]
    assert not asked.ends_stream
    client.send_data(1, b"hi")
    assert (await client.response(1)).body == b"hi"


async def test_a_response_to_head_has_no_body(client: Client):
    client.send_headers(1, {**GET, ":method": "HEAD"})
    frame = await client.wait_for(frames.HEADERS, 1)
    assert frame.ends_stream
    assert ("content-length", "2") in client.decoder.decode(frame.payload)


async def test_an_early_response_stops_the_body(client: Client):
    client.send_headers(1, POST, end=False)
    assert (await client.response(1)).body == b"ok"
    assert await client.reset_code(1) == ErrorCode.NO_ERROR
    client.send_data(1, b"late", end=False)
    client.send_headers(1, {"x-trailer": "late"})
    assert (await client.get(3)).status == 200


async def test_a_body_shorter_than_its_length_fails_in_the_handler(client: Client, server: Server):
    async def read(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return web.Response(body=await request.content.read())
        except web.RequestPayloadError as error:
            return web.Response(status=400, text=str(error))

    server.handler.paths["/read"] = read
    client.send_headers(1, {**POST, ":path": "/read", "content-length": "9"}, end=False)
    client.send_data(1, b"short")
    assert (await client.response(1)).status == 400


async def test_a_response_shorter_than_its_length_is_broken_off(client: Client, server: Server):
    async def shorten(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "9"})
        await response.prepare(request)
        await response.write(b"short")
        return response

    server.handler.paths["/short"] = shorten
    client.send_headers(1, {**GET, ":path": "/short"})
    assert await client.reset_code(1) == ErrorCode.INTERNAL_ERROR


async def test_a_bug_of_the_handler_ends_its_stream_only(
    client: Client, server: Server, caplog: pytest.LogCaptureFixture
):
    async def fail(request: web.BaseRequest) -> web.StreamResponse:
        raise AssertionError("a bug")

    server.handler.paths["/bug"] = fail
    client.send_headers(1, {**GET, ":path": "/bug"})
    assert await client.reset_code(1) == ErrorCode.INTERNAL_ERROR
    assert (await client.get(3)).status == 200
    assert "a bug" in caplog.text


async def test_a_reset_ends_the_handler_of_a_read(client: Client, server: Server):
    client.send_headers(1, {**GET, ":path": "/wait"})
    client.send_headers(3)
    await client.response(3)
    assert server.handler.running == 1
    client.send_frame(frames.RST_STREAM, 0, 1, b"\0\0\0\x08")
    await client.get(5)
    assert server.handler.running == 0


async def test_a_reset_lets_the_handler_of_a_write_finish(client: Client, server: Server):
    client.send_headers(1, {**POST, ":path": "/wait"})
    client.send_frame(frames.RST_STREAM, 0, 1, b"\0\0\0\x08")
    await client.get(3)
    assert server.handler.running == 1
    server.handler.release.set()
    await client.get(5)
    assert server.handler.running == 0


async def test_the_end_of_a_connection_ends_the_handlers_of_reads(client: Client, server: Server):
    client.send_headers(1, {**GET, ":path": "/wait"})
    await client.get(3)
    client.writer.transport.abort()
    other = await server.connect()
    await other.get(1)
    assert server.handler.running == 0


async def test_pings_are_answered(client: Client):
    client.send_frame(frames.PING, 0, 0, b"12345678")
    frame = await client.wait_for(frames.PING)
    assert (frame.flags, frame.payload) == (frames.ACK, b"12345678")


async def test_the_settings_are_those_of_the_real_server(client: Client):
    settings = dict(frames.decode_settings((await client.wait_for(frames.SETTINGS)).payload))
    assert settings[frames.SETTINGS_MAX_CONCURRENT_STREAMS] == 100
    assert settings[frames.SETTINGS_INITIAL_WINDOW_SIZE] == 256 << 10
    assert settings[frames.SETTINGS_MAX_FRAME_SIZE] == 256 << 10
    update = await client.wait_for(frames.WINDOW_UPDATE, 0)
    assert update.number + frames.WINDOW_DEFAULT == 100 * (256 << 10)
    assert (await client.wait_for(frames.SETTINGS)).flags == frames.ACK


async def test_a_client_without_a_header_table_is_told_that_it_is_empty(server: Server):
    client = await server.connect({frames.SETTINGS_HEADER_TABLE_SIZE: 0})
    client.decoder.max_allowed_table_size = 0  # decoding fails without the update
    assert (await client.get(1)).status == 200
    assert (await client.get(3)).status == 200


async def test_a_shutdown_finishes_open_streams_and_accepts_no_more(client: Client, server: Server):
    client.send_headers(1, {**GET, ":path": "/wait"})
    await client.get(3)
    server.http.pre_shutdown()
    assert await client.goaway_code() == ErrorCode.NO_ERROR
    client.send_headers(5)
    stopping = asyncio.create_task(server.http.shutdown(5.0))
    server.handler.release.set()
    assert (await client.response(1)).body == b"released"
    await stopping
    assert await client.rest() == b""
    assert len(server.handler.requests) == 2


async def test_a_shutdown_cancels_what_takes_too_long(client: Client, server: Server):
    client.send_headers(1, {**POST, ":path": "/wait"})
    await client.get(3)
    await server.http.shutdown(0.01)
    assert server.handler.running == 0
    assert await client.reset_code(1) == ErrorCode.INTERNAL_ERROR


async def test_a_response_that_ends_the_connection_sends_goaway(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch
):
    async def close(request: web.BaseRequest) -> web.StreamResponse:
        response = web.Response(body=b"last")
        response.force_close()
        return response

    monkeypatch.setattr(connection, "GOAWAY_SECONDS", 0.01)
    server.handler.paths["/close"] = close
    client.send_headers(1, {**GET, ":path": "/close"})
    assert await client.goaway_code() == ErrorCode.NO_ERROR
    assert (await client.response(1)).body == b"last"
    assert await client.rest() == b""


async def test_an_idle_connection_ends(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "GOAWAY_SECONDS", 0.01)
    monkeypatch.setattr(server.http, "_idle_seconds_max", 0.05)
    client = await server.connect()
    assert (await client.get(1)).status == 200
    assert await client.goaway_code() == ErrorCode.NO_ERROR
    assert await client.rest() == b""


async def test_the_same_server_speaks_http1(server: Server):
    reader, writer = await server.connect_raw()
    writer.write(b"GET /say_ok HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_a_request_line_that_begins_like_the_preface_is_http1(server: Server):
    reader, writer = await server.connect_raw()
    for part in (b"P", b"OST /say_ok HTTP/1.1\r\nHost: h\r\n", b"Connection: close\r\n\r\n"):
        writer.write(part)
        await asyncio.sleep(0)
    assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_an_independent_client_is_served(server: Server):
    listening = await asyncio.get_running_loop().create_server(server.http, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with httpx.AsyncClient(http1=False, http2=True, base_url=f"http://127.0.0.1:{port}") as session:
        answers = await asyncio.gather(
            session.get("/say_ok"), session.post("/echo", content=b"x" * 700_000), session.get("/large")
        )
    assert {answer.http_version for answer in answers} == {"HTTP/2"}
    assert [len(answer.content) for answer in answers] == [2, 700_000, 300_000]
    listening.close()


@pytest.mark.parametrize(
    ("name", "protocol", "is_prohibited"),
    [
        pytest.param("TLS_AES_128_GCM_SHA256", "TLSv1.3", False, id="TLS 1.3"),
        pytest.param("ECDHE-RSA-AES128-GCM-SHA256", "TLSv1.2", False, id="GCM"),
        pytest.param("ECDHE-ECDSA-CHACHA20-POLY1305", "TLSv1.2", False, id="ChaCha20"),
        pytest.param("ECDHE-RSA-AES128-SHA256", "TLSv1.2", True, id="CBC"),
        pytest.param("AES128-GCM-SHA256", "TLSv1.2", True, id="no ephemeral key"),
    ],
)
def test_ciphers_are_prohibited_as_in_the_appendix(name: str, protocol: str, *, is_prohibited: bool):
    assert connection.is_prohibited_cipher(name, protocol) == is_prohibited
