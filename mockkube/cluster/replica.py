"""One API server of a cluster: a listener that stays, and a server that is replaced when its settings change."""

from collections.abc import Callable
from datetime import datetime

from mockkube.apiserver.local.endpoint import LocalDoor
from mockkube.cluster.control.component import Asked
from mockkube.cluster.front import Front
from mockkube.cluster.servers import Server
from mockkube.runtime.clock import Clock


class Replica:
    """An API server; a change of its spec is a restart, which loses all memory.

    A stopped one still answers the control API, since otherwise nobody could start it again.
    """

    def __init__(self, front: Front, local: LocalDoor, build: Callable[[Asked], Server], clock: Clock) -> None:
        self.front = front
        # Spec that it runs with; None before it has started.
        self.asked: Asked | None = None
        # Time of its last start.
        self.since: datetime | None = None
        # The present server.
        self.server: Server | None = None
        # Endpoint for clients in the process.
        self._local = local
        self._build = build
        self._clock = clock

    async def become(self, asked: Asked) -> Server:
        """Run with this spec. Meanwhile new requests wait, those in flight finish, watches end."""
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
        """Stop the server; requests wait for the next one."""
        self.asked = None
        self.front.shut()
        self._local.shut()
        if self.server is not None:
            # Watches never finish by themselves, so they end before the gates drain.
            self.server.end_watches()
            await self.front.emptied()
            await self._local.emptied()
            server, self.server = self.server, None
            await server.stop()

    async def stop(self) -> None:
        """Stop the server and the listener."""
        self._local.shut()
        if self.server is not None:
            await self.server.stop()
        await self.front.stop()
