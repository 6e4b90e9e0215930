"""What stands between an API server and those outside the process: a socket with a door behind it, or nothing."""

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
    """Whether a path is of the control API, or what kubectl must know before it asks for it."""
    return _CONTROL.fullmatch(path) is not None


class Front(Protocol):
    """The outside of one API server. It stays while the server behind it changes."""

    @property
    def url(self) -> str:
        """Where the server answers; empty when nobody outside can reach it."""
        ...

    def open(self, server: Server, *, running: bool) -> None:
        """Let requests in to this server; to the control API alone if it is not to run."""
        ...

    def shut(self) -> None:
        """Let nobody in; who is inside stays."""
        ...

    async def emptied(self) -> None:
        """Return once everybody who was inside has left."""
        ...

    def recheck(self, faults: Iterable[str]) -> None:
        """Cut what is open where a fault that is new says so."""
        ...

    async def listen(self) -> None:
        """Begin to accept connections."""
        ...

    def refuse(self) -> None:
        """Accept no further connections, and close those that wait for a request."""
        ...

    async def stop(self) -> None:
        """Give the requests in hand a moment, then let go of everything."""
        ...


Fronts = Callable[[str], Front]
"""Makes the front of an API server by its name."""


@dataclass(slots=True)
class Street:
    """Where the sockets of a cluster are: the first API server has one already, others get a free port each."""

    first: socket.socket
    address: str
    tls: Callable[[], ssl.SSLContext | None]
    faults: Faults
    clock: Clock
    pace_clock: Clock
    """The time clients live in, whatever time it is in the cluster."""
    allowed_hosts: tuple[str, ...] = ()
    _taken: bool = False

    def front(self, name: str) -> Front:
        """Return the front of an API server, not yet listening."""
        listening = bind(self.address, 0) if self._taken else self.first
        self._taken = True
        door = Door()
        handler: Handler = CredentialPace(door, self.pace_clock)
        if (tls := self.tls()) is None:
            handler = CrossSiteGuard(handler, self.allowed_hosts)
        interference = Interference(name, self.faults, self.clock, spares=steers)
        return SocketFront(Listener(listening, handler, tls=tls), door, interference)


class SocketFront:
    """A socket; behind it what faults do to requests; behind that a door."""

    def __init__(self, listener: Listener, door: Door, interference: Interference) -> None:
        self._listener = listener
        self._door = door
        self._interference = interference

    @property
    def url(self) -> str:
        """Where the server answers."""
        return self._listener.url

    def open(self, server: Server, *, running: bool) -> None:
        """Let requests in to this server."""
        registry = None if server.whole is None else server.whole.registry
        self._door.open(self._interference.around(server.handler, registry), None if running else steers)

    def shut(self) -> None:
        """Let requests wait for the next server."""
        self._door.shut()

    async def emptied(self) -> None:
        """Return once the requests in hand are answered."""
        await self._door.emptied()

    def recheck(self, faults: Iterable[str]) -> None:
        """Cut what is open where a fault that is new says so."""
        self._interference.recheck(faults)

    async def listen(self) -> None:
        """Begin to accept connections."""
        await self._listener.start()

    def refuse(self) -> None:
        """Accept no further connections."""
        self._listener.refuse()

    async def stop(self) -> None:
        """Give the requests in hand a moment, then let go of the socket."""
        await self._listener.stop()


class NoFront:
    """Of a server that nobody outside its process can reach."""

    url = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def open(self, server: Server, *, running: bool) -> None:
        """Nobody comes."""

    def shut(self) -> None:
        """Nobody comes."""

    async def emptied(self) -> None:
        """Nobody is inside."""

    def recheck(self, faults: Iterable[str]) -> None:
        """Nothing is open."""

    async def listen(self) -> None:
        """There is nothing to listen on."""

    def refuse(self) -> None:
        """Nobody comes."""

    async def stop(self) -> None:
        """There is nothing to let go of."""
