"""TCP listener: a socket bound before anything else starts, and the HTTP server on it."""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mockkube.apiserver.http import connections
from mockkube.apiserver.http2.server import ALPN_PROTOCOLS, DualProtocolServer
from mockkube.client.tls import verify_as_go
from mockkube.cluster.configuration.errors import StartError
from mockkube.runtime.steps import yield_to_event_loop

Handler = connections.HttpHandler

BACKLOG: Final = 1024
HANDSHAKE_SECONDS_MAX: Final = 10.0
IDLE_SECONDS_MAX: Final = 180.0
LINE_BYTES_MAX: Final = 64 << 10  # long label selectors and continue tokens travel in the request line
HEADER_BYTES_MAX: Final = 64 << 10
HEADERS_MAX: Final = 1024  # who is impersonated may be in many groups, each a header
STOP_SECONDS_MAX: Final = 0.5
_LOG: Final = logging.getLogger("mockkube.apiserver")


def bind(address: str, port: int, *, flag: str = "--port") -> socket.socket:
    """Return a listening socket; StartError if the address or port, given by this flag, is unavailable."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # The system's default differs: without this, `::` may accept IPv4 connections, too.
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((address, port))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise StartError(_describe_bind_error(address, port, flag, error)) from None
    return listening


def get_url(listening: socket.socket, *, tls: bool, advertised: str = "") -> str:
    """Return the URL of a listening socket, at its advertised address; a wildcard address becomes loopback."""
    address, port = listening.getsockname()[:2]
    host = advertised or {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - compared, not bound
    return f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def make_tls_context(serving: Path, key: Path, authorities: Sequence[Path]) -> ssl.SSLContext:
    """Return a server's TLS context that accepts client certificates of these CAs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(serving, key)
    for authority in authorities:
        context.load_verify_locations(authority)
    verify_as_go(context)
    if authorities:
        # Clients may authenticate by token instead, as with a real API server.
        # differs: upstream asks for a certificate without verifying it in the handshake, and answers 401. Python's ssl
        # verifies what it asks for, and has no callback.
        context.verify_mode = ssl.CERT_OPTIONAL
        context.sslobject_class = _ClientVerifyingSslObject
    context.set_alpn_protocols(["http/1.1"])
    return context


class _ClientVerifyingSslObject(ssl.SSLObject):
    """Connection that logs why a client certificate is not accepted: the client only learns that it is not."""

    def do_handshake(self) -> None:
        """Shake hands."""
        try:
            super().do_handshake()
        except ssl.SSLCertVerificationError as error:
            _LOG.warning(
                "TLS handshake error: the client certificate is not accepted: %s; "
                "use one that a client CA of this server has signed for client authentication",
                error.verify_message,
            )
            raise


class TcpListener:
    """HTTP server of one handler on one socket, which it owns."""

    def __init__(
        self, listening: socket.socket, handler: Handler, *, tls: ssl.SSLContext | None, http2: bool = True
    ) -> None:
        self._socket = listening
        self._tls = tls
        if tls is not None and http2:
            tls.set_alpn_protocols(ALPN_PROTOCOLS)
        self.url = get_url(listening, tls=tls is not None)
        self._web = DualProtocolServer(
            handler,
            http2=http2,
            idle_seconds_max=IDLE_SECONDS_MAX,
            access_log=None,
            max_line_size=LINE_BYTES_MAX,
            max_field_size=HEADER_BYTES_MAX,
            max_headers=HEADERS_MAX,
            auto_decompress=False,  # as upstream, which takes a body as it comes
        )
        self._server: asyncio.Server | None = None
        self._closing: list[asyncio.Transport] = []

    async def start(self) -> None:
        """Begin to accept connections."""
        self._server = await asyncio.get_running_loop().create_server(
            self._web,
            sock=self._socket,
            ssl=self._tls,
            ssl_handshake_timeout=None if self._tls is None else HANDSHAKE_SECONDS_MAX,
            backlog=BACKLOG,
        )

    def stop_accepting(self) -> None:
        """Accept no further connections, and close idle ones."""
        if self._server is not None:
            self._server.close()
            self._closing += self._web.list_transports()
            self._web.pre_shutdown()

    async def stop(self) -> None:
        """Wait a moment for requests in flight, cancel the rest, close the socket."""
        self.stop_accepting()
        await self._web.shutdown(STOP_SECONDS_MAX / 2)  # waits twice as long at most: for answers, then for cancelling
        for transport in self._closing:
            # With TLS it would wait for an answer of the client, longer than the event loop runs.
            if not _has_unsent_data(transport):
                transport.abort()
        await yield_to_event_loop()
        self._socket.close()


def _has_unsent_data(transport: asyncio.Transport) -> bool:
    try:
        return transport.get_write_buffer_size() > 0
    except AttributeError:  # asyncio's own TLS transport, once the connection is lost
        return False


def _describe_bind_error(address: str, port: int, flag: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} on {address} is in use: stop what listens there, or give another {flag} (0 picks a free one)"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"address {address} is not one of this machine: give one that is with --bind"
    if error.errno == errno.EACCES:
        return f"port {port} on {address} is not allowed to this user: give a {flag} above 1023"
    return f"cannot listen on {address} port {port}: {error.strerror}: give another --bind or {flag}"
