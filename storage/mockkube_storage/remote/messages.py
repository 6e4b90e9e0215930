"""Messages between the server of a store and its clients.

A connection begins as HTTP/1.1 with `Upgrade: mockkube-store`; after status 101 both sides send frames. A frame is the
length of what follows (4 bytes), the type of its message (1 byte), and the fields of the message; numbers are
big-endian. Requests carry a number that their answer repeats, except writes, which are answered in their order.

    client                              server
    HELLO (store, revision)
                                        WELCOME (store, revision, how)
                                        ENTRIES...    if the client has to load everything
                                        COMMIT...     what was committed in the meantime
                                        LIVE          from here on, writes are accepted
    CREATE, UPDATE, DELETE
                                        COMMIT        events of others, outcomes of own writes, in one order
    GET, LIST, HISTORY, COMPACT
    REVISION                            REVISED       once every commit before it has been sent
                                        REVOKE        another client wants to write
    RELEASED
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final

from mockkube_storage.encoding import Malformed, decode_text, unpack
from mockkube_storage.errors import Compacted, FutureRevision, StoreError, Unavailable

PROTOCOL_NAME: Final = "mockkube-store"
PROTOCOL_VERSION: Final = 1
STORE_ID_BYTES: Final = 16
NO_STORE_ID: Final = bytes(STORE_ID_BYTES)

# Largest frame of a client: one write with its key and value.
REQUEST_BYTES_MAX: Final = 32 * 1024 * 1024
# Largest frame of a server: the events of one commit.
ANSWER_BYTES_MAX: Final = 128 * 1024 * 1024

_LENGTH: Final = Struct(">I")
_FRAME_HEAD: Final = Struct(">IB")


class Request(IntEnum):
    """Types of messages of a client."""

    HELLO = 1
    CREATE = 2
    UPDATE = 3
    DELETE = 4
    REVISION = 5
    GET = 6
    LIST = 7
    HISTORY = 8
    COMPACT = 9
    RELEASED = 10


class Answer(IntEnum):
    """Types of messages of a server."""

    WELCOME = 65
    ENTRIES = 66
    COMMIT = 67
    LIVE = 68
    REVISED = 69
    PAGE = 70
    EVENTS = 71
    DONE = 72
    FAILED = 73
    COMPACTED = 74
    REVOKE = 75


class Outcome(IntEnum):
    """Kinds of items in a COMMIT, beside those of `encoding`: outcomes of the client's own writes."""

    DONE = 16
    CONFLICT = 17
    FAILED = 18


# Fixed fields in front of texts and values.
HELLO: Final = Struct(f">H{STORE_ID_BYTES}sq")  # version of the protocol, store, newest revision of the client
WELCOME: Final = Struct(f">{STORE_ID_BYTES}sqqB")  # store, revision, compacted revision, whether entries follow
CREATE: Final = Struct(">I")  # length of the key
UPDATE: Final = Struct(">qI")  # expected revision, length of the key
DELETE: Final = Struct(">q")  # expected revision
REQUEST: Final = Struct(">I")  # number
GET: Final = Struct(">Iq")  # number, revision
LIST: Final = Struct(">IqII")  # number, revision, limit, length of the prefix
PAGE: Final = Struct(">IqQ")  # number, revision, remaining keys
REVISED: Final = Struct(">IqI")  # number, revision, milliseconds for which no other client can write
FAILED: Final = Struct(">IBqq")  # number, kind of error, requested revision, oldest or current revision
REVISION: Final = Struct(">q")
OUTCOME_DONE: Final = Struct(">Bq")  # kind, revision
OUTCOME_FAILED: Final = Struct(">BI")  # kind, length of the cause

_COMPACTED: Final = 1
_FUTURE: Final = 2
_UNAVAILABLE: Final = 3


def frame(type_: int, *parts: bytes) -> bytes:
    """Return the frame of a message."""
    length = 1
    for part in parts:
        length += len(part)
    return b"".join((_FRAME_HEAD.pack(length, type_), *parts))


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self, frame_bytes_max: int) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:  # hot: every message passes here
        """Yield type and fields of each message that is complete now. Raises Malformed."""
        # Nearly always whole frames arrive; only what is left of one is copied.
        buffer: bytes | bytearray = data
        if self._rest:
            self._rest += data
            buffer = self._rest
        offset, end = 0, len(buffer)
        try:
            while end - offset >= 4:
                (length,) = _LENGTH.unpack_from(buffer, offset)
                if not 0 < length <= self._frame_bytes_max:
                    raise Malformed(f"frame of {length} bytes")
                if offset + 4 + length > end:
                    break
                start, offset = offset + 4, offset + 4 + length
                yield buffer[start], bytes(buffer[start + 1 : offset])
        finally:
            if buffer is self._rest:
                del self._rest[:offset]
            elif offset < end:
                self._rest += data[offset:]


def split_text(data: bytes, start: int, length: int) -> tuple[str, bytes]:
    """Return the text at an offset, and what follows it. Raises Malformed."""
    if start + length > len(data):
        raise Malformed("message is cut off")
    return decode_text(data[start : start + length]), data[start + length :]


def encode_error(number: int, error: StoreError) -> bytes:
    """Return the frame that fails a request."""
    match error:
        case Compacted():
            return frame(Answer.FAILED, FAILED.pack(number, _COMPACTED, error.requested, error.oldest))
        case FutureRevision():
            return frame(Answer.FAILED, FAILED.pack(number, _FUTURE, error.requested, error.current))
        case _:
            cause = error.cause if isinstance(error, Unavailable) else str(error)
            return frame(Answer.FAILED, FAILED.pack(number, _UNAVAILABLE, 0, 0), cause.encode())


def decode_error(data: bytes, where: str) -> tuple[int, StoreError]:
    """Return the number of a failed request, and its error. Raises Malformed."""
    number, kind, requested, other = unpack(FAILED, data)
    match kind:
        case 1:
            return number, Compacted(requested, other)
        case 2:
            return number, FutureRevision(requested, other)
        case _:
            return number, Unavailable(where, decode_text(data[FAILED.size :]))
