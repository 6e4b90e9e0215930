"""Subprotocols of `channel.k8s.io`: messages that begin with the number of a channel."""

# upstream 1.36: k8s.io/streaming/pkg/httpstream/wsstream/conn.go, cri-streaming/pkg/streaming/remotecommand
import base64
import binascii
from collections.abc import Iterable
from typing import Final

from mockkube.lazy_dataclasses import dataclass

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
ERROR: Final = 3
RESIZE: Final = 4
CHANNELS: Final = 5
_CLOSE_SIGNAL: Final = 255
V5: Final = "v5.channel.k8s.io"
TUNNEL_PREFIX: Final = "SPDY/3.1+"
_SUFFIX: Final = ".k8s.io"


class ProtocolViolation(Exception):
    """The client sent a message after which the connection cannot go on."""


@dataclass(frozen=True, slots=True)
class ChannelProtocol:
    """One subprotocol: its encoding, and what it supports."""

    name: str
    is_base64: bool = False
    has_json_status: bool = False
    """True if the error channel carries a Status in JSON; False: only its message."""
    has_close_signal: bool = False
    """True if a client can close a single channel."""


LEGACY_PROTOCOLS: Final = {
    one.name: one
    for one in (
        ChannelProtocol(""),
        ChannelProtocol("channel.k8s.io"),
        ChannelProtocol("base64.channel.k8s.io", is_base64=True),
        ChannelProtocol("v4.channel.k8s.io", has_json_status=True),
        ChannelProtocol("v4.base64.channel.k8s.io", is_base64=True, has_json_status=True),
    )
}
"""Subprotocols of container runtimes, to which the API server proxies; the empty name is for clients that name none."""
V5_PROTOCOL: Final = ChannelProtocol(V5, has_json_status=True, has_close_signal=True)
"""Subprotocol that the API server translates."""


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """Data that arrived on a channel, or its end."""

    channel: int
    data: bytes = b""
    is_close: bool = False


def parse_protocols(header: str) -> list[str]:
    """Return the subprotocols of a Sec-WebSocket-Protocol header."""
    return [name.strip() for name in header.split(",") if name.strip()]


def choose_protocol(requested: Iterable[str], supported: dict[str, ChannelProtocol]) -> ChannelProtocol | None:
    """Return the first requested subprotocol that is supported; a client that names none gets the unnamed one."""
    names = list(requested) or [""]
    return next((supported[name] for name in names if name in supported), None)


def is_tunnel(name: str) -> bool:
    """Return whether a subprotocol carries SPDY, as port-forward does."""
    return name.startswith(TUNNEL_PREFIX) and name.endswith(_SUFFIX)


def encode(protocol: ChannelProtocol, channel: int, data: bytes) -> bytes:
    """Return the message with data for a channel; the message of a base64 subprotocol is text."""
    if protocol.is_base64:
        return bytes((ord("0") + channel,)) + base64.b64encode(data)
    return bytes((channel,)) + data


def decode(protocol: ChannelProtocol, message: bytes) -> ChannelMessage | None:
    """Return what a message says; None for an empty message and for unknown channels, which are ignored.

    Raise ProtocolViolation for a malformed close signal.
    """
    if not message:
        return None
    if protocol.has_close_signal and message[0] == _CLOSE_SIGNAL:
        if len(message) != 2 or message[1] >= CHANNELS:
            raise ProtocolViolation("a close signal must name one channel")
        return ChannelMessage(message[1], is_close=True)
    channel, data = message[0], message[1:]
    if protocol.is_base64:
        channel -= ord("0")
        try:
            data = base64.b64decode(data, validate=True)
        except binascii.Error:
            return None
    return ChannelMessage(channel, data) if 0 <= channel < CHANNELS else None
