"""Reads the frames of one HTTP/2 connection: preface, incomplete frames, header blocks of several frames."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from mockkube.apiserver.http2 import frames
from mockkube.apiserver.http2.errors import ErrorCode, Http2ConnectionError
from mockkube.apiserver.http2.request_head import LIST_BYTES_MAX

# Longest frame that a client may send.
# upstream 1.36: apiserver/pkg/server/secure_serving.go, resourceBody99Percentile
FRAME_BYTES_MAX: Final = 256 << 10
# CONTINUATION frames of one header block: frames of the usual size need 16 for the largest one.
CONTINUATIONS_MAX: Final = 64
_PRIORITY_BYTES: Final = 5


class FrameHandler(Protocol):
    """Receiver of frames; either method may raise Http2ConnectionError, which ends reading."""

    def process_block(self, flags: int, stream_id: int, block: bytes, dependency: int) -> None:
        """Process a complete header block, with the stream that the client makes it depend on."""
        ...

    def process_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """Process any other frame."""
        ...


class FrameReader:
    """Cuts received bytes into frames, the first of which is SETTINGS."""

    def __init__(self, handler: FrameHandler) -> None:
        self._handler = handler
        self._preface_left = frames.PREFACE
        self._has_settings = False
        self._buffer = bytearray()
        self._bytes_needed = 0
        self._is_inside_data = False
        self._block: bytearray | None = None
        self._block_stream_id = 0
        self._block_flags = 0
        self._dependency = 0
        self._continuations = 0
        self._is_stopped = False

    @property
    def is_waiting(self) -> bool:
        """True if the client has begun a frame or header block, or not sent its settings yet.

        The rest of a DATA frame does not count: the handler that reads the body has limits of its own.
        """
        if self._is_stopped:
            return False
        return not self._has_settings or self._block is not None or (bool(self._buffer) and not self._is_inside_data)

    def stop(self) -> None:
        """Discard what has been received, and all that follows."""
        self._is_stopped = True
        self._buffer.clear()
        self._block = None

    def feed(self, data: bytes) -> None:  # hot: per read from the socket
        """Pass the frames that are complete to the handler."""
        if self._is_stopped:
            return
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < self._bytes_needed:
                return
            data = bytes(self._buffer)
            self._buffer.clear()
        self._read_frames(data, self._check_preface(data) if self._preface_left else 0)

    def _check_preface(self, data: bytes) -> int:
        """Compare received data with the preface, and return the position after it."""
        expected = self._preface_left
        count = min(len(data), len(expected))
        if data[:count] != expected[:count]:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "no HTTP/2 preface")
        self._preface_left = expected[count:]
        return count

    def _read_frames(self, data: bytes, position: int) -> None:
        end = len(data)
        while end - position >= frames.HEADER_BYTES:
            high, low, kind, flags, stream_id = frames.unpack_header(data, position)
            stream_id &= frames.STREAM_ID_MASK
            size = high << 8 | low
            if size > FRAME_BYTES_MAX:
                raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "a frame larger than allowed")
            start = position + frames.HEADER_BYTES
            position = start + size
            if position > end:
                self._keep_incomplete(kind, flags, stream_id, data[start:], size)
                return
            self._read_frame(kind, flags, stream_id, data[start:position])
            if self._is_stopped:
                return
        self._is_inside_data = False
        if position < end:
            self._bytes_needed = frames.HEADER_BYTES
            self._buffer += data[position:]

    def _keep_incomplete(self, kind: int, flags: int, stream_id: int, payload: bytes, size: int) -> None:
        """Keep the beginning of a frame; that of a DATA frame is passed on as a frame of its own.

        So a client that sends a large frame slowly makes progress, and its data is not kept twice.
        """
        self._is_inside_data = kind == frames.DATA and not flags & frames.PADDED and self._has_settings
        if self._is_inside_data and payload:
            self._read_frame(kind, flags & ~frames.END_STREAM, stream_id, payload)
            size -= len(payload)
            payload = b""
        if not self._is_stopped:
            self._buffer += frames.encode_header(kind, flags, stream_id, size) + payload
            self._bytes_needed = frames.HEADER_BYTES + (1 if self._is_inside_data else size)

    def _read_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if not self._has_settings:
            if kind != frames.SETTINGS or flags & frames.ACK:
                raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "the first frame is not SETTINGS")
            self._has_settings = True
        if (self._block is not None) != (kind == frames.CONTINUATION):
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "a header block is not complete, or has not begun")
        if kind == frames.HEADERS:
            self._read_headers(flags, stream_id, payload)
        elif kind == frames.CONTINUATION:
            self._read_continuation(flags, stream_id, payload)
        else:
            self._handler.process_frame(kind, flags, stream_id, payload)

    def _read_headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        if flags & frames.PADDED:
            payload = frames.strip_padding(payload)
        dependency = 0
        if flags & frames.HAS_PRIORITY:
            if len(payload) < _PRIORITY_BYTES:
                raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS without the priority they announce")
            dependency = frames.decode_number(payload[:4]) & frames.STREAM_ID_MASK
            payload = payload[_PRIORITY_BYTES:]
        _check_block_size(payload, 0)
        if flags & frames.END_HEADERS:
            self._handler.process_block(flags, stream_id, payload, dependency)
        else:
            self._block, self._continuations = bytearray(payload), 0
            self._block_stream_id, self._block_flags, self._dependency = stream_id, flags, dependency

    def _read_continuation(self, flags: int, stream_id: int, payload: bytes) -> None:
        assert self._block is not None
        if stream_id != self._block_stream_id:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "CONTINUATION of another stream")
        self._block += payload
        self._continuations += 1
        _check_block_size(self._block, self._continuations)
        if flags & frames.END_HEADERS:
            block, self._block = bytes(self._block), None
            self._handler.process_block(self._block_flags, stream_id, block, self._dependency)


class ProgressTimer:
    """Calls back if a client does not complete in time what it has begun."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None

    def start(self, seconds: float) -> None:
        """Start the timer unless it runs."""
        if self._handle is None:
            self._handle = self._loop.call_later(seconds, self._callback)

    def stop(self) -> None:
        """Stop the timer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def _check_block_size(block: bytes | bytearray, continuations: int) -> None:
    if len(block) > LIST_BYTES_MAX or continuations > CONTINUATIONS_MAX:
        raise Http2ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "a header block that is too large")
