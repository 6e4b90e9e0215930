"""Connection to one member of an etcd cluster, which keeps a replica up to date.

One watch on all keys feeds the replica. Every revision of etcd is a change of some key, so the watch is complete if its
revisions are consecutive; that a consistent read has been caught up with shows without a notification of progress.
"""

import asyncio
import logging
import ssl
from asyncio import Event as AsyncEvent
from asyncio import Future, get_running_loop
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from mockkube_storage.encoding import Malformed
from mockkube_storage.errors import Compacted, Conflict, FutureRevision, Unavailable
from mockkube_storage.etcd import grpc, messages
from mockkube_storage.etcd.grpc import GrpcConnection, GrpcError
from mockkube_storage.etcd.history import HistoryRead
from mockkube_storage.etcd.key_space import KeySpace
from mockkube_storage.etcd.messages import RangeResponse, TxnResponse, WatchEvent
from mockkube_storage.model import REVISION_FIRST, Entry, Event, Page
from mockkube_storage.replica import Replica
from mockkube_storage.writes import PendingCommit, Write

# Time in which a member has to accept a connection and to answer first requests.
CONNECT_SECONDS_MAX: Final = 5.0
# Entries of one response.
PAGE_ENTRIES_MAX: Final = 1_000
# Requests that wait for their answer; one more raises Unavailable.
WAITING_MAX: Final = 65_536
# Writes sent and not answered; others wait. etcd refuses further ones when 5,000 are not applied.
WRITES_UNDER_WAY_MAX: Final = 512
# A member that sends nothing is pinged, and taken for dead after so many further checks. etcd closes the connections of
# clients that ping more than every 5 seconds.
CHECK_SECONDS: Final = 1.0
PING_CHECKS_MIN: Final = 6
UNANSWERED_CHECKS_MAX: Final = 3
# A member has answered by then that a request timed out; etcd waits for 7 seconds.
REQUEST_CHECKS_MAX: Final = 10
# Attempts of a load that compactions overtake.
LOAD_ATTEMPTS_MAX: Final = 5

_ANY_KEY: Final = messages.encode_range(messages.ALL_KEYS, limit=1, keys_only=True)
_OVERLOADED: Final = "too many requests"
_COMPACTED: Final = "required revision has been compacted"
# Errors of one request; after all others another member may do better.
_ERRORS_OF_REQUEST: Final = (grpc.INVALID_ARGUMENT, grpc.RESOURCE_EXHAUSTED, grpc.OUT_OF_RANGE, grpc.PERMISSION_DENIED)
_log = logging.getLogger(__name__)


class EtcdReplica(Replica):
    """Replica of the keys of a store; `seen_revision` counts changes of other keys in etcd as well."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.seen_revision = REVISION_FIRST
        self.is_incomplete = False  # events are missing, so it has to be loaded anew


@dataclass(frozen=True, slots=True)
class EtcdOptions:
    """Part of etcd's keys that the store has, and how its members are reached."""

    key_space: KeySpace
    user: str = ""
    password: str = ""
    tls: ssl.SSLContext | None = None


class EtcdConnection:
    """Connection to a member."""

    is_sole: Final = False

    def __init__(self, connection: GrpcConnection, address: str, replica: EtcdReplica, options: EtcdOptions) -> None:
        self._grpc = connection
        self._address = address
        self._replica = replica
        self._options = options
        self._keys = options.key_space
        self.closed: AsyncEvent = connection.closed
        self.lost: AsyncEvent = connection.lost
        self._watch_created: Future[None] = get_running_loop().create_future()
        self._fragments: list[WatchEvent] = []
        self._acknowledged: dict[int, Write] = {}  # own writes that have not been published, by revision
        self._revision_waiters: list[tuple[int, int, Future[None]]] = []
        self._waiters_count = 0
        self._shared_read: Future[bytes] | None = None
        self._open_writes = 0
        self._cancelled_writes: set[Future[bytes]] = set()  # without a response yet
        self._writes_done = AsyncEvent()
        self._write_slots = asyncio.Semaphore(WRITES_UNDER_WAY_MAX)
        self._sent: deque[tuple[int, Future[bytes]]] = deque()  # requests and the check before each
        self._check_number = 0
        self._pinged_at_check = 0
        self._awaits_ping = False
        self._check_timer: asyncio.TimerHandle = get_running_loop().call_later(CHECK_SECONDS, self._check_member)

    @property
    def reason(self) -> str:
        """Reason why the connection is closed."""
        return f"{self._address}: {self._grpc.reason}"

    def close(self, reason: str) -> None:
        """Close the connection."""
        self._grpc.close(reason)
        self._end()

    async def start(self) -> None:
        """Bring the replica up to date, and follow all further changes."""
        self._grpc.set_metadata("hasleader", "true")  # a member without a leader answers at once that it has none
        if self._options.user:
            request = messages.encode_authentication(self._options.user, self._options.password)
            self._grpc.set_metadata("token", messages.decode_token(await self._call(messages.AUTHENTICATE, request)))
        header = messages.decode_header(await self._call(messages.RANGE, _ANY_KEY))
        replica = self._replica
        store_id = header.cluster_id.to_bytes(8, "big")
        continues = store_id == replica.store_id and header.revision >= replica.seen_revision
        if not continues or replica.is_incomplete:
            await self._load(store_id)
        self._grpc.open_stream(
            messages.WATCH,
            messages.encode_watch(replica.seen_revision + 1, with_previous=False),
            self._handle_watch,
            self._handle_watch_end,
        )
        await self._watch_created

    async def write(self, write: Write) -> Entry:
        """Send a write; return its entry when its event has been published. Raises Conflict or Unavailable."""
        if self._open_writes >= WAITING_MAX:
            raise Unavailable(self._replica.where, f"{WAITING_MAX} writes are waiting already")
        self._open_writes += 1
        try:
            async with self._write_slots:
                await self._finish_cancelled_writes()
                return await self._write(write)
        finally:
            self._open_writes -= 1
            if not self._open_writes:
                self._writes_done.set()

    async def read_revision(self) -> None:
        """Return when every write acknowledged before, by any member, has been published here."""
        await self._finish_cancelled_writes()
        # Callers share a request that is not sent yet. One that is under way may be older than a write that they know.
        shared = self._shared_read
        if shared is None:
            shared = self._shared_read = self._send(messages.RANGE, _ANY_KEY)
            get_running_loop().call_soon(self._forget_shared_read)
        try:
            data = await asyncio.shield(shared)
        except GrpcError as error:
            raise self._translate(error) from None
        await self._wait_until_seen(messages.decode_header(data).revision)

    async def get(self, key: str, revision: int) -> Page:
        """Return a page with the entry of a key at a revision."""
        return await self._read_range(self._keys.encode(key), b"", 1, revision)

    async def list(self, prefix: str, *, start: str, limit: int, revision: int) -> Page:
        """Return the entries of a prefix at a revision, or as many of them as one response holds."""
        found = self._keys.encode_range(prefix, start)
        if found is not None:
            return await self._read_range(*found, min(limit or PAGE_ENTRIES_MAX, PAGE_ENTRIES_MAX), revision)
        page = await self._read_all(revision)
        entries = [entry for entry in page.entries if entry.key.startswith(prefix) and entry.key >= start]
        entries.sort(key=lambda entry: entry.key)
        count = min(limit or len(entries), len(entries))
        return Page(tuple(entries[:count]), revision, len(entries) - count)

    async def read_history(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Return the next events after a revision, and the revision up to which they are complete."""
        up_to = self._replica.hub.revision
        if after < self._replica.compacted:
            raise Compacted(after, self._replica.compacted)
        if after >= up_to:
            return (), up_to
        # From `after` on, and not from the revision after it: so etcd refuses exactly what is before its compaction.
        return await self._read_history(HistoryRead(self._keys, prefix, after, up_to), max(after, REVISION_FIRST))

    async def _read_history(self, read: HistoryRead, first: int) -> tuple[tuple[Event, ...], int]:
        """Return what a watch from a revision on reads. Raises Compacted or Unavailable."""
        self._check_open()
        request = messages.encode_watch(first, with_previous=True)
        stream = self._grpc.open_stream(messages.WATCH, request, read.handle_message, read.handle_end)
        try:
            return await read.answer
        except Compacted as error:
            self._replica.set_compacted(error.oldest)
            raise
        except GrpcError as error:
            raise self._translate(error) from None
        finally:
            stream.cancel()

    async def compact(self, revision: int) -> None:
        """Compact all of etcd."""
        if revision < REVISION_FIRST:
            return
        try:
            await self._send(messages.COMPACT, messages.encode_compaction(revision))
        except GrpcError as error:
            if error.code != grpc.OUT_OF_RANGE:
                raise self._translate(error) from None
            if _COMPACTED in error.message:
                return
            await self.read_revision()
            raise FutureRevision(revision, self._replica.hub.revision) from None
        self._replica.set_compacted(revision)

    async def finish_writes(self) -> None:
        """Wait until all writes are answered, or the connection is closed."""
        while self._open_writes:
            self._writes_done.clear()
            await self._writes_done.wait()

    async def _call(self, method: str, message: bytes) -> bytes:
        try:
            return await self._send(method, message)
        except GrpcError as error:
            raise self._translate(error) from None

    def _send(self, method: str, message: bytes) -> "Future[bytes]":
        self._check_open()
        if self._grpc.open_streams >= WAITING_MAX:
            raise Unavailable(self._replica.where, f"{WAITING_MAX} requests are waiting already")
        answer = self._grpc.call(method, message)
        self._sent.append((self._check_number, answer))
        return answer

    def _check_open(self) -> None:
        if self.closed.is_set():
            raise Unavailable(self._replica.where, self.reason)

    def _translate(self, error: GrpcError) -> Unavailable:
        """Return the error of a store for one of the member; close the connection if another member may do better."""
        if error.code not in _ERRORS_OF_REQUEST and _OVERLOADED not in error.message:
            self.close(error.message)
        return Unavailable(self._replica.where, f"{self._address}: {error}")

    async def _load(self, store_id: bytes) -> None:
        """Read all entries of the store at one revision."""
        for _ in range(LOAD_ATTEMPTS_MAX):
            try:
                page = await self._read_all(0)
            except Compacted:
                continue
            self._replica.load(store_id, page.entries, page.revision)
            self._replica.seen_revision = page.revision
            self._replica.is_incomplete = False
            return
        raise Unavailable(self._replica.where, "it is compacted faster than it can be read")

    async def _read_all(self, revision: int) -> Page:
        """Return all entries of the store at a revision, or at the newest one for 0, in the order of etcd's keys."""
        entries = self._keys.to_entries(())
        first, end = self._keys.encode_all()
        while True:
            request = messages.encode_range(first, end, limit=PAGE_ENTRIES_MAX, revision=revision)
            response = await self._range(request, revision)
            revision = revision or response.header.revision
            entries += self._keys.to_entries(response.entries)
            if response.count <= len(response.entries):
                return Page(tuple(entries), revision, 0)
            first = response.entries[-1].key + b"\0"  # the least key after it

    async def _read_range(self, first: bytes, end: bytes, limit: int, revision: int) -> Page:
        request = messages.encode_range(first, end, limit=limit, revision=revision)
        response = await self._range(request, revision)
        entries = self._keys.to_entries(response.entries)
        return Page(tuple(entries), revision, response.count - len(response.entries))

    async def _range(self, request: bytes, revision: int) -> RangeResponse:
        try:
            return messages.decode_range(await self._send(messages.RANGE, request))
        except GrpcError as error:
            if error.code != grpc.OUT_OF_RANGE:
                raise self._translate(error) from None
            if _COMPACTED not in error.message:
                raise FutureRevision(revision, self._replica.hub.revision) from None
        await self._find_compacted(revision)
        raise Compacted(revision, self._replica.compacted)

    async def _find_compacted(self, revision: int) -> None:
        """Find out up to where etcd has been compacted, which is beyond a revision: only a refused watch tells it."""
        if self._replica.compacted > revision:
            return
        read = HistoryRead(self._keys, "", revision, revision + 1)
        await self._read_history(read, max(revision, REVISION_FIRST))

    async def _write(self, write: Write) -> Entry:
        previous = self._replica.current.get(write.key)
        key, value, expected = self._keys.encode(write.key), write.value, write.expected
        if expected is None:
            message = messages.encode_create(key, value or b"")
        elif value is None:
            message = messages.encode_delete(key, expected)
        else:
            message = messages.encode_update(key, value, expected)
        answer = self._send(messages.TXN, message)
        try:
            response = messages.decode_txn(await asyncio.shield(answer))
        except asyncio.CancelledError:
            if not answer.done():
                self._cancelled_writes.add(answer)
                answer.add_done_callback(self._cancelled_writes.discard)
            raise
        except GrpcError as error:
            if error.code == grpc.RESOURCE_EXHAUSTED:  # the database is full
                self._replica.server_problem = error.message
            raise self._translate(error) from None
        revision = response.header.revision
        if not response.succeeded:
            await self._wait_until_seen(revision)
            raise Conflict(write.key, self._current_entry(response))
        self._replica.server_problem = ""
        if revision > self._replica.seen_revision:
            self._acknowledged[revision] = write
            self._publish_acknowledged()
        await self._wait_until_seen(revision)
        return self._to_entry(write, previous, revision)

    async def _finish_cancelled_writes(self) -> None:
        """Wait for the responses of cancelled writes, so that what follows shows whether they are done."""
        # etcd handles the requests of a connection in any order.
        while self._cancelled_writes:
            await asyncio.wait(tuple(self._cancelled_writes))

    def _current_entry(self, response: TxnResponse) -> Entry | None:
        return None if response.current is None else next(iter(self._keys.to_entries([response.current])))

    def _to_entry(self, write: Write, previous: Entry | None, revision: int) -> Entry:
        """Return the entry of a write that has been published; `previous` was current when it was sent."""
        if write.expected is None:
            return Entry(write.key, write.value or b"", revision, revision)
        if previous is None or previous.revision != write.expected:
            # The caller knew the entry before this replica did.
            for event in self._replica.hub.events_after(revision - 1) or ():
                if event.revision == revision and event.entry.key == write.key:
                    return event.entry
            raise Unavailable(self._replica.where, "the write is done, but its entry has been compacted")
        value = previous.value if write.value is None else write.value
        return Entry(write.key, value, previous.create_revision, revision)

    def _publish_acknowledged(self) -> None:
        """Publish the own writes that follow what has been published: their responses often precede their events."""
        replica = self._replica
        while (write := self._acknowledged.pop(replica.seen_revision + 1, None)) is not None:
            commit = PendingCommit(replica.current.get)
            current = replica.current.get(write.key)
            if (current.revision if current else None) != write.expected:
                self._discard_replica(f"{write.key} is not at revision {write.expected}, which a write replaced")
                return
            self._publish([commit.add(write, replica.seen_revision + 1)], replica.seen_revision + 1)

    def _publish(self, events: Sequence[Event], revision: int) -> None:
        """Publish what happened up to a revision."""
        if events:
            self._replica.publish(list(events))
        self._replica.seen_revision = revision
        waiters = self._revision_waiters
        while waiters and waiters[0][0] <= revision:
            _, _, waiter = heappop(waiters)
            if not waiter.done():
                waiter.set_result(None)

    async def _wait_until_seen(self, revision: int) -> None:
        if self._replica.seen_revision >= revision:
            return
        self._check_open()
        waiter: Future[None] = get_running_loop().create_future()
        self._waiters_count += 1
        heappush(self._revision_waiters, (revision, self._waiters_count, waiter))
        await waiter

    def _handle_watch(self, data: bytes) -> None:  # hot: every change
        try:
            response = messages.decode_watch(data)
            if response.canceled:
                self._handle_refusal(response.compact_revision, response.cancel_reason)
                return
            if response.created and not self._watch_created.done():
                self._watch_created.set_result(None)
            self._fragments += response.events
            if self._fragments and not response.is_fragment:
                events, self._fragments = self._fragments, []
                self._apply(events)
                self._publish_acknowledged()
        except Malformed as error:
            self._discard_replica(f"invalid message: {error}")

    def _apply(self, events: Sequence[WatchEvent]) -> None:
        """Publish the events of a watch. Raises Malformed if some are missing."""
        replica = self._replica
        published = seen = replica.seen_revision
        commit = PendingCommit(replica.current.get)
        for event in events:
            revision = event.current.mod_revision
            if revision <= published:
                continue  # an own write
            if revision > seen + 1:
                raise Malformed(f"revision {revision} after {seen}")
            seen = revision
            self._acknowledged.pop(revision, None)
            key = self._keys.decode(event.current.key)
            if key is None:
                continue  # of another program
            if event.is_deletion and commit.get(key) is None:
                raise Malformed(f"deletion of {key}, which does not exist")
            commit.add(Write(key, None if event.is_deletion else event.current.value, None), revision)
        if seen > published:
            self._publish(commit.events, seen)

    def _handle_refusal(self, compact_revision: int, reason: str) -> None:
        if compact_revision:
            self._discard_replica(f"revisions up to {compact_revision} have been compacted")
        else:
            self.close(reason or "it has cancelled the watch")

    def _handle_watch_end(self, error: GrpcError | None) -> None:
        self.close(str(error) if error else "it has ended the watch")

    def _discard_replica(self, reason: str) -> None:
        """Close the connection; the next one loads everything, and the watchers end."""
        self._replica.is_incomplete = True
        self.close(reason)

    def _forget_shared_read(self) -> None:
        self._shared_read = None

    def _check_member(self) -> None:
        """Close the connection if the member is silent, or does not answer a request."""
        if self.closed.is_set():
            self._end()
            return
        self._check_number += 1
        self._check_timer = get_running_loop().call_later(CHECK_SECONDS, self._check_member)
        while self._sent and self._sent[0][1].done():
            self._sent.popleft()
        since_ping = self._check_number - self._pinged_at_check
        if self._sent and self._check_number - self._sent[0][0] > REQUEST_CHECKS_MAX:
            self.close("it does not answer a request")
        elif self._grpc.heard:
            self._grpc.heard = self._awaits_ping = False
        elif self._awaits_ping and since_ping >= UNANSWERED_CHECKS_MAX:
            self.close("it does not answer")
        elif not self._awaits_ping and (since_ping >= PING_CHECKS_MIN or not self._pinged_at_check):
            self._awaits_ping = True
            self._pinged_at_check = self._check_number
            self._grpc.ping()

    def _end(self) -> None:
        """Fail what waits for a revision."""
        self._check_timer.cancel()
        waiting, self._revision_waiters = self._revision_waiters, []
        for waiter in [self._watch_created, *(waiter for _, _, waiter in waiting)]:
            if not waiter.done():
                waiter.set_exception(Unavailable(self._replica.where, self.reason))
                waiter.exception()  # a caller that was cancelled does not read it


async def connect(host: str, port: int, replica: EtcdReplica, options: EtcdOptions) -> EtcdConnection:
    """Return a connection to a member that has brought the replica up to date. Raises Unavailable."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            _, transport = await get_running_loop().create_connection(
                lambda: GrpcConnection(address, tls=options.tls is not None), host, port, ssl=options.tls
            )
    except TimeoutError:
        raise Unavailable(replica.where, f"{address} does not answer") from None
    except (OSError, UnicodeError) as error:  # an ssl.SSLError is an OSError
        cause = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise Unavailable(replica.where, f"{address}: {cause}") from error
    connection = EtcdConnection(transport, address, replica, options)
    try:
        await connection.start()
    except BaseException:
        connection.close("connecting has failed")
        raise
    return connection
