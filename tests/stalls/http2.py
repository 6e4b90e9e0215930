"""An HTTP/2 connection to a server of this process without a socket, and floods of frames for it."""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from hpack import Decoder, Encoder

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))
from in_memory import Answer, MemoryTransport

from mockkube.apiserver.http2 import frames
from mockkube.apiserver.http2.connection import Http2Connection
from mockkube.apiserver.http2.errors import ErrorCode
from mockkube.apiserver.http2.stream import RECEIVE_WINDOW

# As much as asyncio's transports read from a socket at once.
READ_BYTES_MAX: Final = 256 * 1024
_STREAM: Final = 1
_LIST: Final = [(":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", "/api/v1/pods")]


class Http2MemoryConnection:
    """A connection that is used for one request, or for one flood of frames."""

    def __init__(self, connection: Http2Connection) -> None:
        self._transport = MemoryTransport()
        self._connection = connection
        self._read = 0
        connection.connection_made(self._transport)
        # So that a response never waits for credit.
        window = frames.encode_settings([(frames.SETTINGS_INITIAL_WINDOW_SIZE, frames.WINDOW_LIMIT)])
        credit = frames.encode_window_update(0, frames.WINDOW_LIMIT - frames.WINDOW_DEFAULT)
        connection.data_received(frames.PREFACE + window + credit)

    def close(self) -> None:
        """End it, as a client does that goes away."""
        self._transport.close()
        self._connection.connection_lost(None)

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a request and return its answer."""
        block = [(":method", method), (":scheme", "http"), (":authority", "localhost"), (":path", path)]
        # Without the Huffman code: encoding it would take longer than anything the server does.
        block += [(name.lower(), value) for name, value in headers.items() if name.lower() != "host"]
        self._connection.data_received(_encode_headers(_STREAM, Encoder().encode(block, huffman=False), end=not body))
        head, answer = dict[str, str](), bytearray()
        decoder, sent, credit = Decoder(), 0, RECEIVE_WINDOW
        while True:
            while sent < len(body) and credit:
                part = body[sent : sent + min(frames.FRAME_BYTES_DEFAULT, credit)]
                sent, credit = sent + len(part), credit - len(part)
                flags = frames.END_STREAM if sent == len(body) else 0
                self._connection.data_received(frames.encode_header(frames.DATA, flags, _STREAM, len(part)) + part)
            for kind, flags, payload in self._take_frames():
                if kind == frames.HEADERS:
                    head = dict(decoder.decode(payload))
                elif kind == frames.DATA:
                    answer += payload
                elif kind == frames.WINDOW_UPDATE:
                    credit += frames.decode_number(payload)
                if (kind in (frames.HEADERS, frames.DATA) and flags & frames.END_STREAM) or kind == frames.RST_STREAM:
                    return Answer(int(head.get(":status", 0)), b"", bytes(answer))
            if self._transport.is_closing():
                return Answer(0, b"", bytes(answer))
            self._transport.changed.clear()
            await self._transport.changed.wait()

    async def flood(self, name: str, count: int) -> Answer:
        """Send so many frames of a kind at once; the status is 0 if the server ended the connection."""
        sent = b"".join(FLOODS[name](count))
        for at in range(0, len(sent), READ_BYTES_MAX):
            if self._transport.is_closing():
                break
            self._connection.data_received(sent[at : at + READ_BYTES_MAX])
            await asyncio.sleep(0)
        return Answer(0 if self._transport.is_closing() else 200, b"", b"")

    def _take_frames(self) -> Sequence[tuple[int, int, bytes]]:
        """Return kind, flags and payload of the complete frames of the stream that have arrived."""
        found, written = [], self._transport.written
        while len(written) - self._read >= frames.HEADER_BYTES:
            high, low, kind, flags, stream_id = frames.unpack_header(written, self._read)
            begin = self._read + frames.HEADER_BYTES
            end = begin + (high << 8 | low)
            if end > len(written):
                break
            self._read = end
            if stream_id == _STREAM:
                found.append((kind, flags, bytes(written[begin:end])))
        return found


def _encode_headers(stream_id: int, block: bytes, *, end: bool) -> bytes:
    """Return a HEADERS frame, with as many CONTINUATION frames as the block needs."""
    size = frames.FRAME_BYTES_DEFAULT
    parts = [block[at : at + size] for at in range(0, len(block), size)] or [b""]
    encoded = b""
    for index, part in enumerate(parts):
        flags = frames.END_HEADERS if index == len(parts) - 1 else 0
        kind = frames.CONTINUATION if index else frames.HEADERS
        flags |= frames.END_STREAM if end and not index else 0
        encoded += frames.encode_header(kind, flags, stream_id, len(part)) + part
    return encoded


def _list_requests(count: int) -> list[bytes]:
    encoder = Encoder()
    return [_encode_headers(1 + 2 * index, encoder.encode(_LIST), end=True) for index in range(count)]


def _rapid_resets(count: int) -> list[bytes]:
    resets = [frames.encode_rst_stream(1 + 2 * index, ErrorCode.CANCEL) for index in range(count)]
    return [frame for pair in zip(_list_requests(count), resets, strict=True) for frame in pair]


def _continuations(count: int) -> list[bytes]:
    first = frames.encode_header(frames.HEADERS, frames.END_STREAM, _STREAM, 0)
    return [first, *([frames.encode_header(frames.CONTINUATION, 0, _STREAM, 0)] * count)]


def _small_data(count: int) -> list[bytes]:
    head = [*_LIST[1:3], (":method", "POST"), (":path", "/api/v1/namespaces/default/configmaps")]
    begin = _encode_headers(_STREAM, Encoder().encode([head[2], *head[:2], head[3]]), end=False)
    return [begin, *([frames.encode_header(frames.DATA, 0, _STREAM, 1) + b" "] * count)]


def _repeated_header(count: int) -> list[bytes]:
    # One entry of the dynamic table, referred to again and again: a small block that decodes to a large list.
    block = Encoder().encode([*_LIST, ("x-large", "x" * 3000)])
    return [_encode_headers(_STREAM, block + b"\xbe" * count, end=True)]


# By name: returns so many frames.
FLOODS: Final[Mapping[str, Callable[[int], list[bytes]]]] = {
    "pings": lambda count: [frames.encode_header(frames.PING, 0, 0, 8) + bytes(8)] * count,
    "settings": lambda count: [frames.encode_settings([(frames.SETTINGS_HEADER_TABLE_SIZE, 4096)])] * count,
    "window updates": lambda count: [frames.encode_window_update(0, 1)] * count,
    "priorities": lambda count: [frames.encode_header(frames.PRIORITY, 0, 3, 5) + bytes(5)] * count,
    "lists": _list_requests,
    "rapid resets": _rapid_resets,
    "continuations": _continuations,
    "small data": _small_data,
    "repeated header": _repeated_header,
}
