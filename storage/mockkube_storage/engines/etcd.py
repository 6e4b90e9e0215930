"""etcd engine: the store is a part of the keys of an etcd cluster, version 3.4 or later.

A replica of the current entries answers reads of the present, after a round trip that makes them consistent. Each write
is one transaction that compares the revision of its key. When a member does not answer or has no leader, the next one
is used: reads are repeated there, while a write under way raises Unavailable, because it may have been done.
"""

import asyncio
import re
import ssl
from asyncio import Future, get_running_loop
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import parse_qsl, unquote

from mockkube_storage.engines.replica_store import ReplicaStore, parse_addresses
from mockkube_storage.errors import Misconfigured, Unavailable, UnknownEngine
from mockkube_storage.etcd.connection import EtcdConnection, EtcdOptions, EtcdReplica, connect
from mockkube_storage.etcd.key_space import KeyMapping, KeySpace
from mockkube_storage.model import Entry, Event, Page
from mockkube_storage.writes import Write

SCHEME: Final = "etcd://"
EXAMPLE: Final = "etcd://host:2379[,host:2379][?prefix=/text&ca=file&cert=file&key=file]"
# Time that a request waits for another member, and how often a read is sent.
FAILOVER_SECONDS_MAX: Final = 5.0
READ_ATTEMPTS_MAX: Final = 3
_OPTIONS: Final = ("prefix", "ca", "cert", "key")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EtcdUrl:
    """Parts of the URL of a store in etcd."""

    addresses: list[tuple[str, int]]
    user: str
    password: str
    options: dict[str, str]

    @classmethod
    def parse(cls, url: str) -> "EtcdUrl":
        """Return the parts of a URL. Raises UnknownEngine."""
        location, _, query = url.removeprefix(SCHEME).partition("?")
        credentials, _, hosts = location.rstrip("/").rpartition("@")
        user, _, password = credentials.partition(":")
        options = dict(parse_qsl(query, keep_blank_values=True))
        if not options.keys() <= set(_OPTIONS) or ("key" in options and "cert" not in options):
            raise UnknownEngine(url, EXAMPLE)
        return cls(parse_addresses(hosts, url, EXAMPLE), unquote(user), unquote(password), options)

    def make_tls_context(self) -> ssl.SSLContext | None:
        """Return how to connect with TLS; None if no certificate is given. Raises OSError."""
        ca, cert, key = (self.options.get(name) for name in ("ca", "cert", "key"))
        if ca is None and cert is None:
            return None
        context = ssl.create_default_context(cafile=ca)
        if cert is not None:
            context.load_cert_chain(cert, key)
        context.set_alpn_protocols(["h2"])
        return context


class EtcdStore(ReplicaStore):
    """Store in an etcd cluster, which other processes may use at the same time."""

    def __init__(self, url: str, mapping: KeyMapping | None = None) -> None:
        """Name the keys in etcd as the mapping does."""
        self._url = EtcdUrl.parse(url)
        self._mapping = mapping
        self._addresses = list(self._url.addresses)
        self._is_down = False  # whether no member has answered since the connection broke
        self._failover_waiters: list[Future[None]] = []
        super().__init__(re.sub(r"(://[^:@/]*):[^@]*@", r"\1:***@", url))  # a password is not for logs

    async def start(self) -> None:
        """Connect to a member, and load all entries."""
        self._is_down = False
        await super().start()

    async def close(self) -> None:
        """Wait for writes under way, then disconnect and end the watchers."""
        await super().close()
        self._end_failover()

    async def current_revision(self) -> int:
        """Ask a member that has a leader, and wait for what was committed before."""
        return await self._read(super().current_revision)

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        """Return the current entry from the replica; ask a member for older versions."""
        read = super().get
        return await self._read(lambda: read(key, revision=revision))

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Return current entries from the replica; ask a member for older versions."""
        read = super().list
        return await self._read(lambda: read(prefix, start=start, limit=limit, revision=revision))

    async def read_history(self, generation: int, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Return the next part of a watcher's history."""
        read = super().read_history
        return await self._read(lambda: read(generation, prefix, after))

    async def compact(self, revision: int) -> None:
        """Compact all of etcd, for all its clients."""
        compact = super().compact
        # Compacting again does nothing, so it may be repeated as reads are.
        await self._read(lambda: compact(revision))

    def _make_replica(self) -> EtcdReplica:
        return EtcdReplica(self._where)

    async def _write(self, write: Write) -> Entry:
        await self._wait_for_failover()
        return await super()._write(write)

    async def _read(self, read: Callable[[], Awaitable[T]]) -> T:
        """Return what a read returns; repeat it if its member fails."""
        attempts = READ_ATTEMPTS_MAX
        while True:
            await self._wait_for_failover()
            connection = self._connection
            try:
                return await read()
            except Unavailable:
                attempts -= 1
                if connection is None or not connection.closed.is_set() or self._keeper is None or not attempts:
                    raise

    async def _wait_for_failover(self) -> None:
        """Wait while a broken connection is replaced for the first time."""
        connection = self._connection
        is_broken = connection is None or connection.closed.is_set()
        if self._keeper is None or self._is_down or not is_broken:
            return
        waiter: Future[None] = get_running_loop().create_future()
        self._failover_waiters.append(waiter)
        try:
            async with asyncio.timeout(FAILOVER_SECONDS_MAX):
                await waiter
        except TimeoutError:
            raise Unavailable(self._where, "no member has answered") from None

    def _end_failover(self) -> None:
        waiters, self._failover_waiters = self._failover_waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _connect(self) -> EtcdConnection:
        try:
            connection = await self._connect_to_any()
        except Unavailable:
            self._is_down = True
            raise
        finally:
            # Those who wait run after the caller has set the connection.
            self._end_failover()
        self._is_down = False
        return connection

    async def _connect_to_any(self) -> EtcdConnection:
        """Return a live connection to the first member that has a leader."""
        assert isinstance(self._replica, EtcdReplica)
        try:
            tls = self._url.make_tls_context()
        except OSError as error:  # an ssl.SSLError is one
            raise Misconfigured(self._where, f"its certificates cannot be read: {error.strerror or error}") from error
        options = EtcdOptions(
            KeySpace(self._url.options.get("prefix", ""), self._mapping), self._url.user, self._url.password, tls
        )
        causes = []
        for _ in range(len(self._addresses)):
            host, port = self._addresses[0]
            # Whatever happens to this one, the next attempt begins with another.
            self._addresses.append(self._addresses.pop(0))
            try:
                return await connect(host, port, self._replica, options)
            except Unavailable as error:
                causes.append(error.cause)
        raise Unavailable(self._where, "; ".join(causes))
