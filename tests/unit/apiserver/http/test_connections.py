"""What a connection says to bytes that are no request. Over a pair of sockets, as the parser is the connection's."""

import asyncio
import socket

import orjson
import pytest
from aiohttp import web

from mockkube.apiserver.http.connections import HttpServer


async def _nobody(request: web.BaseRequest) -> web.StreamResponse:
    raise AssertionError("no request gets here")


async def _answer(sent: bytes) -> tuple[bytes, bytes]:
    """The head and the body of the answer, after which the connection ends."""
    ours, theirs = socket.socketpair()
    server = HttpServer(_nobody, access_log=None, max_line_size=256)
    await asyncio.get_running_loop().connect_accepted_socket(server, theirs)
    reader, writer = await asyncio.open_connection(sock=ours)
    writer.write(sent)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await server.shutdown(0)
    return head, body


async def test_an_unknown_method_is_not_allowed():
    head, body = await _answer(b"FROB /api/v1/pods HTTP/1.1\r\nHost: h\r\n\r\n")
    assert head.split()[1] == b"405"
    status = orjson.loads(body)
    assert status["kind"] == "Status"
    assert status["message"] == "the server does not allow this method on the requested resource"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        pytest.param(b"word\r\n\r\n", b"400 Bad Request", id="no request line"),
        pytest.param(b"FROB / HTTP/2.0\r\n\r\n", b"400 Bad Request", id="another protocol"),
        pytest.param(b"GET / HTTP/1.1\r\nno header\r\n\r\n", b"400 Bad Request", id="no header"),
        pytest.param(
            b"GET /" + b"x" * 512 + b" HTTP/1.1\r\n\r\n", b"431 Request Header Fields Too Large", id="too long a line"
        ),
    ],
)
async def test_what_is_not_http_is_told_so_in_a_line(sent, said):
    head, body = await _answer(sent)
    assert head.split()[1] == said[:3]
    assert body == said
