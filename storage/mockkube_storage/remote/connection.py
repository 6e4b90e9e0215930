"""Server side of one client's connection, after the upgrade to frames.

A client first receives what it lacks, as fast as it reads; then it is live: every commit is sent to it at once.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mockkube_storage.encoding import Malformed, decode_text, encode_entry, encode_event, unpack
from mockkube_storage.errors import Compacted, FutureRevision, InvalidKey
from mockkube_storage.keys import check_key
from mockkube_storage.model import Entry, Event
from mockkube_storage.remote import messages
from mockkube_storage.remote.messages import Answer, FrameReader, Request, frame, split_text
from mockkube_storage.writes import Write

if TYPE_CHECKING:
    from mockkube_storage.remote.server import StoreServer

# Size of one part of what a client loads, and of the watch history.
PART_BYTES_MAX: Final = 1024 * 1024
# Size of one part of a page: for each, all keys of the prefix are looked up.
PAGE_BYTES_MAX: Final = 8 * 1024 * 1024

_log = logging.getLogger(__name__)


class ClientConnection(asyncio.Protocol):
    """Connection of one client. An invalid message closes this connection only."""

    def __init__(self, server: "StoreServer", transport: asyncio.Transport) -> None:
        self._server = server
        self._versions = server.store.versions
        self._transport = transport
        self._reader = FrameReader(messages.REQUEST_BYTES_MAX)
        self._unsent: list[bytes] = []
        self._paused = False
        self._greeted = False
        self._welcomed = False
        self._live = False
        self._ended = False
        self._entries: Sequence[Entry] = ()  # that are still to be loaded, from _next_entry on
        self._next_entry = 0
        self._sent_revision = 0  # up to which the client has all events
        server.add(self)

    @property
    def name(self) -> str:
        """Address of the client, for the log."""
        address = self._transport.get_extra_info("peername")
        return f"{address[0]}:{address[1]}" if address else "unknown"

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client. Its waiting writes are still done."""
        if not self._ended:  # the client itself has closed the connection, or has ended
            self._server.sole_client.release(self)
        self._live = False
        self._server.remove(self)

    def revoke(self) -> None:
        """Tell the client that others will write."""
        self.send(frame(Answer.REVOKE))

    def pause_writing(self) -> None:
        """Stop sending what the client loads."""
        self._paused = True

    def resume_writing(self) -> None:
        """Go on with what the client loads."""
        self._paused = False
        self._feed()

    def close(self) -> None:
        """Send what is queued, then close the connection."""
        self._flush()
        self._ended = True
        self._transport.close()

    def end(self, reason: str) -> None:
        """Disconnect the client without waiting for what it has not read."""
        if not self._transport.is_closing():
            _log.warning("disconnected the client %s: %s", self.name, reason)
        self._server.stop_sending(self)
        self.abort()

    def abort(self) -> None:
        """Close the connection without sending what is queued."""
        self._ended = True
        self._live = False
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Handle the messages that are complete."""
        try:
            for type_, body in self._reader.feed(data):
                self._handle(type_, body)
                if self._ended:
                    return
        except (Malformed, InvalidKey) as error:
            self.end(f"invalid message: {error}")
        self._flush()

    def send(self, data: bytes) -> None:
        """Send a frame now, after those that are queued."""
        self._unsent.append(data)
        self._flush()

    def _flush(self) -> None:
        if not self._unsent:
            return
        data = self._unsent[0] if len(self._unsent) == 1 else b"".join(self._unsent)
        self._unsent.clear()
        if self._transport.is_closing():
            return
        self._transport.write(data)
        waiting = self._transport.get_write_buffer_size()
        # What a client loads is sent as fast as it reads.
        if self._live and waiting > self._server.limits.unsent_bytes_max:
            self.end(f"it reads too slowly, {waiting} bytes wait to be sent to it")

    def _handle(self, type_: int, body: bytes) -> None:  # hot: every message
        if not self._greeted:
            if type_ != Request.HELLO:
                raise Malformed(f"message of type {type_} before the greeting")
            self._greet(body)
            return
        if type_ == Request.RELEASED:
            self._server.sole_client.release(self)
            return
        if not self._live:
            raise Malformed(f"message of type {type_} before the client has loaded everything")
        match type_:
            case Request.UPDATE:
                expected, length = unpack(messages.UPDATE, body)
                key, value = split_text(body, messages.UPDATE.size, length)
                self._submit(Write(key, value, expected))
            case Request.CREATE:
                (length,) = unpack(messages.CREATE, body)
                key, value = split_text(body, messages.CREATE.size, length)
                self._submit(Write(key, value, None))
            case Request.DELETE:
                (expected,) = unpack(messages.DELETE, body)
                self._submit(Write(decode_text(body[messages.DELETE.size :]), None, expected))
            case Request.REVISION:
                (number,) = unpack(messages.REQUEST, body)
                self._unsent.append(self._answer_revision(number))
            case _:
                self._handle_read(type_, body)

    def _answer_revision(self, number: int) -> bytes:
        seconds = self._server.sole_client.promise(self)
        return frame(Answer.REVISED, messages.REVISED.pack(number, self._versions.revision, int(seconds * 1000)))

    def _handle_read(self, type_: int, body: bytes) -> None:
        match type_:
            case Request.GET | Request.LIST | Request.HISTORY:
                (number,) = unpack(messages.REQUEST, body)
                try:
                    answer = self._read(type_, body)
                except (Compacted, FutureRevision) as error:
                    answer = messages.encode_error(number, error)
                self.send(answer)
            case Request.COMPACT:
                number, revision = unpack(messages.GET, body)
                self._server.compact(self, number, revision)
            case _:
                raise Malformed(f"message of unknown type {type_}")

    def _read(self, type_: int, body: bytes) -> bytes:
        match type_:
            case Request.GET:
                number, revision = unpack(messages.GET, body)
                return self._get(number, revision, decode_text(body[messages.GET.size :]))
            case Request.LIST:
                number, revision, limit, length = unpack(messages.LIST, body)
                prefix, start = split_text(body, messages.LIST.size, length)
                return self._list(number, revision, limit, prefix, decode_text(start))
            case _:
                number, after = unpack(messages.GET, body)
                return self._read_history(number, after, decode_text(body[messages.GET.size :]))

    def _submit(self, write: Write) -> None:
        check_key(write.key)
        self._server.submit(self, write)

    def _get(self, number: int, revision: int, key: str) -> bytes:
        entry = self._versions.get(key, revision)
        items = [] if entry is None else [encode_entry(entry)]
        return frame(Answer.PAGE, messages.PAGE.pack(number, revision, 0), *items)

    def _list(self, number: int, revision: int, limit: int, prefix: str, start: str) -> bytes:
        page = self._versions.list(prefix, start=start, limit=limit, revision=revision)
        items, size = [], 0
        for entry in page.entries:
            if size > PAGE_BYTES_MAX:
                break
            items.append(encode_entry(entry))
            size += len(items[-1])
        remaining = page.remaining + len(page.entries) - len(items)
        return frame(Answer.PAGE, messages.PAGE.pack(number, page.revision, remaining), *items)

    def _read_history(self, number: int, after: int, prefix: str) -> bytes:
        """Answer with the next events of a prefix, each preceded by the entry that it replaced."""
        events = self._versions.hub.events_after(after)
        if events is None:
            raise Compacted(after, self._versions.compacted)
        items, size = [], 0
        for event in events:
            if not event.entry.key.startswith(prefix):
                continue
            if size > PART_BYTES_MAX:
                break
            if event.previous is not None:
                items.append(encode_entry(event.previous))
            items.append(encode_event(event))
            size += len(items[-1])
        return frame(Answer.EVENTS, messages.GET.pack(number, self._versions.revision), *items)

    def _greet(self, body: bytes) -> None:
        version, store_id, revision = unpack(messages.HELLO, body)
        if version != messages.PROTOCOL_VERSION:
            raise Malformed(f"protocol version {version}, this server knows {messages.PROTOCOL_VERSION} only")
        self._greeted = True
        # A client that believes to be the only one must not go on believing so when this one can write.
        self._server.sole_client.admit(self, lambda: self._welcome(store_id, revision))

    def _welcome(self, store_id: bytes, revision: int) -> None:
        """Begin to send what the client lacks."""
        if self._transport.is_closing():
            return
        self._welcomed = True
        versions, own_store_id = self._versions, self._server.store.store_id
        known = store_id == own_store_id and revision <= versions.revision
        resumes = known and versions.hub.events_after(revision) is not None
        if not resumes:
            self._entries = tuple(versions.current)
        self._sent_revision = revision if resumes else versions.revision
        welcome = messages.WELCOME.pack(own_store_id, versions.revision, versions.compacted, not resumes)
        self.send(frame(Answer.WELCOME, welcome))
        self._feed()

    def _feed(self) -> None:
        """Send what the client lacks while it reads; then make it live."""
        while self._welcomed and not (self._live or self._paused or self._transport.is_closing()):
            part = self._next_part()
            if part is None:
                return
            if part == b"":
                # Nothing is awaited since the last look at the events, so none is missed.
                self._live = True
                self._server.make_live(self)
                part = frame(Answer.LIVE, messages.REVISION.pack(self._sent_revision))
            self.send(part)

    def _next_part(self) -> bytes | None:
        """Return the next frame of what the client lacks, empty at the end; None if the connection has to end."""
        items, size = [], 0
        if self._next_entry < len(self._entries):
            while self._next_entry < len(self._entries) and size < PART_BYTES_MAX:
                items.append(encode_entry(self._entries[self._next_entry]))
                size += len(items[-1])
                self._next_entry += 1
            return frame(Answer.ENTRIES, *items)
        self._entries = ()
        self._next_entry = 0
        events: Sequence[Event] | None = self._versions.hub.events_after(self._sent_revision)
        if events is None:
            self.end("what it lacks has been compacted while it was loading")
            return None
        for event in events:
            items.append(encode_event(event))
            size += len(items[-1])
            self._sent_revision = event.revision
            if size >= PART_BYTES_MAX:
                break
        return frame(Answer.COMMIT, *items) if items else b""
