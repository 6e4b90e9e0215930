"""Listeners of API servers: a socket with a request gate behind it, or none in virtual time."""

import re
import socket
import ssl
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from mockkube.api.errors import Unavailable
from mockkube.apiserver.http import web
from mockkube.apiserver.http.filters.failed_authentication_throttle import FailedAuthenticationThrottle
from mockkube.cluster.api_servers.api_server import Server
from mockkube.cluster.api_servers.fault_injection_middleware import FaultInjectionMiddleware
from mockkube.cluster.api_servers.request_gate import RequestGate
from mockkube.cluster.api_servers.tcp_listener import Handler, TcpListener, bind
from mockkube.cluster.control.schemas import GROUP
from mockkube.cluster.faults.faults import Faults
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

_CONTROL: Final = re.compile(rf"/api/?|/apis/?|/version/?|/openapi/.*|/apis/{re.escape(GROUP)}(/.*)?")


def is_control_path(path: str) -> bool:
    """Return whether a path belongs to the control API, or to the discovery that kubectl needs for it."""
    return _CONTROL.fullmatch(path) is not None


class Listener(Protocol):
    """Listener of one API server; it stays while the server behind it is replaced."""

    @property
    def url(self) -> str:
        """URL of the server; empty if it has no socket."""
        ...

    def open_gate(self, server: Server, *, running: bool) -> None:
        """Pass requests to this server; only those to the control API if it is not to run."""
        ...

    def close_gate(self) -> None:
        """Hold new requests; those in flight continue."""
        ...

    async def drain(self) -> None:
        """Return once no request is in flight."""
        ...

    def cut_watches(self, faults: Iterable[str]) -> None:
        """Cut open watches that match these new faults."""
        ...

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request that has come over another socket of the process."""
        ...

    async def listen(self) -> None:
        """Begin to accept connections."""
        ...

    def stop_accepting(self) -> None:
        """Accept no further connections, and close idle ones."""
        ...

    async def stop(self) -> None:
        """Wait a moment for requests in flight, then close everything."""
        ...


# Returns the listener of an API server by its name.
MakeListener = Callable[[str], Listener]


@dataclass(slots=True)
class ListenerFactory:
    """Creates listeners: the first API server gets the socket that is bound already, others a free port each."""

    first: socket.socket
    address: str
    tls: Callable[[], ssl.SSLContext | None]
    faults: Faults
    clock: Clock
    # Real time, also when the cluster runs in virtual time: bad credentials of clients are paced by it.
    pace_clock: Clock
    allowed_hosts: tuple[str, ...] = ()
    http2: bool = True
    _first_is_taken: bool = False

    def make_listener(self, name: str) -> Listener:
        """Return the listener of an API server, not yet accepting."""
        listening = bind(self.address, 0) if self._first_is_taken else self.first
        self._first_is_taken = True
        gate = RequestGate()
        handler: Handler = FailedAuthenticationThrottle(gate, self.pace_clock)
        if (tls := self.tls()) is None:
            from mockkube.apiserver.http.filters.cross_site import CrossSiteGuard  # most servers have TLS

            # Browsers reach a plain HTTP server on loopback from any web site; TLS with a private CA prevents that
            # already.
            handler = CrossSiteGuard(handler, self.allowed_hosts)
        middleware = FaultInjectionMiddleware(name, self.faults, self.clock, is_exempt=is_control_path)
        return SocketListener(TcpListener(listening, handler, tls=tls, http2=self.http2), gate, middleware)


class SocketListener:
    """Listener on a socket.

    A request passes the CrossSiteGuard (without TLS only), the FailedAuthenticationThrottle, the RequestGate and the
    FaultInjectionMiddleware; then the Router of the server answers it.
    """

    def __init__(self, listener: TcpListener, gate: RequestGate, middleware: FaultInjectionMiddleware) -> None:
        self._listener = listener
        self._gate = gate
        self._middleware = middleware

    @property
    def url(self) -> str:
        """URL of the socket."""
        return self._listener.url

    def open_gate(self, server: Server, *, running: bool) -> None:
        """Pass requests to this server, through the fault injection."""
        self._gate.open(self._middleware.wrap(server.handler, server.api_server), None if running else is_control_path)

    def close_gate(self) -> None:
        """Hold new requests until the next server."""
        self._gate.close()

    async def drain(self) -> None:
        """Return once the requests in flight are answered."""
        await self._gate.drain()

    def cut_watches(self, faults: Iterable[str]) -> None:
        """Cut open watches that match these new faults."""
        self._middleware.cut_watches(faults)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request as the server behind the gate does."""
        return await self._gate(request)

    async def listen(self) -> None:
        """Begin to accept connections."""
        await self._listener.start()

    def stop_accepting(self) -> None:
        """Accept no further connections."""
        self._listener.stop_accepting()

    async def stop(self) -> None:
        """Stop the HTTP server and close the socket."""
        await self._listener.stop()


class NoListener:
    """Listener without a socket, for servers used only within the process."""

    url = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def open_gate(self, server: Server, *, running: bool) -> None:
        """Do nothing: there are no requests."""

    def close_gate(self) -> None:
        """Do nothing: there are no requests."""

    async def drain(self) -> None:
        """Do nothing: there are no requests."""

    def cut_watches(self, faults: Iterable[str]) -> None:
        """Do nothing: there are no connections."""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Refuse the request: there are none without a socket."""
        raise Unavailable(f"{self.name} has no address")

    async def listen(self) -> None:
        """Do nothing: there is no socket."""

    def stop_accepting(self) -> None:
        """Do nothing: there is no socket."""

    async def stop(self) -> None:
        """Do nothing: there is no socket."""
