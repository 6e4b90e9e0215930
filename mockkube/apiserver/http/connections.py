"""HTTP connections: time and size limits of request heads, and responses to bytes that are no request."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

import orjson
from aiohttp import http_exceptions

from mockkube.api.errors import MethodNotAllowed
from mockkube.apiserver.http import web

# The parser's message shows the whole request line: it is well-formed, but for a method the parser does not know.
_REQUEST_LINE: Final = re.compile(r"b'[!#$%&*+.^_`|~0-9A-Za-z-]+ [!-~]+ HTTP/1\.[01]")
HttpHandler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

# Longest time for the head of a request, from the connection's start or the head's own first byte on.
HEADER_SECONDS_MAX: Final = 32.0
# upstream 1.36: apiserver/pkg/server/secure_serving.go, ReadHeaderTimeout
# Largest head of a request.
HEAD_BYTES_MAX: Final = (1 << 20) + 4096
# upstream 1.36: net/http, DefaultMaxHeaderBytes
_HEAD_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Connection: close\r\n\r\n431 Request Header Fields Too Large"
)
_LOG: Final = logging.getLogger("mockkube.apiserver")
_HEADERS: Final = {"Content-Type": "application/json", "Cache-Control": "no-cache, private"}


class Http2Request(web.BaseRequest):
    """Request that came over HTTP/2; its version is 1.1, because aiohttp knows no later one."""

    ATTRS = web.BaseRequest.ATTRS | {"ends_connection"}
    ends_connection = False
    """True if the client must open a new connection for its next request."""


class ConnectionHandler(web.RequestHandler):
    """One connection; bytes that are not HTTP are answered in upstream's words and end it."""

    _header_deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timer for the head of the first request."""
        super().connection_made(transport)
        self._start_header_timer()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop the timer of the connection, and the handler of a request that changes nothing."""
        self._stop_header_timer()
        request, task = self._current_request, self._task_handler
        super().connection_lost(exc)
        # As over HTTP/2, and as upstream cancels the context of the request: a watch would wait for its next event.
        # Handlers of other requests complete their write, and streams find the end of their connection themselves.
        is_read = request is not None and request.method in ("GET", "HEAD") and "Upgrade" not in request.headers
        if is_read and task is not None:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        """Parse received data; close the connection if a head is not complete in time and bounds."""
        # aiohttp has no hook for a complete head, but counts a request as soon as its head is parsed.
        heads = self._request_count
        super().data_received(data)
        if self._request_count != heads:
            self._stop_header_timer()
        # The handler task waits for a request, so these bytes belong to a head and not to a body.
        elif self._waiter is not None and not self._waiter.done():
            if self._header_deadline is None:
                self._start_header_timer()
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX and self.transport is not None:
                self.transport.write(_HEAD_TOO_LARGE)
                self.force_close()

    def resume_reading(self, *args: Any, **kwargs: Any) -> None:
        """Resume reading if it is paused: aiohttp asks for it whenever a body has been read."""
        if self._reading_paused:
            super().resume_reading(*args, **kwargs)

    def _start_header_timer(self) -> None:
        self._header_deadline = self._loop.call_later(HEADER_SECONDS_MAX, self.force_close)

    def _stop_header_timer(self) -> None:
        self._head_bytes = 0
        if self._header_deadline is not None:
            self._header_deadline.cancel()
            self._header_deadline = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that could not be parsed.

        The parser stops at an unknown method, before anybody is authenticated: the response is the one for a user with
        permission. Other bytes are not HTTP. A client that closed the connection is no error of the server: it is
        logged for debugging, and nothing is sent.
        """
        if isinstance(exc, ConnectionError):
            _LOG.debug("%s %s: the client has closed the connection", request.method, request.path)
            return web.Response(status=HTTPStatus.BAD_REQUEST)
        if exc is None or not isinstance(exc, http_exceptions.HttpProcessingError):
            return super().handle_error(request, status, exc, message)
        response = _malformed_request_response(exc)
        response.force_close()
        return response


def _malformed_request_response(error: http_exceptions.HttpProcessingError) -> web.Response:
    match error:
        case http_exceptions.BadHttpMethod() if _REQUEST_LINE.search(error.message):
            refused = MethodNotAllowed()
            return web.Response(body=orjson.dumps(refused.status()), status=refused.code, headers=_HEADERS)
        case http_exceptions.LineTooLong():
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        case _:
            status = HTTPStatus.BAD_REQUEST
    # as Go's net/http, which upstream's server is built on
    return web.Response(status=status, text=f"{status.value} {status.phrase}")


class HttpServer(web.Server):
    """aiohttp server with a connection handler for each connection."""

    def __init__(self, handler: HttpHandler, **options: Any) -> None:
        super().__init__(handler)
        self._options = options

    def __call__(self) -> ConnectionHandler:
        """Return the handler of a new connection."""
        return ConnectionHandler(self, loop=asyncio.get_running_loop(), **self._options)
