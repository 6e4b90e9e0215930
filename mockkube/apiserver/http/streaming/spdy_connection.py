"""SPDY/3.1 connections: streams that a client opens, over an upgraded connection or inside a WebSocket."""

# upstream 1.36: k8s.io/streaming/pkg/httpstream/spdy, github.com/moby/spdystream
import asyncio
from collections.abc import Mapping
from typing import Any, Final, Protocol

from multidict import CIMultiDict

from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.streaming import websocket_streams
from mockkube.apiserver.http.streaming.spdy_frames import (
    ControlFrame,
    DataFrame,
    FrameDecoder,
    FrameEncoder,
    FrameType,
    MalformedFrame,
)
from mockkube.apiserver.http.streaming.streams import IDLE_SECONDS_MAX, WRITE_SECONDS_MAX, ClientGone
from mockkube.lazy_dataclasses import dataclass

PROTOCOL: Final = "SPDY/3.1"
VERSION_HEADER: Final = "X-Stream-Protocol-Version"
STREAMS_MAX: Final = 1000
"""Streams that a client may have open."""
_QUEUED_MAX: Final = 64
_CANCEL: Final = 5


class ByteConnection(Protocol):
    """Bytes of a connection, in both directions."""

    async def read(self) -> bytes:
        """Return the next bytes; raise ClientGone if none will follow."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes; raise ClientGone if the client is gone or does not read."""
        ...


class UpgradedConnection:
    """Connection whose bytes are no HTTP any more after the response 101."""

    def __init__(self, response: web.StreamResponse, protocol: web.RequestHandler) -> None:
        self._response, self._protocol = response, protocol
        self._parts: asyncio.Queue[bytes] = asyncio.Queue()

    # aiohttp calls these two with what the client sends.

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Take bytes of the client; a client that sends faster than it is served has to wait."""
        self._parts.put_nowait(bytes(data))
        if self._parts.qsize() >= _QUEUED_MAX:
            self._protocol.pause_reading()
        return False, b""

    def feed_eof(self) -> None:
        """Take the end of the connection."""
        self._parts.put_nowait(b"")

    async def read(self) -> bytes:
        """Return the next bytes."""
        try:
            async with asyncio.timeout(IDLE_SECONDS_MAX):
                data = await self._parts.get()
        except TimeoutError as error:
            raise ClientGone from error
        if not data:
            raise ClientGone
        if self._parts.qsize() < _QUEUED_MAX:
            self._protocol.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        try:
            async with asyncio.timeout(WRITE_SECONDS_MAX):
                await self._response.write(data)
        except (ConnectionError, TimeoutError) as error:
            raise ClientGone from error


class TunneledConnection:
    """Connection whose bytes travel in the messages of a WebSocket."""

    def __init__(self, websocket: web.WebSocketResponse) -> None:
        self._websocket = websocket

    async def read(self) -> bytes:
        """Return the next message."""
        return await websocket_streams.receive_data(self._websocket)

    async def write(self, data: bytes) -> None:
        """Send a message."""
        await websocket_streams.send_data(self._websocket, data)


def get_requested_protocols(request: web.BaseRequest) -> list[str]:
    """Return the stream protocols that a SPDY client offers, in its order."""
    values = ",".join(request.headers.getall(VERSION_HEADER, []))
    return [name.strip() for name in values.split(",") if name.strip()]


async def upgrade(
    context: RequestContext, supported: tuple[str, ...]
) -> tuple[web.StreamResponse, UpgradedConnection | None, str]:
    """Upgrade a connection to SPDY; without a connection, the response refuses it."""
    request = context.request
    if request.headers.get("Upgrade", "").lower() != PROTOCOL.lower() or not isinstance(
        request.protocol, web.RequestHandler
    ):
        why = f"unable to upgrade: missing upgrade headers in request: the server speaks WebSocket and {PROTOCOL}"
        return websocket_streams.refuse_upgrade(context, why), None, ""
    requested = get_requested_protocols(request)
    if not requested:
        why = f"unable to upgrade: header {VERSION_HEADER} does not exist in request"
        return websocket_streams.refuse_upgrade(context, why), None, ""
    chosen = next((name for name in requested if name in supported), "")
    if not chosen:
        why = (
            "unable to upgrade: unable to negotiate protocol: "
            f"client supports [{' '.join(requested)}], server accepts [{' '.join(supported)}]"
        )
        refused = websocket_streams.refuse_upgrade(context, why, status=403)
        refused.headers.extend([("X-Accepted-Stream-Protocol-Versions", name) for name in supported])
        return refused, None, ""
    headers = CIMultiDict({"Connection": "Upgrade", "Upgrade": PROTOCOL, VERSION_HEADER: chosen})
    response = web.StreamResponse(status=101, headers=headers)
    response.force_close()
    connection = UpgradedConnection(response, request.protocol)
    parser: Any = connection
    request.protocol.set_parser(parser)
    await context.prepare(response)
    return response, connection, chosen


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """Event of one stream: it was opened, brought data, or ended."""

    stream: int
    opened: Mapping[str, str] | None = None
    data: bytes = b""
    is_end: bool = False


class SpdyConnection:
    """Server side of a SPDY connection."""

    def __init__(self, connection: ByteConnection) -> None:
        self._connection = connection
        self._decoder, self._encoder = FrameDecoder(), FrameEncoder()
        self._events: list[StreamEvent] = []
        self._open: dict[int, None] = {}
        self._last_stream = 0
        self._writing = asyncio.Lock()

    async def receive(self) -> StreamEvent:
        """Return the next event of a stream; raise ClientGone if none will follow."""
        while not self._events:
            try:
                frames = self._decoder.feed(await self._connection.read())
            except MalformedFrame as error:
                raise ClientGone from error
            for frame in frames:
                await self._handle(frame)
        return self._events.pop(0)

    async def _handle(self, frame: DataFrame | ControlFrame) -> None:
        if isinstance(frame, DataFrame):
            if frame.stream in self._open:
                self._events.append(StreamEvent(frame.stream, data=frame.data, is_end=frame.is_last))
            return
        match frame.type:
            case FrameType.SYN_STREAM:
                if frame.stream in self._open or len(self._open) >= STREAMS_MAX:
                    raise ClientGone
                self._open[frame.stream] = None
                self._last_stream = frame.stream
                self._events.append(StreamEvent(frame.stream, opened=frame.headers, is_end=frame.is_last))
            case FrameType.RST_STREAM:
                if self._open.pop(frame.stream, 0) is None:
                    self._events.append(StreamEvent(frame.stream, is_end=True))
            case FrameType.PING:
                # The ids of a client's pings are odd; even ones answer pings of the server, which sends none.
                if frame.stream % 2:
                    await self._write(self._encoder.encode_control(FrameType.PING, frame.stream))
            case FrameType.GOAWAY:
                raise ClientGone

    async def accept(self, stream: int) -> None:
        """Accept a stream that the client opened."""
        # The compressor has a state, so header blocks must be sent in the order in which they were encoded.
        async with self._writing:
            await self._connection.write(self._encoder.encode_headers(FrameType.SYN_REPLY, stream, {}))

    async def write(self, stream: int, data: bytes, *, is_last: bool = False) -> None:
        """Send data on a stream."""
        await self._write(self._encoder.encode_data(stream, data, is_last=is_last))

    async def reset(self, stream: int) -> None:
        """End a stream in both directions."""
        if self._open.pop(stream, 0) is None:
            await self._write(self._encoder.encode_control(FrameType.RST_STREAM, stream, _CANCEL))

    def forget(self, stream: int) -> None:
        """Stop counting a stream that both sides have ended."""
        self._open.pop(stream, None)

    async def go_away(self) -> None:
        """Announce the end of the connection."""
        await self._write(self._encoder.encode_control(FrameType.GOAWAY, self._last_stream, 0))

    async def _write(self, data: bytes) -> None:
        async with self._writing:
            await self._connection.write(data)
