"""One HTTP/2 stream: a request, its response, and the flow control of both."""

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, Final, cast

from aiohttp import ClientConnectionResetError
from aiohttp.base_protocol import BaseProtocol
from multidict import CIMultiDict

from mockkube.apiserver.http import web
from mockkube.apiserver.http.connections import Http2Request
from mockkube.apiserver.http2.errors import ErrorCode, Http2StreamError
from mockkube.apiserver.http2.frames import WINDOW_LIMIT, encode_window_update
from mockkube.apiserver.http2.header_encoder import encode_response_headers, encode_status
from mockkube.apiserver.http2.request_body import RequestBody
from mockkube.apiserver.http2.request_head import RequestHead

if TYPE_CHECKING:
    from mockkube.apiserver.http2.connection import Http2Connection

# Bytes of a request body that the client may send before the handler reads.
# upstream 1.36: apiserver/pkg/server/secure_serving.go, resourceBody99Percentile
RECEIVE_WINDOW: Final = 256 << 10
CREDIT_BYTES_MIN: Final = RECEIVE_WINDOW // 4
# A response that waits for credit is ended unless it can send at least so much in this time.
STALL_SECONDS_MAX: Final = 30.0
STALL_BYTES_MIN: Final = 1024
# Handlers of these methods change nothing, so they end with their stream; others complete their write.
_CANCELLED_METHODS: Final = frozenset(("GET", "HEAD"))


class Http2Stream:
    """Stream of one request; to aiohttp it is the protocol and the transport of that request."""

    __slots__ = (
        "_body_left", "_connection", "_credit_owed", "_is_paused", "_needs_window", "_output", "_receive_window",
        "_waiter", "body", "handler_task", "is_closed", "is_remote_closed", "method", "request", "send_window",
        "stream_id",
    )  # fmt: skip

    def __init__(self, connection: "Http2Connection", stream_id: int, head: RequestHead, send_window: int) -> None:
        self._connection = connection
        self._output = connection.output
        self.stream_id = stream_id
        self.method = head.message.method
        self.send_window = send_window
        self.body: RequestBody | None = None
        self.request: Http2Request | None = None
        self.handler_task: asyncio.Task[None] | None = None
        self.is_closed = False
        """True if no frame may be sent any more."""
        self.is_remote_closed = True
        """True if the client has sent everything."""
        self._body_left: int | None = None
        self._receive_window = RECEIVE_WINDOW
        self._credit_owed = 0
        self._is_paused = False
        self._needs_window = False
        self._waiter: asyncio.Future[None] | None = None

    # What aiohttp asks the protocol of a request.

    @property
    def transport(self) -> "Http2Stream | None":
        """Open stream."""
        return None if self.is_closed else self

    @property
    def connected(self) -> bool:
        """True while the stream is open."""
        return not self.is_closed

    @property
    def ssl_context(self) -> ssl.SSLContext | None:
        """TLS context of the connection."""
        return self._connection.ssl_context

    @property
    def peername(self) -> Any:
        """Address of the client."""
        return self._connection.peername

    @property
    def sockname(self) -> Any:
        """Address of the server."""
        return self._connection.sockname

    @property
    def _reading_paused(self) -> bool:
        return self._is_paused

    def pause_reading(self) -> None:
        """Return no credit to the client until the handler has read."""
        self._is_paused = True

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Return the credit that was held back."""
        self._is_paused = False
        self._return_credit()

    # What the API server asks the transport of a request.

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information about the connection, like the client's certificate."""
        return self._connection.get_extra_info(name, default)

    def is_closing(self) -> bool:
        """Return whether the stream is closed."""
        return self.is_closed

    def close(self) -> None:
        """End the stream, whether the response is complete or not."""
        self.reset(ErrorCode.NO_ERROR)

    def abort(self) -> None:
        """Break the stream off, as a broken connection would."""
        self.reset(ErrorCode.INTERNAL_ERROR)

    # The request.

    def open_body(self, head: RequestHead) -> None:
        """Expect a body."""
        self.is_remote_closed = False
        self._body_left = head.content_length
        on_first_read = self._send_continue if head.expects_continue else None
        self.body = RequestBody(cast(BaseProtocol, self), self._connection.loop, on_first_read)

    def receive_data(self, data: bytes, frame_bytes: int, *, end: bool) -> None:
        """Take a part of the body; `frame_bytes` is its size with the padding."""
        assert self.body is not None
        self._receive_window -= frame_bytes
        if self._receive_window < 0:
            raise Http2StreamError(self.stream_id, ErrorCode.FLOW_CONTROL_ERROR, "more data than the window allows")
        if self._body_left is not None:
            self._body_left -= len(data)
            if self._body_left < 0:
                raise Http2StreamError(self.stream_id, ErrorCode.PROTOCOL_ERROR, "more data than content-length")
        self._credit_owed += frame_bytes
        if data and self.body.exception() is None:
            self.body.feed_data(data)
        if end:
            self.end_body()
        elif not self._is_paused:
            self._return_credit()

    def end_body(self) -> None:
        """Note that the client has sent everything."""
        assert self.body is not None
        self.is_remote_closed = True
        if self._body_left:
            self.body.set_exception(web.RequestPayloadError("less data than content-length"))
        else:
            self.body.feed_eof()
        self._return_credit()

    def _return_credit(self) -> None:
        """Let the client send as much as it has sent."""
        owed = self._credit_owed
        is_open = not self.is_closed and not self.is_remote_closed
        # Small parts are collected: a frame per part would cost more than the part.
        if is_open and owed < CREDIT_BYTES_MIN:
            return
        self._credit_owed = 0
        self._connection.return_credit(owed)
        if is_open:
            self._receive_window += owed
            self._output.send_control(encode_window_update(self.stream_id, owed))

    def _send_continue(self) -> None:
        if not self.is_closed and not self.is_remote_closed:
            self._output.send_head(self.stream_id, encode_status(100), end=False)

    # The response.

    def receive_credit(self, increment: int) -> None:
        """Let the response send more."""
        if increment == 0:
            raise Http2StreamError(self.stream_id, ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE by nothing")
        self.send_window += increment
        if self.send_window > WINDOW_LIMIT:
            raise Http2StreamError(self.stream_id, ErrorCode.FLOW_CONTROL_ERROR, "a window that is too large")
        self.wake()

    def encode_response_headers(self, status: int, headers: CIMultiDict[str]) -> bytes:
        """Return the header block; GOAWAY goes first if the connection ends with this response."""
        if headers.get("Connection", "").lower() == "close" or (self.request and self.request.ends_connection):
            self._connection.go_away()
        return encode_response_headers(status, headers)

    def send_head(self, block: bytes) -> None:
        """Send the header block of a response whose body follows."""
        self._check_open()
        self._output.send_head(self.stream_id, block, end=False)

    async def send(self, head: bytes | None, data: bytes | bytearray | memoryview, *, end: bool) -> None:
        """Send a part of the response, waiting for the connection and for credit of the client."""
        # hot: per response and per watch event
        output = self._output
        while output.is_paused and not self.is_closed:
            self._needs_window = False
            await self._wait(self._connection.loop.time() + STALL_SECONDS_MAX)
        self._check_open()
        self._connection.blocked.pop(self, None)
        size = len(data)
        if size > output.frame_bytes_max or size > self.send_window or size > output.window:
            if head is not None:
                output.send_head(self.stream_id, head, end=False)
            await self._send_parts(memoryview(data), end=end)
        else:
            self.send_window -= size
            output.send_message(self.stream_id, head, data, end=end)
        if end:
            self._end()
        if self._connection.blocked:
            self._connection.wake_blocked()

    async def _send_parts(self, data: memoryview, *, end: bool) -> None:
        """Send data that does not fit into one frame or the present windows."""
        output, position, size = self._output, 0, len(data)
        ends_at, progress_at = 0.0, 0
        while position < size:
            room = min(self.send_window, output.window, output.frame_bytes_max)
            if output.is_paused or room <= 0:
                # Credit byte by byte is none: it would keep the data for as long as the client likes.
                if not ends_at or position - progress_at >= STALL_BYTES_MIN:
                    ends_at, progress_at = self._connection.loop.time() + STALL_SECONDS_MAX, position
                self._needs_window = True
                await self._wait(ends_at)
                self._check_open()
                continue
            part = data[position : position + room]
            position += len(part)
            self.send_window -= len(part)
            self._connection.blocked.pop(self, None)
            output.send_message(self.stream_id, None, part, end=end and position == size)

    async def _wait(self, ends_at: float) -> None:
        """Wait until the connection or the window may have room; reset the stream at a time of the event loop.

        The stream is also reset if the handler gives up: a part of its data may have been sent, and no other data can
        follow that.
        """
        connection = self._connection
        self._waiter = waiter = connection.loop.create_future()
        # A stream that was woken and found no room keeps its place; one that could send something waits behind others.
        connection.blocked.setdefault(self)
        connection.wake_blocked()
        try:
            async with asyncio.timeout_at(ends_at):
                await waiter
        except TimeoutError as error:
            self.reset(ErrorCode.CANCEL)
            raise ClientConnectionResetError("the client does not read") from error
        except asyncio.CancelledError:
            self.reset(ErrorCode.CANCEL)
            raise
        finally:
            self._waiter = None

    @property
    def can_send(self) -> bool:
        """True unless the stream waits for credit of its own."""
        return self.send_window > 0 or not self._needs_window

    def wake(self) -> None:
        """Let a waiting response look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _check_open(self) -> None:
        if self.is_closed:
            raise ClientConnectionResetError("the stream is closed")

    def _end(self) -> None:
        """Close the stream after the last frame of the response."""
        if not self.is_remote_closed:
            # The response does not need the rest of the body: the client should not go on sending it.
            self._connection.send_rst_stream(self.stream_id, ErrorCode.NO_ERROR)
        self._close()

    # Both.

    def reset(self, code: ErrorCode) -> None:
        """End the stream with an error."""
        if not self.is_closed:
            self._connection.send_rst_stream(self.stream_id, code)
            self._close()

    def _close(self) -> None:
        self.is_closed = True
        if self in self._connection.blocked:
            del self._connection.blocked[self]
            self._connection.wake_blocked()
        self._connection.forget_stream(self)
        if self.body is not None:
            # Unread data counts against the connection, which other streams share.
            self._return_credit()
        self.wake()

    def cancel(self, reason: str) -> None:
        """End the stream because the client has reset it or is gone."""
        if self.is_closed:
            return
        self._close()
        if self.body is not None and not self.is_remote_closed:
            self.body.set_exception(ClientConnectionResetError(reason))
        if self.method in _CANCELLED_METHODS and self.handler_task is not None:
            self.handler_task.cancel()
