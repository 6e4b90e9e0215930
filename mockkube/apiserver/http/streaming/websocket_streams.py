"""WebSocket connections of the API server: upgrade, channels of exec and attach, and plain bytes."""

import asyncio
import base64
from contextlib import suppress
from typing import Final

import orjson
from aiohttp import WSMsgType
from multidict import CIMultiDict

from mockkube.api.json_objects import Object
from mockkube.apiserver.http import web
from mockkube.apiserver.http.filters.authentication import BEARER_PROTOCOL
from mockkube.apiserver.http.requests.request_context import TEXT, RequestContext
from mockkube.apiserver.http.streaming import channels
from mockkube.apiserver.http.streaming.channels import ChannelMessage, ChannelProtocol, ProtocolViolation
from mockkube.apiserver.http.streaming.streams import IDLE_SECONDS_MAX, WRITE_SECONDS_MAX, ClientGone, StreamOptions

MESSAGE_BYTES_MAX: Final = 2 * 1024 * 1024
"""Longest message of a client."""
_CLOSE_SECONDS_MAX: Final = 2.0
BINARY_PROTOCOLS: Final = {"": False, "binary.k8s.io": False, "base64.binary.k8s.io": True}
"""Subprotocols of a log, and whether they encode it in base64."""


def is_upgrade(request: web.BaseRequest) -> bool:
    """Return whether a request asks for another protocol on its connection."""
    return "upgrade" in request.headers.get("Connection", "").lower()


def is_websocket_upgrade(request: web.BaseRequest) -> bool:
    """Return whether a request asks for a WebSocket."""
    return is_upgrade(request) and request.headers.get("Upgrade", "").lower() == "websocket"


def get_requested_protocols(request: web.BaseRequest) -> list[str]:
    """Return the subprotocols that a client offers, in its order, without one that is a token."""
    offered = channels.parse_protocols(",".join(request.headers.getall("Sec-WebSocket-Protocol", [])))
    return [one for one in offered if not one.startswith(BEARER_PROTOCOL)]


def refuse_upgrade(context: RequestContext, why: str, *, status: int = 400) -> web.StreamResponse:
    """Return the response to a request for an upgrade that is refused, after which clients fall back."""
    response = context.respond(f"{why}\n".encode(), status=status, media=TEXT)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.force_close()
    return response


def refuse_protocols(context: RequestContext, supported: list[str]) -> web.StreamResponse:
    """Return the response to a request whose subprotocols are all unknown."""
    # differs: upstream's WebSocket library answers 403 without a word.
    named = [name for name in supported if name]
    requested = get_requested_protocols(context.request)
    why = f"requested protocol(s) are not supported: [{' '.join(requested)}]; supports [{' '.join(named)}]"
    return refuse_upgrade(context, why, status=403)


async def open_websocket(context: RequestContext, protocol: str) -> web.WebSocketResponse:
    """Upgrade the connection to a WebSocket with a subprotocol."""
    response = web.WebSocketResponse(
        protocols=(protocol,) if protocol else (),
        max_msg_size=MESSAGE_BYTES_MAX,
        timeout=_CLOSE_SECONDS_MAX,
        # The bytes are small, and no client of Kubernetes asks for it.
        compress=False,
    )
    response.headers.update(CIMultiDict({"Audit-Id": context.audit_id}) if context.audit_id else {})
    await context.prepare(response)
    return response


async def receive_data(websocket: web.WebSocketResponse) -> bytes:
    """Return the next message; raise ClientGone if the connection ends or is idle for too long."""
    try:
        message = await websocket.receive(timeout=IDLE_SECONDS_MAX)
    except TimeoutError as error:
        raise ClientGone from error
    match message.type:
        case WSMsgType.BINARY:
            return bytes(message.data)
        case WSMsgType.TEXT:
            return str(message.data).encode()
    raise ClientGone


async def send_data(websocket: web.WebSocketResponse, data: bytes, *, as_text: bool = False) -> None:
    """Send one message; raise ClientGone if the client is gone or does not read."""
    try:
        async with asyncio.timeout(WRITE_SECONDS_MAX):
            await (websocket.send_str(data.decode()) if as_text else websocket.send_bytes(data))
    except (ConnectionError, TimeoutError) as error:
        raise ClientGone from error


async def close_websocket(websocket: web.WebSocketResponse) -> None:
    """Close the connection as after a normal end."""
    with suppress(ConnectionError, TimeoutError):
        await websocket.close()


class WebSocketStreams:
    """Streams of exec or attach over one WebSocket."""

    def __init__(self, websocket: web.WebSocketResponse, protocol: ChannelProtocol, options: StreamOptions) -> None:
        self._websocket, self._protocol = websocket, protocol
        self.is_translated = protocol is channels.V5_PROTOCOL
        self._written = {channels.ERROR}
        if options.stdout:
            self._written.add(channels.STDOUT)
        if options.stderr and not options.tty:
            self._written.add(channels.STDERR)
        self._reads_stdin = options.stdin

    async def greet(self) -> None:
        """Send an empty message, which tells clients that the connection stands."""
        await self.write(min(self._written), b"")

    async def receive(self) -> ChannelMessage:
        """Return the next message for a channel that the client may write to."""
        while True:
            data = await receive_data(self._websocket)
            try:
                message = channels.decode(self._protocol, data)
            except ProtocolViolation as error:
                raise ClientGone from error
            if message is None:
                continue
            if message.channel == channels.RESIZE or (message.channel == channels.STDIN and self._reads_stdin):
                return message

    async def write(self, channel: int, data: bytes) -> None:
        """Send data on a channel; what the client did not ask for is dropped."""
        if channel in self._written:
            encoded = channels.encode(self._protocol, channel, data)
            await send_data(self._websocket, encoded, as_text=self._protocol.is_base64)

    async def write_status(self, status: Object) -> None:
        """Send the outcome: as JSON, or, in older protocols, the message of a failure."""
        if self._protocol.has_json_status:
            await self.write(channels.ERROR, orjson.dumps(status))
        elif status["status"] != "Success":
            await self.write(channels.ERROR, status["message"].encode())

    async def close(self) -> None:
        """Close the WebSocket."""
        await close_websocket(self._websocket)


class ChannelOutput:
    """Channels of a WebSocket that the server only writes to."""

    def __init__(self, websocket: web.WebSocketResponse, *, is_base64: bool) -> None:
        self._websocket = websocket
        self._protocol = ChannelProtocol("", is_base64=is_base64)

    async def write(self, channel: int, data: bytes) -> None:
        """Send data on a channel."""
        encoded = channels.encode(self._protocol, channel, data)
        await send_data(self._websocket, encoded, as_text=self._protocol.is_base64)


class WebSocketBytes:
    """Bytes to a client that only reads, like those of a log."""

    def __init__(self, websocket: web.WebSocketResponse, *, is_base64: bool) -> None:
        self._websocket, self._is_base64 = websocket, is_base64

    async def write(self, data: bytes) -> None:
        """Send bytes as one message."""
        encoded = base64.b64encode(data) if self._is_base64 else data
        await send_data(self._websocket, encoded, as_text=self._is_base64)

    async def wait_closed(self) -> None:
        """Return once the client has closed the connection; what it sends is ignored."""
        try:
            while True:
                await receive_data(self._websocket)
        except ClientGone:
            return
