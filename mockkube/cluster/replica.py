"""One API server of a cluster: a socket that stays, and behind it a server that changes with its settings."""

import re
import socket
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mockkube.apiserver.local_desk import LocalDoor
from mockkube.cluster.control.component import Asked
from mockkube.cluster.control.definitions import GROUP
from mockkube.cluster.door import Door
from mockkube.cluster.interference import Interference
from mockkube.cluster.listener import Listener, url_of
from mockkube.cluster.servers import Server
from mockkube.runtime.clock import Clock

_CONTROL: Final = re.compile(rf"/api/?|/apis/?|/version/?|/openapi/.*|/apis/{re.escape(GROUP)}(/.*)?")


def steers(path: str) -> bool:
    """Whether a path is of the control API, or what kubectl must know before it asks for it."""
    return _CONTROL.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Entrance:
    """How one gets to an API server: over a socket, past what faults do there, or within the process."""

    listening: socket.socket
    tls: ssl.SSLContext | None
    interference: Interference
    local: LocalDoor


class Replica:
    """An API server. A change of what is asked of it is a restart: all that it had in memory is lost.

    One that is not to run answers the control API all the same, or nobody could start it again.
    """

    def __init__(self, entrance: Entrance, build: Callable[[Asked], Server], clock: Clock) -> None:
        self.url = url_of(entrance.listening, tls=entrance.tls is not None)
        self.asked: Asked | None = None
        """What it follows; None when it has not come up."""
        self.since: datetime | None = None
        """Since when it is what it is."""
        self._clock = clock
        self._door = Door()
        self._local = entrance.local
        self._interference = entrance.interference
        self._listener = Listener(entrance.listening, self._door, tls=entrance.tls)
        self._build = build
        self.server: Server | None = None
        """The server of the moment."""

    async def become(self, asked: Asked) -> Server:
        """Follow this. Requests that come meanwhile wait, those in hand finish, watches end."""
        if self.server is not None and self.asked == asked:
            return self.server
        await self.end()
        server = self.server = self._build(asked)
        await server.start()
        whole = server.whole
        handler = self._interference.around(server.handler, None if whole is None else whole.registry)
        self._door.open(handler, None if asked.running else steers)
        if asked.running and whole is not None:
            self._local.open(whole)
        self.asked, self.since = asked, self._clock.now()
        return server

    async def end(self) -> None:
        """Stop the server; requests wait for the next."""
        self.asked = None
        self._door.shut()
        self._local.shut()
        if self.server is not None:
            self.server.end_watches()
            await self._door.emptied()
            await self._local.emptied()
            server, self.server = self.server, None
            await server.stop()

    def recheck(self, faults: Iterable[str]) -> None:
        """Cut what is open where a fault that is new says so."""
        self._interference.recheck(faults)

    async def listen(self) -> None:
        """Begin to accept connections."""
        await self._listener.start()

    def refuse(self) -> None:
        """Accept no further connections, and close those that wait for a request."""
        self._listener.refuse()

    async def stop(self) -> None:
        """Stop the server, give the requests in hand a moment, then let go of the socket."""
        self._local.shut()
        if self.server is not None:
            await self.server.stop()
        await self._listener.stop()
