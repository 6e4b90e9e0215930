"""Server of a store: commits the writes of its clients in groups, and sends every commit to all of them.

The writes that arrive in one turn of the event loop make up one group. For each client a group is one frame, in which
the outcomes of its own writes stand between the events of others, in the order of the revisions.
"""

import asyncio
import logging
from asyncio import Event as AsyncEvent
from asyncio import get_running_loop
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from socket import socket
from typing import Final, Protocol

from mockkube_storage.encoding import encode_event
from mockkube_storage.errors import Conflict, StoreError, Unavailable
from mockkube_storage.model import Entry, Event
from mockkube_storage.remote import messages
from mockkube_storage.remote.connection import ClientConnection
from mockkube_storage.remote.http import HttpConnection
from mockkube_storage.remote.messages import Answer, Outcome
from mockkube_storage.remote.sole_client import SoleClient
from mockkube_storage.versions import Versions
from mockkube_storage.writes import Decisions, Write

_log = logging.getLogger(__name__)


class ServedStore(Protocol):
    """Store as its server needs it: all versions in memory, and writes in groups."""

    @property
    def store_id(self) -> bytes:
        """Identity of the data, which stays when the store is opened again."""

    @property
    def versions(self) -> Versions:
        """Versions of all keys, for reading."""

    @property
    def problem(self) -> str:
        """Reason why nothing written now would be kept; empty if there is none."""

    async def commit(self, writes: Sequence[Write]) -> Decisions:
        """Decide a group of writes, keep what is decided, and publish it. Raises Unavailable."""

    async def compact(self, revision: int) -> None:
        """Forget what was replaced or deleted up to a revision. Raises FutureRevision or Unavailable."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Bounds of a server."""

    # One group of writes.
    group_writes_max: int = 512
    group_bytes_max: int = 8 * 1024 * 1024
    # Writes that wait for their group, of all clients; one more is refused.
    waiting_writes_max: int = 65_536
    # What waits to be sent to one client; a client that reads more slowly is disconnected.
    unsent_bytes_max: int = 64 * 1024 * 1024
    # Time for which a sole client is promised that nobody else can write.
    sole_seconds: float = 1.0
    # Time that a close gives clients to receive what is queued for them.
    close_seconds: float = 0.3


DEFAULT_LIMITS: Final = ServerLimits()


class StoreServer:
    """Server of one store, on any number of addresses."""

    def __init__(self, store: ServedStore, *, version: str, limits: ServerLimits = DEFAULT_LIMITS) -> None:
        self.store = store
        self.version = version
        self.limits = limits
        self._waiting: deque[tuple[ClientConnection, Write]] = deque()
        self._wake = AsyncEvent()
        self._servers: list[asyncio.Server] = []
        self._connections: dict[ClientConnection | HttpConnection, None] = {}
        # Clients that receive commits, in the order in which they came.
        self._live: dict[ClientConnection, None] = {}
        self._no_connections = AsyncEvent()
        self._no_connections.set()
        self.sole_client = SoleClient(limits.sole_seconds)

    async def run(self) -> None:
        """Commit the clients' writes until cancelled."""
        async with asyncio.TaskGroup() as self._tasks:
            await self._commit_groups()

    async def listen(self, listening: socket) -> None:
        """Accept connections on a socket that listens."""
        self._servers.append(await get_running_loop().create_server(lambda: HttpConnection(self), sock=listening))

    async def close(self) -> None:
        """Stop listening, and close all connections, those of clients that do not read after a moment."""
        for server in self._servers:
            server.close()
        for connection in tuple(self._connections):
            connection.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.limits.close_seconds):
                await self._no_connections.wait()
        for connection in tuple(self._connections):
            connection.abort()
        await self._no_connections.wait()

    def render_metrics(self) -> str:
        """Return the metrics of the server as text."""
        return (
            "# TYPE etcd_server_has_leader gauge\netcd_server_has_leader 1\n"
            f"# TYPE etcd_debugging_mvcc_current_revision gauge\n"
            f"etcd_debugging_mvcc_current_revision {self.store.versions.revision}\n"
            f"# TYPE mockkube_store_clients gauge\nmockkube_store_clients {len(self._live)}\n"
        )

    async def _commit_groups(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while group := self._take_group():
                await self._commit(group)

    def add(self, connection: ClientConnection | HttpConnection) -> None:
        """Register an open connection."""
        self._connections[connection] = None
        self._no_connections.clear()

    def remove(self, connection: ClientConnection | HttpConnection) -> None:
        """Forget a connection that is closed."""
        self._connections.pop(connection, None)
        if not self._connections:
            self._no_connections.set()
        if isinstance(connection, ClientConnection):
            self.stop_sending(connection)

    def stop_sending(self, connection: ClientConnection) -> None:
        """Send no more commits to a client."""
        self._live.pop(connection, None)
        self.sole_client.remove(connection)

    def make_live(self, connection: ClientConnection) -> None:
        """Send every commit to a client from now on."""
        self._live[connection] = None

    def submit(self, connection: ClientConnection, write: Write) -> None:
        """Queue a write of a client."""
        if len(self._waiting) >= self.limits.waiting_writes_max:
            connection.end(f"{len(self._waiting)} writes are waiting already")
            return
        self._waiting.append((connection, write))
        self._wake.set()

    def compact(self, connection: ClientConnection, number: int, revision: int) -> None:
        """Compact the store for a client, and answer its request."""
        self._tasks.create_task(self._compact(connection, number, revision))

    async def _compact(self, connection: ClientConnection, number: int, revision: int) -> None:
        try:
            await self.store.compact(revision)
        except StoreError as error:
            connection.send(messages.encode_error(number, error))
            return
        note = messages.frame(Answer.COMPACTED, messages.REVISION.pack(self.store.versions.compacted))
        for live in tuple(self._live):
            live.send(note)
        connection.send(messages.frame(Answer.DONE, messages.REQUEST.pack(number)))

    def _take_group(self) -> list[tuple[ClientConnection, Write]]:
        group: list[tuple[ClientConnection, Write]] = []
        size, waiting, limits = 0, self._waiting, self.limits
        while waiting and len(group) < limits.group_writes_max and size < limits.group_bytes_max:
            group.append(waiting.popleft())
            size += len(group[-1][1].value or b"")
        return group

    async def _commit(self, group: Sequence[tuple[ClientConnection, Write]]) -> None:
        try:
            decisions = await self.store.commit([write for _, write in group])
        except StoreError as error:
            self._send_failure(group, error)
            return
        self._send_commit([connection for connection, _ in group], decisions.outcomes, decisions.events)

    def _send_commit(
        self, origins: Iterable[ClientConnection], outcomes: Iterable[Entry | Conflict], events: Iterable[Event]
    ) -> None:  # hot: every group of writes
        """Send each client its part of a commit."""
        items: dict[ClientConnection, list[bytes]] = {connection: [] for connection in self._live}
        remaining = iter(events)
        for origin, outcome in zip(origins, outcomes, strict=True):
            if isinstance(outcome, Conflict):
                # Without the current entry: at this point of the order the client has it.
                if origin in items:
                    items[origin].append(_CONFLICT)
                continue
            event, encoded = next(remaining), b""
            for connection, own_items in items.items():
                if connection is origin:
                    own_items.append(messages.OUTCOME_DONE.pack(Outcome.DONE, event.revision))
                else:
                    encoded = encoded or encode_event(event)
                    own_items.append(encoded)
        for connection, own_items in items.items():
            if own_items:
                connection.send(messages.frame(Answer.COMMIT, *own_items))

    def _send_failure(self, group: Sequence[tuple[ClientConnection, Write]], error: StoreError) -> None:
        cause = (error.cause if isinstance(error, Unavailable) else str(error)).encode()
        item = messages.OUTCOME_FAILED.pack(Outcome.FAILED, len(cause)) + cause
        for connection, _ in group:
            if connection in self._live:
                connection.send(messages.frame(Answer.COMMIT, item))


_CONFLICT: Final = bytes([Outcome.CONFLICT])
