"""Server of HTTP/1.1 and HTTP/2: each connection gets the protocol that its client speaks."""

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from mockkube.apiserver.http import connections
from mockkube.apiserver.http.connections import HttpHandler, HttpServer
from mockkube.apiserver.http2.frames import PREFACE

if TYPE_CHECKING:
    from mockkube.apiserver.http2.connection import Http2Connection

ALPN_PROTOCOLS: Final = ["h2", "http/1.1"]


class DualProtocolServer:
    """Protocol factory of a listener; `options` are those of aiohttp's HTTP/1.1 server."""

    def __init__(self, handler: HttpHandler, *, http2: bool, idle_seconds_max: float, **options: Any) -> None:
        self._handler = handler
        self._idle_seconds_max = idle_seconds_max
        self._http1 = HttpServer(handler, keepalive_timeout=idle_seconds_max, **options)
        self._offers_http2 = http2
        self._http2: dict[Http2Connection, None] = {}
        self._undecided: dict[ProtocolSelector, None] = {}

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        return ProtocolSelector(self) if self._offers_http2 else self._http1()

    def start_http1(self) -> asyncio.Protocol:
        """Return a protocol that speaks HTTP/1.1."""
        return self._http1()

    def start_http2(self) -> asyncio.Protocol:
        """Return a protocol that speaks HTTP/2."""
        # Imported with the first such connection: it and its tables take 1.5 MB.
        from mockkube.apiserver.http2.connection import Http2Connection

        connection = Http2Connection(
            self._handler,
            asyncio.get_running_loop(),
            idle_seconds_max=self._idle_seconds_max,
            on_lost=self._forget,
        )
        self._http2[connection] = None
        return connection

    def _forget(self, connection: "Http2Connection") -> None:
        self._http2.pop(connection, None)

    def track(self, selector: "ProtocolSelector") -> None:
        """Note a connection whose protocol is not known yet."""
        self._undecided[selector] = None

    def untrack(self, selector: "ProtocolSelector") -> None:
        """Forget it again."""
        self._undecided.pop(selector, None)

    def list_transports(self) -> list[asyncio.Transport]:
        """Return the transports of all connections."""
        found = (
            *(selector.transport for selector in self._undecided),
            *(connection.transport for connection in self._http1.connections),
            *(connection.output.transport for connection in self._http2),
        )
        return [transport for transport in found if transport is not None]

    def pre_shutdown(self) -> None:
        """Close idle connections; others are closed after their present requests."""
        for selector in list(self._undecided):
            selector.close()
        self._http1.pre_shutdown()
        for connection in list(self._http2):
            connection.go_away()

    async def shutdown(self, seconds: float) -> None:
        """Wait that long for open requests, cancel the rest, wait as long again, and close all connections."""
        await asyncio.gather(
            self._http1.shutdown(seconds), *(connection.shutdown(seconds) for connection in list(self._http2))
        )


class ProtocolSelector(asyncio.Protocol):
    """First protocol of a connection: hands it over by ALPN, or without TLS by its first bytes."""

    def __init__(self, server: DualProtocolServer) -> None:
        self._server = server
        self.transport: asyncio.Transport | None = None
        self._received = b""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Decide by ALPN; wait for bytes without TLS."""
        self.transport = cast(asyncio.Transport, transport)
        if (tls := transport.get_extra_info("ssl_object")) is not None:
            self._hand_over(is_http2=tls.selected_alpn_protocol() == "h2")
            return
        self._server.track(self)
        self._timer = asyncio.get_running_loop().call_later(connections.HEADER_SECONDS_MAX, self.close)

    def data_received(self, data: bytes) -> None:
        """Decide as soon as the bytes differ from the preface of HTTP/2, or complete it."""
        self._received += data
        if len(self._received) >= len(PREFACE) or not PREFACE.startswith(self._received):
            self._hand_over(is_http2=self._received.startswith(PREFACE))

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget()

    def close(self) -> None:
        """Close the connection."""
        if self.transport is not None:
            self.transport.close()

    def _hand_over(self, *, is_http2: bool) -> None:
        self._forget()
        assert self.transport is not None
        protocol = self._server.start_http2() if is_http2 else self._server.start_http1()
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        if self._received:
            protocol.data_received(self._received)

    def _forget(self) -> None:
        self._server.untrack(self)
        if self._timer is not None:
            self._timer.cancel()
