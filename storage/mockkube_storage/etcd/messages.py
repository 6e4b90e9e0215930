"""Messages of etcd's API, as far as a store needs them: field numbers are those of `etcdserverpb` and `mvccpb`.

Requests are returned encoded; responses are decoded into small classes. Keys are bytes here; `KeySpace` maps those of
a store to those of etcd.
"""

from dataclasses import dataclass, field
from typing import Final

from mockkube_storage.etcd.protobuf import decode_fields, encode_bytes, encode_int, encode_varint, to_int64

RANGE: Final = "/etcdserverpb.KV/Range"
TXN: Final = "/etcdserverpb.KV/Txn"
COMPACT: Final = "/etcdserverpb.KV/Compact"
WATCH: Final = "/etcdserverpb.Watch/Watch"
AUTHENTICATE: Final = "/etcdserverpb.Auth/Authenticate"

# As both ends of a range: all keys.
ALL_KEYS: Final = b"\0"
_TARGET_CREATE: Final = 1
_TARGET_MOD: Final = 2


@dataclass(frozen=True, slots=True)
class KeyValue:
    """Version of a key."""

    key: bytes
    value: bytes
    create_revision: int
    mod_revision: int


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """Change of a key; of a deletion `current` has key and revision alone."""

    is_deletion: bool
    current: KeyValue
    previous: KeyValue | None


@dataclass(slots=True)
class Header:
    """Cluster that sent a response, and its revision then."""

    cluster_id: int = 0
    revision: int = 0


@dataclass(slots=True)
class RangeResponse:
    """Entries of a range; `count` is the number of all keys in it."""

    header: Header = field(default_factory=Header)
    entries: list[KeyValue] = field(default_factory=list)
    count: int = 0


@dataclass(slots=True)
class TxnResponse:
    """Outcome of a write; `current` is the entry that was found instead of the expected one."""

    header: Header = field(default_factory=Header)
    succeeded: bool = False
    current: KeyValue | None = None


@dataclass(slots=True)
class WatchResponse:
    """Events of complete revisions, unless it is a fragment; or the end of the watch."""

    created: bool = False
    canceled: bool = False
    compact_revision: int = 0
    cancel_reason: str = ""
    is_fragment: bool = False
    events: list[WatchEvent] = field(default_factory=list)


def encode_range(key: bytes, end: bytes = b"", *, limit: int = 0, revision: int = 0, keys_only: bool = False) -> bytes:
    """Return a RangeRequest for one key, or for those from `key` to `end`; it reads what is committed."""
    request = encode_bytes(1, key)
    if end:
        request += encode_bytes(2, end)
    return request + encode_int(3, limit) + encode_int(4, revision) + encode_int(8, keys_only)


def encode_create(key: bytes, value: bytes) -> bytes:
    """Return a TxnRequest that writes a key if it does not exist."""
    # A oneof is written even if it is 0.
    compare = encode_int(2, _TARGET_CREATE) + encode_bytes(3, key) + encode_varint(5 << 3) + b"\0"
    return _encode_txn(compare, _encode_put(key, value), key)


def encode_update(key: bytes, value: bytes, expected: int) -> bytes:
    """Return a TxnRequest that writes a key if it is at a revision."""
    return _encode_txn(_compare_revision(key, expected), _encode_put(key, value), key)


def encode_delete(key: bytes, expected: int) -> bytes:
    """Return a TxnRequest that deletes a key if it is at a revision."""
    return _encode_txn(_compare_revision(key, expected), encode_bytes(3, encode_bytes(1, key)), key)


def encode_compaction(revision: int) -> bytes:
    """Return a CompactionRequest."""
    return encode_int(1, revision)


def encode_watch(after: int, *, with_previous: bool) -> bytes:
    """Return a WatchRequest for the changes of all keys from a revision on."""
    create = encode_bytes(1, ALL_KEYS) + encode_bytes(2, ALL_KEYS) + encode_int(3, after)
    return encode_bytes(1, create + encode_int(6, with_previous) + encode_int(8, True))  # in fragments


def encode_authentication(name: str, password: str) -> bytes:
    """Return an AuthenticateRequest."""
    return encode_bytes(1, name.encode()) + encode_bytes(2, password.encode())


def decode_token(data: bytes) -> str:
    """Return the token of an AuthenticateResponse."""
    return next((value.decode() for number, _, value in decode_fields(data) if number == 2), "")


def decode_header(data: bytes) -> Header:
    """Return the header of any response."""
    for number, _, value in decode_fields(data):
        if number == 1:
            return _decode_header(value)
    return Header()


def decode_range(data: bytes) -> RangeResponse:
    """Return a RangeResponse."""
    response = RangeResponse()
    for number, integer, value in decode_fields(data):
        if number == 1:
            response.header = _decode_header(value)
        elif number == 2:
            response.entries.append(_decode_key_value(value))
        elif number == 4:
            response.count = integer
    return response


def decode_txn(data: bytes) -> TxnResponse:
    """Return a TxnResponse."""
    response = TxnResponse()
    for number, integer, value in decode_fields(data):
        if number == 1:
            response.header = _decode_header(value)
        elif number == 2:
            response.succeeded = bool(integer)
        elif number == 3:
            for operation, _, inner in decode_fields(value):
                if operation == 1:
                    response.current = next(iter(decode_range(inner).entries), None)
    return response


def decode_watch(data: bytes) -> WatchResponse:  # hot: every watch event
    """Return a WatchResponse."""
    response = WatchResponse()
    for number, integer, value in decode_fields(data):
        match number:
            case 3:
                response.created = bool(integer)
            case 4:
                response.canceled = bool(integer)
            case 5:
                response.compact_revision = integer
            case 6:
                response.cancel_reason = value.decode(errors="replace")
            case 7:
                response.is_fragment = bool(integer)
            case 11:
                response.events.append(_decode_event(value))
            case _:
                continue
    return response


def _encode_txn(compare: bytes, operation: bytes, key: bytes) -> bytes:
    """Return a TxnRequest with one comparison and one operation, which reads the key if they do not agree."""
    otherwise = encode_bytes(1, encode_bytes(1, key))
    return encode_bytes(1, compare) + encode_bytes(2, operation) + encode_bytes(3, otherwise)


def _encode_put(key: bytes, value: bytes) -> bytes:
    return encode_bytes(2, encode_bytes(1, key) + encode_bytes(2, value))


def _compare_revision(key: bytes, expected: int) -> bytes:
    # To etcd an absent key is at revision 0, which is no entry to replace.
    revision = expected if expected > 0 else -1
    return encode_int(2, _TARGET_MOD) + encode_bytes(3, key) + encode_int(6, revision)


def _decode_header(data: bytes) -> Header:
    header = Header()
    for number, integer, _ in decode_fields(data):
        if number == 1:
            header.cluster_id = integer
        elif number == 3:
            header.revision = to_int64(integer)
    return header


def _decode_key_value(data: bytes) -> KeyValue:
    key = value = b""
    create_revision = mod_revision = 0
    for number, integer, part in decode_fields(data):
        if number == 1:
            key = part
        elif number == 2:
            create_revision = integer
        elif number == 3:
            mod_revision = integer
        elif number == 5:
            value = part
    return KeyValue(key, value, create_revision, mod_revision)


def _decode_event(data: bytes) -> WatchEvent:
    is_deletion = False
    current: KeyValue | None = None
    previous: KeyValue | None = None
    for number, integer, value in decode_fields(data):
        if number == 1:
            is_deletion = bool(integer)
        elif number == 2:
            current = _decode_key_value(value)
        elif number == 3:
            previous = _decode_key_value(value)
    return WatchEvent(is_deletion, current or KeyValue(b"", b"", 0, 0), previous)
