"""HTTP side of a store's server: health, version, and the upgrade to frames."""

import asyncio
import json
import logging
import socket
from typing import TYPE_CHECKING, Final, cast

from mockkube_storage.remote import messages
from mockkube_storage.remote.connection import ClientConnection

if TYPE_CHECKING:
    from mockkube_storage.remote.server import StoreServer

HEAD_BYTES_MAX: Final = 16 * 1024
_END_OF_HEAD: Final = b"\r\n\r\n"
_HTTP2_PREFACE: Final = b"PRI * HTTP/2.0"
_TLS_HANDSHAKE: Final = b"\x16\x03"
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}
_SWITCH: Final = (
    f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {messages.PROTOCOL_NAME}\r\n\r\n"
).encode()

_log = logging.getLogger(__name__)


class HttpConnection(asyncio.Protocol):
    """Connection that has not been upgraded: it answers plain HTTP/1.1 requests without a body."""

    def __init__(self, server: "StoreServer") -> None:
        self._server = server
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection."""
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        # asyncio sets it only for sockets that name TCP as their protocol; those given to `listen` need not.
        accepted = transport.get_extra_info("socket")
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._server.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._server.remove(self)

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def abort(self) -> None:
        """Close the connection without sending what is queued."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Answer the requests that have arrived."""
        self._received += data
        if self._received.startswith(_HTTP2_PREFACE):
            self._refuse("a gRPC client of etcd", "this server has no gRPC API; only mockkube's API server can use it")
        elif self._received.startswith(_TLS_HANDSHAKE):
            self._refuse("a TLS client", "this server accepts plain HTTP only")
        while _END_OF_HEAD in self._received and not self._transport.is_closing():
            head, _, self._received = self._received.partition(_END_OF_HEAD)
            if self._answer(head):
                return
        if len(self._received) > HEAD_BYTES_MAX:
            self._respond(431, "request head is too large\n", keep=False)

    def _refuse(self, who: str, why: str) -> None:
        _log.warning("closed a connection of %s from %s: %s", who, self._transport.get_extra_info("peername"), why)
        self._received = b""
        self._transport.abort()

    def _answer(self, head: bytes) -> bool:
        """Answer one request; return whether it has switched the connection to frames."""
        lines = head.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
            self._respond(400, "not an HTTP/1.1 request\n", keep=False)
            return False
        method, target, protocol = parts
        fields = [line.partition(":") for line in lines[1:]]
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        if headers.get("upgrade") == messages.PROTOCOL_NAME:
            self._upgrade()
            return True
        keep = protocol == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
            keep = False  # the body is not read, so no request can follow it
        if method not in ("GET", "HEAD"):
            self._respond(405, "method not allowed\n", keep=False)
            return False
        self._respond_to(target.partition("?")[0], keep=keep, with_body=method == "GET")
        return False

    def _respond_to(self, path: str, *, keep: bool, with_body: bool) -> None:
        problem = self._server.store.problem
        match path:
            case "/health":
                body = {"health": "false" if problem else "true", "reason": problem}
                self._respond(503 if problem else 200, body, keep=keep, with_body=with_body)
            case "/readyz" | "/livez":
                text = f"{problem}\n" if problem else "ok\n"
                self._respond(503 if problem else 200, text, keep=keep, with_body=with_body)
            case "/version":
                version = self._server.version
                minor = ".".join(version.split(".")[:2])
                body = {"etcdserver": version, "etcdcluster": f"{minor}.0", "storage": f"{minor}.0"}
                self._respond(200, body, keep=keep, with_body=with_body)
            case "/metrics":
                self._respond(200, self._server.render_metrics(), keep=keep, with_body=with_body)
            case _:
                self._respond(404, "404 page not found\n", keep=keep, with_body=with_body)

    def _respond(self, status: int, body: str | dict[str, str], *, keep: bool, with_body: bool = True) -> None:
        if isinstance(body, str):
            media, content = "text/plain; charset=utf-8", body.encode()
        else:
            media, content = "application/json", json.dumps(body, separators=(",", ":")).encode()
        head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {media}\r\nContent-Length: {len(content)}\r\n"
        head += "\r\n" if keep else "Connection: close\r\n\r\n"
        self._transport.write(head.encode() + (content if with_body else b""))
        if not keep:
            self._transport.close()

    def _upgrade(self) -> None:
        self._server.remove(self)
        self._transport.write(_SWITCH)
        connection = ClientConnection(self._server, self._transport)
        self._transport.set_protocol(connection)
        if self._received:
            connection.data_received(self._received)
