"""Streams of exec and attach over SPDY, which kubectl before 1.31 uses."""

# upstream 1.36: cri-streaming/pkg/streaming/remotecommand/httpstream.go
import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import orjson

from mockkube.api.json_objects import Object
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.streaming import channels, spdy_connection
from mockkube.apiserver.http.streaming.channels import ChannelMessage
from mockkube.apiserver.http.streaming.spdy_connection import SpdyConnection
from mockkube.apiserver.http.streaming.streams import ClientGone, StreamOptions
from mockkube.apiserver.registry.subresources.running_containers import RunningContainer

_PROTOCOLS: Final = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
_JSON_STATUS_PROTOCOL: Final = "v4.channel.k8s.io"
_RESIZE_PROTOCOLS: Final = ("v4.channel.k8s.io", "v3.channel.k8s.io")
_CREATION_SECONDS_MAX: Final = 30.0
_STREAM_TYPES: Final = {
    "stdin": channels.STDIN,
    "stdout": channels.STDOUT,
    "stderr": channels.STDERR,
    "error": channels.ERROR,
    "resize": channels.RESIZE,
}


class SpdyStreams:
    """Streams of exec or attach over one SPDY connection."""

    is_translated: Final = False

    def __init__(self, connection: SpdyConnection, protocol: str) -> None:
        self._connection, self._protocol = connection, protocol
        self._stream_by_channel: dict[int, int] = {}
        self._channel_by_stream: dict[int, int] = {}
        self._early: list[ChannelMessage] = []

    async def accept_streams(self, options: StreamOptions) -> None:
        """Wait until the client has opened all of its streams; raise ClientGone if it does not."""
        expected = 1 + options.stdin + options.stdout + options.stderr
        expected += options.tty and self._protocol in _RESIZE_PROTOCOLS
        try:
            async with asyncio.timeout(_CREATION_SECONDS_MAX):
                while len(self._stream_by_channel) < expected:
                    message = await self._receive()
                    if message is not None:
                        self._early.append(message)
        except TimeoutError as error:
            raise ClientGone from error

    async def receive(self) -> ChannelMessage:
        """Return the next message of the client."""
        while True:
            if self._early:
                return self._early.pop(0)
            message = await self._receive()
            if message is not None:
                return message

    async def _receive(self) -> ChannelMessage | None:
        event = await self._connection.receive()
        if event.opened is not None:
            channel = _STREAM_TYPES.get(event.opened.get("streamtype", ""))
            if channel is None or channel in self._stream_by_channel:
                await self._connection.reset(event.stream)
                return None
            self._stream_by_channel[channel] = event.stream
            self._channel_by_stream[event.stream] = channel
            await self._connection.accept(event.stream)
        channel = self._channel_by_stream.get(event.stream)
        if channel not in (channels.STDIN, channels.RESIZE) or not (event.data or event.is_end):
            return None
        return ChannelMessage(channel, event.data, is_close=event.is_end)

    async def write(self, channel: int, data: bytes) -> None:
        """Send data on a channel."""
        stream = self._stream_by_channel.get(channel)
        if stream is not None and data:
            await self._connection.write(stream, data)

    async def write_status(self, status: Object) -> None:
        """Send the outcome: as JSON, or, in older protocols, the message of a failure."""
        if self._protocol == _JSON_STATUS_PROTOCOL:
            await self.write(channels.ERROR, orjson.dumps(status))
        elif status["status"] != "Success":
            await self.write(channels.ERROR, status["message"].encode())

    async def close(self) -> None:
        """End all streams, then the connection."""
        for channel in (channels.STDOUT, channels.STDERR, channels.ERROR):
            stream = self._stream_by_channel.get(channel)
            if stream is not None:
                await self._connection.write(stream, b"", is_last=True)
        await self._connection.go_away()


async def serve_remote_command(
    context: RequestContext,
    options: StreamOptions,
    container: RunningContainer,
    run: Callable[[SpdyStreams, RunningContainer, StreamOptions], Awaitable[None]],
) -> web.StreamResponse:
    """Upgrade the connection to SPDY and run a session on it."""
    response, upgraded, protocol = await spdy_connection.upgrade(context, _PROTOCOLS)
    if upgraded is None:
        return response
    streams = SpdyStreams(SpdyConnection(upgraded), protocol)
    try:
        await streams.accept_streams(options)
        await run(streams, container, options)
        await streams.close()
    except ClientGone:
        pass
    return response
