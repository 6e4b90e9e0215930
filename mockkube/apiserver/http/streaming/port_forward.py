"""Port-forward: each connection of a client gets an answer of the pod's simulated network, which has none."""

# upstream 1.36: cri-streaming/pkg/streaming/portforward/httpstream.go, apiserver/pkg/util/proxy/streamtunnel.go
from collections.abc import Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.streaming import spdy_connection, websocket_streams
from mockkube.apiserver.http.streaming.channels import TUNNEL_PREFIX
from mockkube.apiserver.http.streaming.spdy_connection import SpdyConnection, StreamEvent, TunneledConnection
from mockkube.apiserver.http.streaming.streams import ClientGone

PROTOCOL: Final = "portforward.k8s.io"
_PORT_MAX: Final = 65_535
_PORTS_MAX: Final = 64
"""Ports of one request, whose channels fit into a byte."""
_STREAM_TYPES: Final = ("data", "error")


class PortForwarder:
    """Answers connections to ports of one pod."""

    def __init__(self, pod: ReadOnlyObject) -> None:
        self._pod = pod

    def refuse(self, port: int) -> str:
        """Return the error of a connection to a port."""
        metadata = self._pod["metadata"]
        return (
            f"error forwarding port {port} to pod {metadata['name']}, uid {metadata['uid']}: connection refused: "
            f"mockkube simulates no network traffic, so nothing listens on port {port} of the pod"
        )


async def serve_spdy(context: RequestContext, ports: PortForwarder) -> web.StreamResponse:
    """Upgrade the connection to SPDY and answer its connections to ports."""
    response, upgraded, _ = await spdy_connection.upgrade(context, (PROTOCOL,))
    if upgraded is not None:
        await _serve_connections(SpdyConnection(upgraded), ports)
    return response


async def serve_tunnel(context: RequestContext, tunnels: list[str], ports: PortForwarder) -> web.StreamResponse:
    """Upgrade the connection to a WebSocket that carries SPDY, and answer its connections to ports."""
    wanted = f"{TUNNEL_PREFIX}{PROTOCOL}"
    if wanted not in tunnels:
        return websocket_streams.refuse_protocols(context, [wanted])
    websocket = await websocket_streams.open_websocket(context, wanted)
    await _serve_connections(SpdyConnection(TunneledConnection(websocket)), ports)
    await websocket_streams.close_websocket(websocket)
    return websocket


async def _serve_connections(connection: SpdyConnection, ports: PortForwarder) -> None:
    errors: dict[str, int] = {}
    data: dict[str, int] = {}
    try:
        while True:
            event = await connection.receive()
            if event.opened is None:
                if event.is_end:
                    connection.forget(event.stream)
                continue
            kind, port = event.opened.get("streamtype", ""), _parse_port(event.opened.get("port", ""))
            if kind not in _STREAM_TYPES or port is None:
                await connection.reset(event.stream)
                continue
            await connection.accept(event.stream)
            request = _find_request_id(event, kind)
            (errors if kind == "error" else data)[request] = event.stream
            if request in errors and request in data:
                await connection.write(errors.pop(request), ports.refuse(port).encode(), is_last=True)
                await connection.reset(data.pop(request))
    except ClientGone:
        return


def _find_request_id(event: StreamEvent, kind: str) -> str:
    """Return the id that the two streams of a connection share; old clients send none, and open them in order."""
    assert event.opened is not None
    return event.opened.get("requestid") or str(event.stream if kind == "error" else event.stream - 2)


def _parse_port(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) <= _PORT_MAX else None


async def serve_websocket(context: RequestContext, numbers: Sequence[int], ports: PortForwarder) -> web.StreamResponse:
    """Answer the older WebSocket protocol: two channels for each of these ports, each with the port first."""
    # upstream 1.36: cri-streaming/pkg/streaming/portforward/websocket.go
    supported = {"": False, "v4.channel.k8s.io": False, "v4.base64.channel.k8s.io": True}
    requested = websocket_streams.get_requested_protocols(context.request) or [""]
    protocol = next((name for name in requested if name in supported), None)
    if protocol is None:
        return websocket_streams.refuse_protocols(context, [*supported])
    if not 0 < len(numbers) <= _PORTS_MAX or not all(0 < port <= _PORT_MAX for port in numbers):
        return websocket_streams.refuse_upgrade(context, 'query parameter "port" is required')
    websocket = await websocket_streams.open_websocket(context, protocol)
    output = websocket_streams.ChannelOutput(websocket, is_base64=supported[protocol])
    try:
        for index, port in enumerate(numbers):
            for channel in (2 * index, 2 * index + 1):
                await output.write(channel, port.to_bytes(2, "little"))
            await output.write(2 * index + 1, ports.refuse(port).encode())
    except ClientGone:
        return websocket
    await websocket_streams.close_websocket(websocket)
    return websocket
