"""Client side of HTTP/2 (RFC 9113) for gRPC: streams that send one body or several, and receive until their end."""

import asyncio
import struct
from asyncio import Event as AsyncEvent
from asyncio import get_running_loop
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, Protocol, cast

from hpack import Decoder, HPACKError

DATA: Final = 0x0
HEADERS: Final = 0x1
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

ACK: Final = 0x1
END_STREAM: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITY: Final = 0x20

SETTINGS_HEADER_TABLE_SIZE: Final = 0x1
SETTINGS_ENABLE_PUSH: Final = 0x2
SETTINGS_MAX_CONCURRENT_STREAMS: Final = 0x3
SETTINGS_INITIAL_WINDOW_SIZE: Final = 0x4
SETTINGS_MAX_FRAME_SIZE: Final = 0x5

CANCEL: Final = 0x8
WINDOW_DEFAULT: Final = (1 << 16) - 1
WINDOW_MAX: Final = (1 << 31) - 1
STREAM_ID_MAX: Final = (1 << 31) - 1
FRAME_BYTES_MAX: Final = 1 << 14
# Received bytes after which the peer may send as many again. What arrives is handled at once, so nothing piles up.
_REPLENISH_BYTES: Final = 1 << 30
# Largest block of response headers.
_HEADER_BLOCK_BYTES_MAX: Final = 64 * 1024
# Header blocks of responses that are remembered with their fields.
_KNOWN_BLOCKS_MAX: Final = 64

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADER: Final = struct.Struct(">HBBBI")
_HEADER_BYTES: Final = _HEADER.size
_SETTING: Final = struct.Struct(">HI")
_NUMBER: Final = struct.Struct(">I")

HeaderFields = Mapping[bytes, bytes]


class Http2Error(Exception):
    """Peer that violates HTTP/2."""


class Stream(Protocol):
    """Receiver of what arrives on one stream."""

    def receive_headers(self, fields: HeaderFields) -> None:
        """Take response headers or trailers."""

    def receive_data(self, data: bytes) -> None:
        """Take a part of the response body."""

    def end(self, reason: str) -> None:
        """Take the end of the response; the reason is empty if it is complete."""


class _Sending:
    """Bytes that a stream still has to send."""

    __slots__ = ("ends", "parts", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.parts: deque[bytes] = deque()
        self.ends = False


class Http2Connection(asyncio.Protocol):
    """HTTP/2 connection to a server. All that is sent in one turn of the event loop goes out together."""

    def __init__(self) -> None:
        self.closed = AsyncEvent()
        self.lost = AsyncEvent()  # also the transport has ended
        self.reason = ""
        self.heard = True  # whether anything has arrived since this was set to False
        self._transport: asyncio.Transport
        self._rest = bytearray()
        self._unsent: list[bytes] = []
        self._streams: dict[int, Stream] = {}
        self._sending: dict[int, _Sending] = {}
        self._waiting: deque[tuple[Stream, bytes, bytes, bool]] = deque()
        self._next_stream_id = 1
        self._streams_max = WINDOW_MAX
        self._window = WINDOW_DEFAULT
        self._stream_window = WINDOW_DEFAULT
        self._received: dict[int, int] = {0: 0}  # bytes since the window was replenished, by stream
        self._decoder = Decoder()
        self._known_blocks: dict[bytes, HeaderFields] = {}
        self._block: tuple[int, int, bytes] | None = None  # stream, flags and beginning of an incomplete header block

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the preface."""
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        # Without a dynamic table equal header blocks have equal fields, and are decoded once.
        settings = (
            (SETTINGS_HEADER_TABLE_SIZE, 0),
            (SETTINGS_ENABLE_PUSH, 0),
            (SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_MAX),
        )
        payload = b"".join(_SETTING.pack(name, value) for name, value in settings)
        window = _NUMBER.pack(WINDOW_MAX - WINDOW_DEFAULT)
        self._send(_PREFACE + encode_frame(SETTINGS, 0, 0, payload) + encode_frame(WINDOW_UPDATE, 0, 0, window))

    def connection_lost(self, exc: Exception | None) -> None:
        """End all streams."""
        self.lost.set()
        self.fail("the connection broke" + (f": {exc}" if exc else ""))

    def eof_received(self) -> bool:
        """Close the connection."""
        return False

    def close(self, reason: str) -> None:
        """End all streams and close the connection."""
        self.fail(reason)
        self._transport.abort()

    def fail(self, reason: str) -> None:
        """End all streams, once."""
        if self.closed.is_set():
            return
        self.reason = reason
        self.closed.set()
        streams = [*self._streams.values(), *(stream for stream, *_ in self._waiting)]
        self._streams.clear()
        self._sending.clear()
        self._waiting.clear()
        for stream in streams:
            stream.end(reason)

    @property
    def open_streams(self) -> int:
        """Number of streams that have not ended, including those that wait to be opened."""
        return len(self._streams) + len(self._waiting)

    def open(self, stream: Stream, headers: bytes, body: bytes, *, ends: bool) -> None:
        """Open a stream with an encoded header block and a body; it may send more unless this `ends` it."""
        assert not self.closed.is_set()
        if len(self._streams) >= self._streams_max:
            self._waiting.append((stream, headers, body, ends))
            return
        stream_id = self._next_stream_id
        if stream_id > STREAM_ID_MAX:
            self.close("it has used up its stream identifiers")
            return
        self._next_stream_id += 2
        self._streams[stream_id] = stream
        self._send(encode_frame(HEADERS, END_HEADERS, stream_id, headers))
        size = len(body)
        if ends and size <= FRAME_BYTES_MAX and size <= self._window and size <= self._stream_window:
            # The usual case: a request that fits into one frame.
            self._window -= size
            self._send(encode_frame(DATA, END_STREAM, stream_id, body))
            return
        sending = self._sending[stream_id] = _Sending(self._stream_window)
        sending.parts.append(body)
        sending.ends = ends
        self._send_body(stream_id, sending)

    def reset(self, stream: Stream) -> None:
        """Cancel a stream; nothing of it is received any more."""
        for stream_id, other in self._streams.items():
            if other is stream:
                self._remove(stream_id)
                self._send(encode_frame(RST_STREAM, 0, stream_id, _NUMBER.pack(CANCEL)))
                return
        self._waiting = deque(item for item in self._waiting if item[0] is not stream)

    def ping(self) -> None:
        """Ask the peer for a sign of life."""
        self._send(encode_frame(PING, 0, 0, bytes(8)))

    def data_received(self, data: bytes) -> None:  # hot: everything that arrives
        """Handle the frames that are complete."""
        if self.closed.is_set():
            return
        self.heard = True
        # Nearly always whole frames arrive; only what is left of one is copied.
        if self._rest:
            self._rest += data
            data = bytes(self._rest)
            self._rest.clear()
        offset, end = 0, len(data)
        try:
            while end - offset >= _HEADER_BYTES:
                high, low, kind, flags, stream_id = _HEADER.unpack_from(data, offset)
                size = high << 8 | low
                if size > FRAME_BYTES_MAX:
                    raise Http2Error(f"frame of {size} bytes")
                if offset + _HEADER_BYTES + size > end:
                    break
                start, offset = offset + _HEADER_BYTES, offset + _HEADER_BYTES + size
                self._handle(kind, flags, stream_id & STREAM_ID_MAX, data[start:offset])
                if self.closed.is_set():
                    return
        except (Http2Error, HPACKError, struct.error, IndexError) as error:
            self.close(f"the server violates HTTP/2: {error}")
            return
        if offset < end:
            self._rest += data[offset:]

    def _handle(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if self._block is not None and kind != CONTINUATION:
            raise Http2Error("header block that is not continued")
        match kind:
            case 0x0:  # DATA
                self._handle_data(flags, stream_id, payload)
            case 0x1:  # HEADERS
                payload = _strip_padding(payload) if flags & PADDED else payload
                self._handle_block(stream_id, flags, payload[5:] if flags & PRIORITY else payload)
            case 0x3:  # RST_STREAM
                code = _NUMBER.unpack(payload)[0]
                if (stream := self._remove(stream_id)) is not None:
                    stream.end(f"the server has reset the stream with code {code}")
            case 0x4 if not flags & ACK:  # SETTINGS
                self._apply_settings(_SETTING.iter_unpack(payload))
                self._send(encode_frame(SETTINGS, ACK, 0, b""))
            case 0x6 if not flags & ACK:  # PING
                self._send(encode_frame(PING, ACK, 0, payload))
            case 0x7:  # GOAWAY
                self.close(f"the server closes the connection: {payload[8:80].decode(errors='replace') or 'GOAWAY'}")
            case 0x8:  # WINDOW_UPDATE
                self._widen(stream_id, _NUMBER.unpack(payload)[0] & WINDOW_MAX)
            case 0x9:  # CONTINUATION
                if self._block is None or self._block[0] != stream_id:
                    raise Http2Error("unexpected CONTINUATION")
                _, first_flags, beginning = self._block
                self._block = None
                self._handle_block(stream_id, first_flags | flags & END_HEADERS, beginning + payload)
            case 0x5:  # PUSH_PROMISE
                raise Http2Error("unexpected PUSH_PROMISE")
            case _:
                return

    def _handle_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        self._count_received(0, len(payload))
        if flags & PADDED:
            payload = _strip_padding(payload)
        stream = self._streams.get(stream_id)
        if stream is None:
            return  # it has been reset
        if flags & END_STREAM:
            self._remove(stream_id)
        else:
            self._count_received(stream_id, len(payload))
        if payload:
            stream.receive_data(payload)
        if flags & END_STREAM:
            stream.end("")

    def _handle_block(self, stream_id: int, flags: int, block: bytes) -> None:
        if not flags & END_HEADERS:
            if len(block) > _HEADER_BLOCK_BYTES_MAX:
                raise Http2Error("header block that is too large")
            self._block = (stream_id, flags, block)
            return
        fields = self._decode(block)
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        if flags & END_STREAM:
            self._remove(stream_id)
        stream.receive_headers(fields)
        if flags & END_STREAM:
            stream.end("")

    def _decode(self, block: bytes) -> HeaderFields:
        fields = self._known_blocks.get(block)
        if fields is not None:
            return fields
        fields = {_to_bytes(name): _to_bytes(value) for name, value in self._decoder.decode(block, raw=True)}
        # A server that does not comply with the table size of 0 gives blocks another meaning each time.
        if self._decoder.header_table_size == 0 and len(self._known_blocks) < _KNOWN_BLOCKS_MAX:
            self._known_blocks[block] = fields
        return fields

    def _remove(self, stream_id: int) -> Stream | None:
        stream = self._streams.pop(stream_id, None)
        self._sending.pop(stream_id, None)
        self._received.pop(stream_id, None)
        if stream is not None:
            self._open_waiting()
        return stream

    def _open_waiting(self) -> None:
        while self._waiting and len(self._streams) < self._streams_max:
            stream, headers, body, ends = self._waiting.popleft()
            self.open(stream, headers, body, ends=ends)

    def _apply_settings(self, settings: Iterable[tuple[int, int]]) -> None:
        for name, value in settings:
            if name == SETTINGS_MAX_CONCURRENT_STREAMS:
                self._streams_max = value
                self._open_waiting()
            elif name == SETTINGS_INITIAL_WINDOW_SIZE:
                if value > WINDOW_MAX:
                    raise Http2Error("window that is too large")
                change, self._stream_window = value - self._stream_window, value
                for stream_id, sending in list(self._sending.items()):
                    sending.window += change
                    self._send_body(stream_id, sending)

    def _widen(self, stream_id: int, increment: int) -> None:
        """Widen the window of a stream, or of the connection for 0, and send what waits for it."""
        if stream_id:
            if (sending := self._sending.get(stream_id)) is not None:
                sending.window += increment
                self._send_body(stream_id, sending)
            return
        self._window += increment
        for other_id, sending in list(self._sending.items()):
            if self._window <= 0:
                return
            self._send_body(other_id, sending)

    def _send_body(self, stream_id: int, sending: _Sending) -> None:
        """Send what the windows allow of a stream's body."""
        parts = sending.parts
        while parts:
            part = parts.popleft()
            size = min(len(part), FRAME_BYTES_MAX, sending.window, self._window)
            if size <= 0 and part:
                parts.appendleft(part)
                return
            if size < len(part):
                parts.appendleft(part[size:])
            sending.window -= size
            self._window -= size
            last = sending.ends and not parts
            self._send(encode_frame(DATA, END_STREAM if last else 0, stream_id, part[:size]))
        if sending.ends:
            self._sending.pop(stream_id, None)

    def _count_received(self, stream_id: int, size: int) -> None:
        received = self._received.get(stream_id, 0) + size
        if received >= _REPLENISH_BYTES:
            self._send(encode_frame(WINDOW_UPDATE, 0, stream_id, _NUMBER.pack(received)))
            received = 0
        self._received[stream_id] = received

    def _send(self, data: bytes) -> None:
        if not self._unsent:
            get_running_loop().call_soon(self._flush)
        self._unsent.append(data)

    def _flush(self) -> None:
        if not self.closed.is_set() and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()


def encode_frame(kind: int, flags: int, stream_id: int, payload: bytes) -> bytes:
    """Return a frame."""
    size = len(payload)
    return _HEADER.pack(size >> 8, size & 0xFF, kind, flags, stream_id) + payload


def encode_headers(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a header block that uses no tables (RFC 7541, section 6.2.2)."""
    return b"".join(b"\0" + _encode_text(name) + _encode_text(value) for name, value in fields)


def _encode_text(text: bytes) -> bytes:
    size = len(text)
    if size < 0x7F:
        return bytes((size,)) + text
    size -= 0x7F
    length = bytearray(b"\x7f")
    while size >= 0x80:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    length.append(size)
    return bytes(length) + text


def _strip_padding(payload: bytes) -> bytes:
    if payload[0] >= len(payload):
        raise Http2Error("padding that is larger than its frame")
    return payload[1 : len(payload) - payload[0]]


def _to_bytes(text: bytes | str) -> bytes:
    return text.encode("latin-1") if isinstance(text, str) else text
