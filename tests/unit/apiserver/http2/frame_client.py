"""A client of HTTP/2 that writes frames as it likes."""

import asyncio
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hpack import Decoder, Encoder

from mockkube.apiserver.http2 import frames
from mockkube.apiserver.http2.errors import ErrorCode

ANSWER_SECONDS_MAX: Final = 5.0
GET: Final = {":method": "GET", ":scheme": "http", ":authority": "localhost", ":path": "/"}
POST: Final = {**GET, ":method": "POST"}


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the server."""

    kind: int
    flags: int
    stream_id: int
    payload: bytes

    @property
    def number(self) -> int:
        """The number in a RST_STREAM or WINDOW_UPDATE frame."""
        return frames.decode_number(self.payload)

    @property
    def ends_stream(self) -> bool:
        return self.kind in (frames.DATA, frames.HEADERS) and bool(self.flags & frames.END_STREAM)


@dataclass(slots=True)
class Response:
    """A response, read to its end."""

    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def status(self) -> int:
        return int(self.headers[":status"])


class Client:
    """A connection; it acknowledges nothing and grants no credit unless a test does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.encoder, self.decoder = Encoder(), Decoder()
        self.seen: list[Frame] = []
        """Frames that were read while another kind was waited for."""

    def send_raw(self, data: bytes) -> None:
        self.writer.write(data)

    def greet(self, settings: Mapping[int, int] | None = None) -> None:
        """Send the preface and settings."""
        self.send_raw(frames.PREFACE + frames.encode_settings((settings or {}).items()))

    def send_frame(self, kind: int, flags: int = 0, stream_id: int = 0, payload: bytes = b"") -> None:
        self.send_raw(frames.encode_header(kind, flags, stream_id, len(payload)) + payload)

    def send_headers(
        self, stream_id: int, headers: Mapping[str, str] | list[tuple[str, str]] = GET, *, end: bool = True
    ) -> None:
        block = self.encoder.encode(list(headers.items()) if isinstance(headers, Mapping) else headers)
        self.send_frame(frames.HEADERS, frames.END_HEADERS | (frames.END_STREAM if end else 0), stream_id, block)

    def send_data(self, stream_id: int, data: bytes, *, end: bool = True) -> None:
        self.send_frame(frames.DATA, frames.END_STREAM if end else 0, stream_id, data)

    def grant(self, stream_id: int, increment: int) -> None:
        self.send_raw(frames.encode_window_update(stream_id, increment))

    async def next_frame(self) -> Frame:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            head = await self.reader.readexactly(frames.HEADER_BYTES)
            high, low, kind, flags, stream_id = frames.unpack_header(head)
            return Frame(kind, flags, stream_id, await self.reader.readexactly(high << 8 | low))

    async def wait_for(self, kind: int, stream_id: int | None = None) -> Frame:
        """The next frame of a kind; others are kept in `seen`."""
        while True:
            frame = await self.next_frame()
            if frame.kind == kind and stream_id in (None, frame.stream_id):
                return frame
            self.seen.append(frame)

    async def response(self, stream_id: int) -> Response:
        """The response on a stream; frames of other streams are kept in `seen`."""
        found = Response()
        while True:
            frame = await self.next_frame()
            if frame.stream_id != stream_id or frame.kind not in (frames.HEADERS, frames.DATA):
                assert (frame.kind, frame.stream_id) != (frames.RST_STREAM, stream_id), ErrorCode(frame.number)
                self.seen.append(frame)
                continue
            if frame.kind == frames.HEADERS:
                found.headers = dict(self.decoder.decode(frame.payload))
            else:
                found.body += frame.payload
            if frame.ends_stream:
                return found

    async def get(self, stream_id: int, path: str = "/") -> Response:
        self.send_headers(stream_id, {**GET, ":path": path})
        return await self.response(stream_id)

    async def reset_code(self, stream_id: int) -> ErrorCode:
        """The code with which the server resets a stream."""
        return ErrorCode((await self.wait_for(frames.RST_STREAM, stream_id)).number)

    async def goaway_code(self) -> ErrorCode:
        """The code with which the server ends the connection."""
        return ErrorCode(struct.unpack(">I", (await self.wait_for(frames.GOAWAY)).payload[4:8])[0])

    async def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""
