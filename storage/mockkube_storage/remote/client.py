"""Client side of a connection to the server of a store."""

import asyncio
from asyncio import Event as AsyncEvent
from asyncio import Future, get_running_loop
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mockkube_storage.encoding import DELETE, ENTRY, PUT, Malformed, decode_entries, decode_item, decode_text, unpack
from mockkube_storage.errors import Conflict, StoreError, Unavailable
from mockkube_storage.model import Entry, Event, Page, delete_event, put_event
from mockkube_storage.remote import messages
from mockkube_storage.remote.messages import Answer, FrameReader, Outcome, Request, frame
from mockkube_storage.replica import Replica
from mockkube_storage.writes import PendingCommit, Write

# Time in which a server has to accept a connection and to answer the greeting.
CONNECT_SECONDS_MAX: Final = 5.0
HEAD_BYTES_MAX: Final = 16 * 1024
# A server that owes an answer and sends nothing for this many checks is taken for dead.
CHECK_SECONDS: Final = 10.0
SILENT_CHECKS_MAX: Final = 3
# Writes and reads that wait for their answer; one more raises Unavailable.
WAITING_MAX: Final = 65_536
# Bytes that wait to be sent to the server; one more write raises Unavailable.
UNSENT_BYTES_MAX: Final = 256 * 1024 * 1024


@dataclass(slots=True)
class RevisionRead:
    """Request for the revision, and the callers that share it."""

    sent_at: float
    answers: list["Future[None]"] = field(default_factory=list)


class ServerConnection(asyncio.Protocol):
    """Connection to the server. Everything that arrives is handled in its order, without waiting."""

    def __init__(self, host: str, port: int, replica: Replica) -> None:
        self._address = f"{host}:{port}"
        self._replica = replica
        self._reader = FrameReader(messages.ANSWER_BYTES_MAX)
        self._head: bytes | None = b""  # of the answer to the upgrade; None when it is complete
        self._entries: list[Entry] | None = None  # that have been loaded so far
        self._welcome: tuple[bytes, int, int] = (messages.NO_STORE_ID, 0, 0)
        self._unsent: list[bytes] = []
        self._writes: deque[tuple[Write, Future[Entry]]] = deque()
        self._reads: dict[int, Future[Any]] = {}
        self._last_number = 0
        self._revision_reads: dict[int, RevisionRead] = {}
        self._unsent_revision_read: RevisionRead | None = None
        self._sole_until = 0.0
        self._heard = True  # whether anything has arrived since the last check
        self._silent_checks = 0
        self._check_timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport
        self.live = AsyncEvent()
        self.closed = AsyncEvent()
        self.lost = AsyncEvent()  # also the transport has ended
        self.reason = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for frames in the place of HTTP."""
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(
            f"GET / HTTP/1.1\r\nHost: {self._address}\r\nConnection: Upgrade\r\n"
            f"Upgrade: {messages.PROTOCOL_NAME}\r\n\r\n".encode()
        )
        self._check_server()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail all that waits for an answer."""
        self.lost.set()
        self._fail(f"the connection to {self._address} broke" + (f": {exc}" if exc else ""))

    def close(self, reason: str) -> None:
        """Close the connection."""
        self._fail(reason)
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Handle the messages that are complete."""
        if self.closed.is_set():
            return
        self._heard = True
        try:
            if self._head is not None:
                data = self._read_head(self._head + data)
            for type_, body in self._reader.feed(data):
                self._handle(type_, body)
        except Malformed as error:
            self.close(f"the server at {self._address} sent an invalid message: {error}")

    def write(self, write: Write) -> "Future[Entry]":
        """Send a write; the future has its entry, or raises Conflict or Unavailable."""
        self._check_waiting(len(self._writes))
        key, value = write.key.encode(), write.value
        if value is None:
            data = frame(Request.DELETE, messages.DELETE.pack(write.expected), key)
        elif write.expected is None:
            data = frame(Request.CREATE, messages.CREATE.pack(len(key)), key, value)
        else:
            data = frame(Request.UPDATE, messages.UPDATE.pack(write.expected, len(key)), key, value)
        if self._transport.get_write_buffer_size() > UNSENT_BYTES_MAX:
            raise Unavailable(self._replica.where, f"{UNSENT_BYTES_MAX} bytes wait to be sent already")
        if len(data) > messages.REQUEST_BYTES_MAX:
            raise Unavailable(self._replica.where, f"a write of {len(data)} bytes is larger than its server accepts")
        answer: Future[Entry] = get_running_loop().create_future()
        self._writes.append((write, answer))
        self._send(data)
        return answer

    @property
    def is_sole(self) -> bool:
        """True while the server promises that no other client can write."""
        return self._sole_until > get_running_loop().time()

    def read_revision(self) -> "Future[None]":
        """Ask for the revision; the future is done when every write acknowledged before has been published here."""
        # Callers share a request that is not sent yet. One that is under way may be older than a write that they know.
        shared = self._unsent_revision_read
        if shared is None:
            self._check_waiting(len(self._revision_reads))
            self._unsent_revision_read = shared = RevisionRead(get_running_loop().time())
            number = self._next_number()
            self._revision_reads[number] = shared
            self._send(frame(Request.REVISION, messages.REQUEST.pack(number)))
        answer: Future[None] = get_running_loop().create_future()
        shared.answers.append(answer)
        return answer

    async def get(self, key: str, revision: int) -> Page:
        """Return a page with the entry of a key at a revision."""
        page: Page = await self._ask(Request.GET, messages.REVISION.pack(revision), key.encode())
        return page

    async def list(self, prefix: str, *, start: str, limit: int, revision: int) -> Page:
        """Return the entries of a prefix at a revision, or as many of them as the server sends at once."""
        text = prefix.encode()
        fields = messages.LIST.pack(0, revision, limit, len(text))[messages.REQUEST.size :]
        page: Page = await self._ask(Request.LIST, fields, text + start.encode())
        return page

    async def read_history(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Return the next events after a revision, and the revision up to which they are complete."""
        answer: tuple[tuple[Event, ...], int]
        answer = await self._ask(Request.HISTORY, messages.REVISION.pack(after), prefix.encode())
        return answer

    async def compact(self, revision: int) -> None:
        """Compact the store."""
        await self._ask(Request.COMPACT, messages.REVISION.pack(revision), b"")

    async def finish_writes(self) -> None:
        """Wait until all writes are answered, or the connection is closed."""
        while self._writes:
            await asyncio.wait([self._writes[-1][1]])

    async def _ask(self, type_: Request, fields: bytes, text: bytes) -> Any:
        self._check_waiting(len(self._reads))
        number = self._next_number()
        answer: Future[Any] = get_running_loop().create_future()
        self._reads[number] = answer
        self._send(frame(type_, messages.REQUEST.pack(number), fields, text))
        return await answer

    def _next_number(self) -> int:
        self._last_number = (self._last_number + 1) & 0xFFFFFFFF
        return self._last_number

    def _check_waiting(self, count: int) -> None:
        if self.closed.is_set():
            raise Unavailable(self._replica.where, self.reason)
        if count >= WAITING_MAX:
            raise Unavailable(self._replica.where, f"{WAITING_MAX} requests are waiting already")

    def _send(self, data: bytes) -> None:
        # All that is sent in one turn of the loop goes out together.
        if not self._unsent:
            get_running_loop().call_soon(self._flush)
        self._unsent.append(data)

    def _flush(self) -> None:
        if not self.closed.is_set():
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()
        self._unsent_revision_read = None

    def _fail(self, reason: str) -> None:
        """Fail all that waits for an answer, once."""
        if self.closed.is_set():
            return
        self.reason = reason
        self.closed.set()
        self.live.set()
        self._sole_until = 0.0
        if self._check_timer is not None:
            self._check_timer.cancel()
        waiting: list[Future[Any]] = [answer for _, answer in self._writes]
        waiting += self._reads.values()
        waiting += [answer for read in self._revision_reads.values() for answer in read.answers]
        for answer in waiting:
            _set_error(answer, Unavailable(self._replica.where, reason))
        self._writes.clear()
        self._reads.clear()
        self._revision_reads.clear()

    def _check_server(self) -> None:
        """Close the connection if the server has been silent for long although it owes an answer."""
        owes = bool(self._writes or self._reads or self._revision_reads or not self.live.is_set())
        self._silent_checks = self._silent_checks + 1 if owes and not self._heard else 0
        self._heard = False
        if self._silent_checks >= SILENT_CHECKS_MAX:
            self.close(f"the server at {self._address} does not answer")
        else:
            self._check_timer = get_running_loop().call_later(CHECK_SECONDS, self._check_server)

    def _read_head(self, data: bytes) -> bytes:
        """Read the answer to the upgrade and greet the server; return what follows the answer."""
        head, end, rest = data.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101 "[: len(head)]):
            line = head.partition(b"\r\n")[0][:80].decode("latin-1")
            raise Malformed(f"{line!r} in the place of 101; is it the store of a mockkube?")
        if not end:
            if len(data) > HEAD_BYTES_MAX:
                raise Malformed("its answer to the upgrade does not end")
            self._head = data
            return b""
        self._head = None
        replica = self._replica
        hello = messages.HELLO.pack(messages.PROTOCOL_VERSION, replica.store_id, replica.hub.revision)
        self._send(frame(Request.HELLO, hello))
        return rest

    def _handle(self, type_: int, body: bytes) -> None:  # hot: every message
        match type_:
            case Answer.COMMIT:
                self._handle_commit(body)
            case Answer.REVISED:
                self._handle_revision(body)
            case Answer.PAGE:
                number, revision, remaining = unpack(messages.PAGE, body)
                entries = decode_entries(body, messages.PAGE.size)
                self._answer(number, Page(tuple(entries), revision, remaining))
            case Answer.EVENTS:
                number, up_to = unpack(messages.GET, body)
                self._answer(number, _decode_history(body, up_to))
            case Answer.DONE:
                self._answer(unpack(messages.REQUEST, body)[0], None)
            case Answer.FAILED:
                number, error = messages.decode_error(body, self._replica.where)
                _set_error(self._reads.pop(number, None), error)
            case Answer.REVOKE:
                self._sole_until = 0.0
                self._send(frame(Request.RELEASED))
            case Answer.COMPACTED:
                self._replica.set_compacted(unpack(messages.REVISION, body)[0])
            case _:
                self._handle_loading(type_, body)

    def _handle_revision(self, body: bytes) -> None:
        number, _, sole_milliseconds = unpack(messages.REVISED, body)
        read = self._revision_reads.pop(number, None)
        if read is None:
            return
        if sole_milliseconds:
            self._sole_until = read.sent_at + sole_milliseconds / 1000
        for answer in read.answers:
            if not answer.done():
                answer.set_result(None)

    def _handle_loading(self, type_: int, body: bytes) -> None:
        match type_:
            case Answer.WELCOME:
                *welcome, loads = unpack(messages.WELCOME, body)
                self._welcome = (welcome[0], welcome[1], welcome[2])
                self._entries = [] if loads else None
            case Answer.ENTRIES if self._entries is not None:
                self._entries += decode_entries(body)
            case Answer.LIVE:
                self._finish_loading()
                self._replica.set_compacted(self._welcome[2])
                self.live.set()
            case _:
                raise Malformed(f"message of unknown type {type_}")

    def _finish_loading(self) -> None:
        if self._entries is not None:
            self._replica.load(self._welcome[0], self._entries, self._welcome[1])
            self._entries = None

    def _handle_commit(self, body: bytes) -> None:  # hot: every commit
        """Publish the events of a commit, then answer the own writes in it."""
        self._finish_loading()
        replica = self._replica
        commit = PendingCommit(replica.current.get)
        outcomes: list[tuple[Future[Entry], Entry | StoreError]] = []
        offset, end = 0, len(body)
        while offset < end:
            kind = body[offset]
            if kind in (PUT, DELETE):
                kind, entry, offset = decode_item(body, offset)
                if kind == DELETE and commit.get(entry.key) is None:
                    raise Malformed(f"deletion of {entry.key}, which does not exist")
                commit.add(Write(entry.key, entry.value if kind == PUT else None, None), entry.revision)
                continue
            if not self._writes:
                raise Malformed("outcome of a write that was not sent")
            write, answer = self._writes.popleft()
            outcome, offset = self._read_outcome(write, commit, body, offset)
            outcomes.append((answer, outcome))
        if commit.events:
            replica.publish(commit.events)
        for answer, outcome in outcomes:
            if isinstance(outcome, StoreError):
                _set_error(answer, outcome)
            elif not answer.done():
                answer.set_result(outcome)

    def _read_outcome(
        self, write: Write, commit: PendingCommit, body: bytes, offset: int
    ) -> tuple[Entry | StoreError, int]:
        """Return the outcome of an own write, and the offset of the next item; add its event to the commit."""
        match body[offset]:
            case Outcome.DONE:
                _, revision = unpack(messages.OUTCOME_DONE, body, offset)
                if write.value is None and commit.get(write.key) is None:
                    raise Malformed(f"deletion of {write.key}, which does not exist")
                self._replica.server_problem = ""
                return commit.add(write, revision).entry, offset + messages.OUTCOME_DONE.size
            case Outcome.CONFLICT:
                return Conflict(write.key, commit.get(write.key)), offset + 1
            case Outcome.FAILED:
                _, length = unpack(messages.OUTCOME_FAILED, body, offset)
                start = offset + messages.OUTCOME_FAILED.size
                cause = decode_text(body[start : start + length])
                self._replica.server_problem = cause
                return Unavailable(self._replica.where, cause), start + length
            case kind:
                raise Malformed(f"item of unknown kind {kind}")

    def _answer(self, number: int, result: Any) -> None:
        answer = self._reads.pop(number, None)
        if answer is not None and not answer.done():
            answer.set_result(result)


async def connect(host: str, port: int, replica: Replica) -> ServerConnection:
    """Return a connection that is live: the replica has everything up to now. Raises Unavailable."""
    connection = ServerConnection(host, port, replica)
    where = f"{host}:{port}"
    try:
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            await get_running_loop().create_connection(lambda: connection, host, port)
    except TimeoutError:
        raise Unavailable(replica.where, f"{where} does not answer") from None
    except (OSError, UnicodeError) as error:
        cause = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise Unavailable(replica.where, f"{where}: {cause}") from error
    try:
        await connection.live.wait()
    except BaseException:
        connection.close("connecting was cancelled")
        raise
    if connection.closed.is_set():
        raise Unavailable(replica.where, connection.reason)
    return connection


def _decode_history(body: bytes, up_to: int) -> tuple[tuple[Event, ...], int]:
    """Return events that are each preceded by the entry which they replaced."""
    events: list[Event] = []
    previous: Entry | None = None
    offset = messages.GET.size
    while offset < len(body):
        kind, entry, offset = decode_item(body, offset)
        if kind == ENTRY:
            previous = entry
            continue
        if kind == PUT:
            events.append(put_event(entry, previous))
        elif previous is not None:
            events.append(delete_event(previous, entry.revision))
        else:
            raise Malformed("deletion of an entry that is missing")
        previous = None
    return tuple(events), up_to


def _set_error(answer: "Future[Any] | None", error: Exception) -> None:
    if answer is not None and not answer.done():
        answer.set_exception(error)
        answer.exception()  # a caller that was cancelled does not read it
