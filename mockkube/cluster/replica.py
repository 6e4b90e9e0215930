"""One API server of a cluster: a front that stays, and behind it a server that changes with its settings."""

from collections.abc import Callable
from datetime import datetime

from mockkube.apiserver.local.endpoint import LocalDoor
from mockkube.cluster.control.component import Asked
from mockkube.cluster.front import Front
from mockkube.cluster.servers import Server
from mockkube.runtime.clock import Clock


class Replica:
    """An API server. A change of what is asked of it is a restart: all that it had in memory is lost.

    One that is not to run answers the control API all the same, or nobody could start it again.
    """

    def __init__(self, front: Front, local: LocalDoor, build: Callable[[Asked], Server], clock: Clock) -> None:
        self.front = front
        self.asked: Asked | None = None
        """What it follows; None when it has not come up."""
        self.since: datetime | None = None
        """Since when it is what it is."""
        self.server: Server | None = None
        """The server of the moment."""
        self._local = local
        """How components of the process get in."""
        self._build = build
        self._clock = clock

    async def become(self, asked: Asked) -> Server:
        """Follow this. Requests that come meanwhile wait, those in hand finish, watches end."""
        if self.server is not None and self.asked == asked:
            return self.server
        await self.end()
        server = self.server = self._build(asked)
        await server.start()
        self.front.open(server, running=asked.running)
        if asked.running and server.whole is not None:
            self._local.open(server.whole)
        self.asked, self.since = asked, self._clock.now()
        return server

    async def end(self) -> None:
        """Stop the server; requests wait for the next."""
        self.asked = None
        self.front.shut()
        self._local.shut()
        if self.server is not None:
            self.server.end_watches()
            await self.front.emptied()
            await self._local.emptied()
            server, self.server = self.server, None
            await server.stop()

    async def stop(self) -> None:
        """Stop the server, give the requests in hand a moment, then let go of the front."""
        self._local.shut()
        if self.server is not None:
            await self.server.stop()
        await self.front.stop()
