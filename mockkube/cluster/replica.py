"""One API server of a cluster: a socket that stays, and behind it a server that changes with its settings."""

import re
import socket
import ssl
from collections.abc import Callable
from typing import Final

from mockkube.cluster.control.component import Asked
from mockkube.cluster.control.definitions import GROUP
from mockkube.cluster.door import Door
from mockkube.cluster.listener import Listener, url_of
from mockkube.cluster.servers import Server

_CONTROL: Final = re.compile(rf"/api/?|/apis/?|/version/?|/openapi/.*|/apis/{re.escape(GROUP)}(/.*)?")


def steers(path: str) -> bool:
    """Whether a path is of the control API, or what kubectl must know before it asks for it."""
    return _CONTROL.fullmatch(path) is not None


class Replica:
    """An API server. A change of what is asked of it is a restart: all that it had in memory is lost.

    One that is not to run answers the control API all the same, or nobody could start it again.
    """

    def __init__(
        self, listening: socket.socket, build: Callable[[Asked], Server], *, tls: ssl.SSLContext | None
    ) -> None:
        self.url = url_of(listening, tls=tls is not None)
        self.asked: Asked | None = None
        """What it follows; None when it has not come up."""
        self._door = Door()
        self._listener = Listener(listening, self._door, tls=tls)
        self._build = build
        self._server: Server | None = None

    async def become(self, asked: Asked) -> Server:
        """Follow this. Requests that come meanwhile wait, those in hand finish, watches end."""
        if self._server is not None and self.asked == asked:
            return self._server
        await self._end()
        server = self._server = self._build(asked)
        await server.start()
        self._door.open(server.handler, None if asked.running else steers)
        self.asked = asked
        return server

    async def _end(self) -> None:
        self.asked = None
        self._door.shut()
        if self._server is not None:
            self._server.end_watches()
            await self._door.emptied()
            server, self._server = self._server, None
            await server.stop()

    async def listen(self) -> None:
        """Begin to accept connections."""
        await self._listener.start()

    def refuse(self) -> None:
        """Accept no further connections, and close those that wait for a request."""
        self._listener.refuse()

    async def stop(self) -> None:
        """Stop the server, give the requests in hand a moment, then let go of the socket."""
        if self._server is not None:
            await self._server.stop()
        await self._listener.stop()
