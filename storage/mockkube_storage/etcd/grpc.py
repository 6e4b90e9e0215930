"""gRPC on HTTP/2: calls with one response, and streams of messages."""

from asyncio import Future, get_running_loop
from collections.abc import Callable
from struct import Struct
from typing import Final
from urllib.parse import unquote_to_bytes

from mockkube_storage.etcd.http2 import HeaderFields, Http2Connection, encode_headers

OK: Final = 0
UNKNOWN: Final = 2
INVALID_ARGUMENT: Final = 3
PERMISSION_DENIED: Final = 7
RESOURCE_EXHAUSTED: Final = 8
OUT_OF_RANGE: Final = 11
UNAVAILABLE: Final = 14
UNAUTHENTICATED: Final = 16

_PREFIX: Final = Struct(">BI")  # whether the message is compressed, and its length
_PREFIX_BYTES: Final = _PREFIX.size
_STATUS: Final = b"grpc-status"
_MESSAGE: Final = b"grpc-message"


class GrpcError(Exception):
    """Call that failed: status code and message of the server, or UNAVAILABLE if the connection broke."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message or f"gRPC status {code}")


class _Response:
    """Status of a response, from its headers and trailers."""

    __slots__ = ("_fields", "_status")

    def __init__(self) -> None:
        self._fields: HeaderFields = {}
        self._status = b""

    def receive_headers(self, fields: HeaderFields) -> None:
        """Take headers or trailers."""
        self._status = fields.get(b":status", self._status)
        self._fields = fields

    def get_error(self, reason: str) -> GrpcError | None:
        """Return the error of a response that has ended; None if it succeeded."""
        if reason:
            return GrpcError(UNAVAILABLE, reason)
        status = self._fields.get(_STATUS)
        if status == b"0":
            return None
        if status is None or not status.isdigit():
            return GrpcError(UNKNOWN, f"no gRPC response, but HTTP status {self._status.decode(errors='replace')}")
        message = unquote_to_bytes(self._fields.get(_MESSAGE, b"")).decode(errors="replace")
        return GrpcError(int(status), message)


class _Call(_Response):
    """Call whose response is one message."""

    __slots__ = ("_parts", "answer")

    def __init__(self) -> None:
        super().__init__()
        self.answer: Future[bytes] = get_running_loop().create_future()
        self._parts: list[bytes] = []

    def receive_data(self, data: bytes) -> None:
        """Keep a part of the message."""
        self._parts.append(data)

    def end(self, reason: str) -> None:
        """Complete the call."""
        if self.answer.done():
            return
        error = self.get_error(reason)
        if error is None:
            body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            if len(body) >= _PREFIX_BYTES and _PREFIX.unpack_from(body) == (0, len(body) - _PREFIX_BYTES):
                self.answer.set_result(body[_PREFIX_BYTES:])
                return
            error = GrpcError(UNKNOWN, "invalid gRPC message")
        self.answer.set_exception(error)
        self.answer.exception()  # a caller that was cancelled does not read it


class MessageStream(_Response):
    """Stream of messages in both directions. `on_end` gets the error, or None, when the server ends it."""

    __slots__ = ("_connection", "_on_end", "_on_message", "_rest")

    def __init__(
        self,
        connection: "GrpcConnection",
        on_message: Callable[[bytes], None],
        on_end: Callable[[GrpcError | None], None],
    ) -> None:
        super().__init__()
        self._connection = connection
        self._on_message = on_message
        self._on_end = on_end
        self._rest = bytearray()

    def receive_data(self, data: bytes) -> None:  # hot: every watch event
        """Hand over the messages that are complete."""
        self._rest += data
        offset, end = 0, len(self._rest)
        while end - offset >= _PREFIX_BYTES:
            compressed, length = _PREFIX.unpack_from(self._rest, offset)
            if compressed:
                self._connection.close("the server sent a compressed message")
                return
            if offset + _PREFIX_BYTES + length > end:
                break
            start, offset = offset + _PREFIX_BYTES, offset + _PREFIX_BYTES + length
            self._on_message(bytes(self._rest[start:offset]))
        del self._rest[:offset]

    def end(self, reason: str) -> None:
        """Take the end of the stream."""
        self._on_end(self.get_error(reason))

    def cancel(self) -> None:
        """Cancel the stream; neither function is called any more."""
        self._connection.reset(self)


class GrpcConnection(Http2Connection):
    """Connection to a gRPC server."""

    def __init__(self, authority: str, *, tls: bool) -> None:
        super().__init__()
        self._common_fields = [
            (b":method", b"POST"),
            (b":scheme", b"https" if tls else b"http"),
            (b":authority", authority.encode()),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        ]
        self._headers: dict[str, bytes] = {}

    def set_metadata(self, name: str, value: str) -> None:
        """Send a metadata field with every further call."""
        self._common_fields.append((name.encode(), value.encode()))
        self._headers.clear()

    def call(self, method: str, message: bytes) -> "Future[bytes]":
        """Send a request; the future has the response, or raises GrpcError."""
        call = _Call()
        if self.closed.is_set():
            call.end(self.reason)
        else:
            self.open(call, self._get_headers(method), frame_message(message), ends=True)
        return call.answer

    def open_stream(
        self,
        method: str,
        message: bytes,
        on_message: Callable[[bytes], None],
        on_end: Callable[[GrpcError | None], None],
    ) -> MessageStream:
        """Open a stream with its first message."""
        stream = MessageStream(self, on_message, on_end)
        if self.closed.is_set():
            stream.end(self.reason)
        else:
            self.open(stream, self._get_headers(method), frame_message(message), ends=False)
        return stream

    def _get_headers(self, method: str) -> bytes:
        headers = self._headers.get(method)
        if headers is None:
            first, *others = self._common_fields
            headers = self._headers[method] = encode_headers([first, (b":path", method.encode()), *others])
        return headers


def frame_message(message: bytes) -> bytes:
    """Return a message with its prefix."""
    return _PREFIX.pack(0, len(message)) + message
