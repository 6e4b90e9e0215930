"""Listeners of API servers: a socket with a request gate behind it, or none in virtual time."""

import re
import socket
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from mockkube.apiserver.http.credential_pace import CredentialPace
from mockkube.apiserver.http.cross_site import CrossSiteGuard
from mockkube.cluster.control.definitions import GROUP
from mockkube.cluster.door import Door
from mockkube.cluster.faults import Faults
from mockkube.cluster.interference import Interference
from mockkube.cluster.listener import Handler, Listener, bind
from mockkube.cluster.servers import Server
from mockkube.runtime.clock import Clock

_CONTROL: Final = re.compile(rf"/api/?|/apis/?|/version/?|/openapi/.*|/apis/{re.escape(GROUP)}(/.*)?")


def steers(path: str) -> bool:
    """Return whether a path belongs to the control API, or to the discovery that kubectl needs for it."""
    return _CONTROL.fullmatch(path) is not None


class Front(Protocol):
    """Listener of one API server; it stays while the server behind it is replaced."""

    @property
    def url(self) -> str:
        """URL of the server; empty if it has no socket."""
        ...

    def open(self, server: Server, *, running: bool) -> None:
        """Pass requests to this server; only those to the control API if it is not to run."""
        ...

    def shut(self) -> None:
        """Hold new requests; those in flight continue."""
        ...

    async def emptied(self) -> None:
        """Return once no request is in flight."""
        ...

    def recheck(self, faults: Iterable[str]) -> None:
        """Cut open watches that match these new faults."""
        ...

    async def listen(self) -> None:
        """Begin to accept connections."""
        ...

    def refuse(self) -> None:
        """Accept no further connections, and close idle ones."""
        ...

    async def stop(self) -> None:
        """Wait a moment for requests in flight, then close everything."""
        ...


# Returns the listener of an API server by its name.
Fronts = Callable[[str], Front]


@dataclass(slots=True)
class Street:
    """Creates listeners: the first API server gets the socket that is bound already, others a free port each."""

    first: socket.socket
    address: str
    tls: Callable[[], ssl.SSLContext | None]
    faults: Faults
    clock: Clock
    # Real time, also when the cluster runs in virtual time: bad credentials of clients are paced by it.
    pace_clock: Clock
    allowed_hosts: tuple[str, ...] = ()
    _taken: bool = False

    def front(self, name: str) -> Front:
        """Return the listener of an API server, not yet accepting."""
        listening = bind(self.address, 0) if self._taken else self.first
        self._taken = True
        gate = Door()
        handler: Handler = CredentialPace(gate, self.pace_clock)
        if (tls := self.tls()) is None:
            # Browsers reach a plain HTTP server on loopback from any web site; TLS with a private CA prevents that
            # already.
            handler = CrossSiteGuard(handler, self.allowed_hosts)
        middleware = Interference(name, self.faults, self.clock, spares=steers)
        return SocketFront(Listener(listening, handler, tls=tls), gate, middleware)


class SocketFront:
    """Listener on a socket; behind it fault injection, behind that a request gate."""

    def __init__(self, listener: Listener, door: Door, interference: Interference) -> None:
        self._listener = listener
        self._door = door
        self._interference = interference

    @property
    def url(self) -> str:
        """URL of the socket."""
        return self._listener.url

    def open(self, server: Server, *, running: bool) -> None:
        """Pass requests to this server, through the fault injection."""
        registry = None if server.whole is None else server.whole.registry
        self._door.open(self._interference.around(server.handler, registry), None if running else steers)

    def shut(self) -> None:
        """Hold new requests until the next server."""
        self._door.shut()

    async def emptied(self) -> None:
        """Return once the requests in flight are answered."""
        await self._door.emptied()

    def recheck(self, faults: Iterable[str]) -> None:
        """Cut open watches that match these new faults."""
        self._interference.recheck(faults)

    async def listen(self) -> None:
        """Begin to accept connections."""
        await self._listener.start()

    def refuse(self) -> None:
        """Accept no further connections."""
        self._listener.refuse()

    async def stop(self) -> None:
        """Stop the HTTP server and close the socket."""
        await self._listener.stop()


class NoFront:
    """Listener without a socket, for servers used only within the process."""

    url = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def open(self, server: Server, *, running: bool) -> None:
        """Do nothing: there are no requests."""

    def shut(self) -> None:
        """Do nothing: there are no requests."""

    async def emptied(self) -> None:
        """Do nothing: there are no requests."""

    def recheck(self, faults: Iterable[str]) -> None:
        """Do nothing: there are no connections."""

    async def listen(self) -> None:
        """Do nothing: there is no socket."""

    def refuse(self) -> None:
        """Do nothing: there is no socket."""

    async def stop(self) -> None:
        """Do nothing: there is no socket."""
