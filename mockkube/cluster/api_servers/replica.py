"""One API server of a cluster: a listener that stays, and a server that is replaced when its settings change."""

from collections.abc import Callable
from datetime import datetime

from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.cluster.api_servers.api_server import Server
from mockkube.cluster.api_servers.listeners import Listener
from mockkube.cluster.control.component import ComponentSpec
from mockkube.runtime.clock import Clock


class ApiServerReplica:
    """An API server; a change of its spec is a restart, which loses all memory.

    A stopped one still answers the control API, since otherwise no client could start it again.
    """

    def __init__(
        self, listener: Listener, local_endpoint: LocalEndpoint, build: Callable[[ComponentSpec], Server], clock: Clock
    ) -> None:
        self.listener = listener
        # Spec that it runs with; None before it has started.
        self.spec: ComponentSpec | None = None
        # Time of its last start.
        self.started_at: datetime | None = None
        # The present server.
        self.server: Server | None = None
        # Endpoint for clients in the process.
        self._local_endpoint = local_endpoint
        self._build = build
        self._clock = clock

    async def apply_spec(self, spec: ComponentSpec) -> Server:
        """Run with this spec. Meanwhile new requests wait, those in flight finish, watches end."""
        if self.server is not None and self.spec == spec:
            return self.server
        await self.stop_server()
        server = self.server = self._build(spec)
        await server.start()
        self.listener.open_gate(server, running=spec.should_run)
        if spec.should_run and server.api_server is not None:
            self._local_endpoint.open(server.api_server)
        self.spec, self.started_at = spec, self._clock.now()
        return server

    async def stop_server(self) -> None:
        """Stop the server; requests wait for the next one."""
        self.spec = None
        self.listener.close_gate()
        self._local_endpoint.close()
        if self.server is not None:
            # Watches never finish by themselves, so they end before the gates drain.
            self.server.end_watches()
            await self.listener.drain()
            await self._local_endpoint.wait_until_idle()
            server, self.server = self.server, None
            await server.stop()

    async def stop(self) -> None:
        """Stop the server and the listener."""
        self._local_endpoint.close()
        if self.server is not None:
            await self.server.stop()
        await self.listener.stop()
