"""Engines with a replica: a server keeps the store, and a connection to it keeps a replica up to date.

The replica has the current entries and recent events, so reads of the present are answered from it; versions and events
of the past are asked of the server. When the connection breaks, another one is opened; watchers wait meanwhile.
"""

import asyncio
import logging
from abc import abstractmethod
from asyncio import Event as AsyncEvent
from collections.abc import Awaitable
from contextlib import suppress
from typing import Final, Protocol
from urllib.parse import urlsplit

from mockkube_storage.errors import Compacted, FutureRevision, Unavailable, UnknownEngine
from mockkube_storage.keys import check_key
from mockkube_storage.model import Entry, Event, Page
from mockkube_storage.replica import Replica
from mockkube_storage.store import Store
from mockkube_storage.watch import QUEUED_EVENTS_MAX, Watch
from mockkube_storage.writes import Write

# Delays between attempts to connect again.
BACKOFF_SECONDS_FIRST: Final = 0.05
BACKOFF_SECONDS_MAX: Final = 1.0
# Time that a close waits for the outcome of writes.
CLOSE_SECONDS_MAX: Final = 0.4

_log = logging.getLogger(__name__)


class ReplicaConnection(Protocol):
    """Connection that keeps a replica up to date."""

    closed: AsyncEvent
    lost: AsyncEvent  # also the transport has ended

    @property
    def reason(self) -> str:
        """Reason why the connection is closed."""

    @property
    def is_sole(self) -> bool:
        """True while no other client can write."""

    def close(self, reason: str) -> None:
        """Close the connection; what waits for an answer raises Unavailable."""

    def write(self, write: Write) -> Awaitable[Entry]:
        """Return the entry of a write, when its event has been published. Raises Conflict or Unavailable."""

    def read_revision(self) -> Awaitable[None]:
        """Return when every write acknowledged before has been published here."""

    async def get(self, key: str, revision: int) -> Page:
        """Return a page with the entry of a key at a revision."""

    async def list(self, prefix: str, *, start: str, limit: int, revision: int) -> Page:
        """Return the entries of a prefix at a revision, or as many of them as the server sends at once."""

    async def read_history(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Return the next events after a revision, and the revision up to which they are complete."""

    async def compact(self, revision: int) -> None:
        """Compact the store."""

    async def finish_writes(self) -> None:
        """Wait until all writes are answered, or the connection is closed."""


class ReplicaStore(Store):
    """Store with a replica that a connection to a server keeps up to date."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._replica = self._make_replica()
        self._connection: ReplicaConnection | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._problem = ""

    @property
    def revision(self) -> int:
        """Revision up to which this process has received all events."""
        return self._replica.hub.revision

    @property
    def problem(self) -> str:
        """Reason why the server cannot be reached, or did not keep the last write; empty if there is none."""
        return self._problem or self._replica.server_problem

    async def start(self) -> None:
        """Connect, and load all entries."""
        assert self._keeper is None, "started twice"
        self._replica = self._make_replica()
        self._problem = ""
        self._connection = await self._connect()
        self._keeper = asyncio.create_task(self._stay_connected(self._connection))  # noqa: TID251  `close` awaits it

    async def close(self) -> None:
        """Wait for writes under way, then disconnect and end the watchers."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                async with asyncio.timeout(CLOSE_SECONDS_MAX):
                    await connection.finish_writes()
        except TimeoutError:
            _log.warning("store %s: the server has not answered all writes", self._where)
        finally:
            if connection is not None:
                connection.close("it has been closed")
            self._replica.hub.end(Unavailable(self._where, "it has been closed"))
            keeper.cancel()
        await asyncio.wait([keeper])
        if connection is not None:
            await connection.lost.wait()

    async def current_revision(self) -> int:
        """Return the server's revision; ask for it unless the server has promised that no other client writes."""
        connection = self._live_connection
        if not connection.is_sole:
            await connection.read_revision()
        return self.revision

    async def poll(self) -> None:
        """Receive everything that is committed by now."""
        await self.current_revision()

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        """Return the current entry from the replica; ask the server for older versions."""
        if await self._is_current(revision):
            return self._replica.current.get(key)
        page = await self._live_connection.get(key, revision)
        return page.entries[0] if page.entries else None

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Return current entries from the replica; ask the server for older versions."""
        if await self._is_current(revision):
            return self._replica.current.page(prefix, start=start, limit=limit, revision=self.revision)
        connection = self._live_connection
        entries: list[Entry] = []
        while True:
            part_limit = limit - len(entries) if limit else 0
            part = await connection.list(prefix, start=start, limit=part_limit, revision=revision)
            entries += part.entries
            if not part.has_more or (limit and len(entries) >= limit):
                return Page(tuple(entries), revision, part.remaining)
            start = part.entries[-1].key + "\0"  # the least key after it

    async def create(self, key: str, value: bytes) -> Entry:
        """Create the key at the server."""
        return await self._write(Write(key, value, None))

    async def update(self, key: str, value: bytes, *, expected: int) -> Entry:
        """Replace the entry at the server."""
        return await self._write(Write(key, value, expected))

    async def delete(self, key: str, *, expected: int) -> Entry:
        """Delete the entry at the server."""
        return await self._write(Write(key, None, expected))

    def watch(self, prefix: str, *, after: int, events_max: int = QUEUED_EVENTS_MAX) -> Watch:
        """Watch a prefix; events that the replica no longer has are read from the server first."""
        self._check_started()
        history = _History(self, self._replica.generation)
        return Watch(self._replica.hub, history, prefix, after=after, events_max=events_max)

    async def compact(self, revision: int) -> None:
        """Compact the store of the server, for all its clients."""
        await self._live_connection.compact(revision)

    async def read_history(self, generation: int, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Return the next part of a watcher's history."""
        self._check_generation(generation, after)
        answer = await self._live_connection.read_history(prefix, after)
        self._check_generation(generation, after)
        return answer

    def _check_generation(self, generation: int, after: int) -> None:
        # The replica has been loaded anew: revisions before may be those of another store.
        if generation != self._replica.generation:
            raise Compacted(after, self.revision)

    async def _is_current(self, revision: int) -> bool:
        """Return whether the replica is at a revision, or at the newest one for 0. Raises as reads do."""
        if revision:
            connection = self._live_connection
            if revision > self.revision:
                await connection.read_revision()
                if revision > self.revision:
                    raise FutureRevision(revision, self.revision)
            if revision < self._replica.compacted:
                raise Compacted(revision, self._replica.compacted)
            return revision == self.revision
        await self.current_revision()
        return True

    async def _write(self, write: Write) -> Entry:
        check_key(write.key)
        return await self._live_connection.write(write)

    @property
    def _live_connection(self) -> ReplicaConnection:
        self._check_started()
        if self._connection is None:
            raise Unavailable(self._where, self._problem)
        return self._connection

    def _check_started(self) -> None:
        if self._keeper is None:
            raise Unavailable(self._where, "it is not started, or has been closed")

    @abstractmethod
    def _make_replica(self) -> Replica:
        """Return an empty replica."""

    @abstractmethod
    async def _connect(self) -> ReplicaConnection:
        """Return a live connection: the replica has everything up to now. Raises Unavailable."""

    async def _stay_connected(self, connection: ReplicaConnection) -> None:
        """Connect again whenever the connection breaks, until cancelled."""
        while True:
            await connection.closed.wait()
            self._connection = None
            self._problem = connection.reason
            _log.warning("store %s: %s", self._where, self._problem)
            connection = await self._reconnect()
            _log.warning("store %s: connected again", self._where)
            self._connection = connection
            self._problem = self._replica.server_problem = ""

    async def _reconnect(self) -> ReplicaConnection:
        """Connect again, with backoff."""
        delay = BACKOFF_SECONDS_FIRST
        while True:
            try:
                return await self._connect()
            except Unavailable as error:
                self._problem = error.cause
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await asyncio.Future()
            delay = min(2 * delay, BACKOFF_SECONDS_MAX)


class _History:
    """Watch history of one load of the replica."""

    def __init__(self, store: ReplicaStore, generation: int) -> None:
        self._store = store
        self._generation = generation

    async def events(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Return the next part, read from the server."""
        return await self._store.read_history(self._generation, prefix, after)


def parse_addresses(text: str, url: str, example: str) -> list[tuple[str, int]]:
    """Return the addresses in `host:port[,host:port]`, a part of a URL. Raises UnknownEngine."""
    addresses = []
    for part in text.split(","):
        try:
            split = urlsplit(f"//{part}")
            host, port = split.hostname, split.port
        except ValueError:
            host = port = None
        if not host or port is None:
            raise UnknownEngine(url, example)
        addresses.append((host, port))
    return addresses
