"""Remote engine: a store that a server in another process keeps; several processes share it.

The client has a replica of the current entries and of recent events, so it answers reads of the present itself. The
server sends every commit in revision order, and the outcome of an own write in the place of its event: when a write
returns, its event has been queued for the watchers of this process, after all events before it.
"""

from typing import Final

from mockkube_storage.engines.replica_store import ReplicaStore, parse_addresses
from mockkube_storage.errors import Unavailable
from mockkube_storage.remote.client import ServerConnection, connect
from mockkube_storage.replica import Replica

SCHEME: Final = "mockkube-store://"


class RemoteStore(ReplicaStore):
    """Client of a store's server; it takes the first address that answers."""

    def __init__(self, url: str) -> None:
        self._addresses = parse_addresses(url.removeprefix(SCHEME).rstrip("/"), url, f"{SCHEME}host:port[,host:port]")
        super().__init__(url)

    def _make_replica(self) -> Replica:
        return Replica(self._where)

    async def _connect(self) -> ServerConnection:
        causes = []
        for host, port in self._addresses:
            try:
                return await connect(host, port, self._replica)
            except Unavailable as error:
                causes.append(error.cause)
        raise Unavailable(self._where, "; ".join(causes))
