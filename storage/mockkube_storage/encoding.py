"""Binary form of entries and events: in the file of a store, and between its server and clients.

A sequence of items, each with a fixed head. An event does not contain the entry before it: whoever reads events in
order has it.
"""

import struct
from struct import Struct
from typing import Any, Final

from mockkube_storage.errors import StoreError
from mockkube_storage.model import Entry, Event, EventType

# Kinds of items. Other modules add kinds of their own, from 16 on.
PUT: Final = 1
DELETE: Final = 2
ENTRY: Final = 3

# Kind, revision, revision of the creation, length of the key, length of the value.
_HEAD: Final = Struct(">BqqII")
_HEAD_BYTES: Final = _HEAD.size


class Malformed(StoreError, ValueError):
    """Bytes that are not what an encoder of this package writes."""


def encode_entry(entry: Entry) -> bytes:
    """Return an entry as an item."""
    return _encode(ENTRY, entry, entry.value)


def encode_event(event: Event) -> bytes:
    """Return an event as an item; of a deletion the value is left out."""
    if event.type is EventType.DELETE:
        return _encode(DELETE, event.entry, b"")
    return _encode(PUT, event.entry, event.entry.value)


def _encode(kind: int, entry: Entry, value: bytes) -> bytes:
    key = entry.key.encode()
    return _HEAD.pack(kind, entry.revision, entry.create_revision, len(key), len(value)) + key + value


def decode_item(data: bytes, offset: int) -> tuple[int, Entry, int]:  # hot: every event of a client
    """Return kind and entry of the item at an offset, and the offset of the next one. Raises Malformed.

    The entry of a deletion has no value.
    """
    kind, revision, create_revision, key_length, value_length = unpack(_HEAD, data, offset)
    key_start = offset + _HEAD_BYTES
    value_start = key_start + key_length
    end = value_start + value_length
    if end > len(data):
        raise Malformed("item is cut off")
    if kind not in (PUT, DELETE, ENTRY):
        raise Malformed(f"item of unknown kind {kind}")
    key = decode_text(data[key_start:value_start])
    return kind, Entry(key, data[value_start:end], create_revision, revision), end


def decode_entries(data: bytes, offset: int = 0) -> list[Entry]:
    """Return the entries from an offset to the end. Raises Malformed."""
    entries = []
    while offset < len(data):
        kind, entry, offset = decode_item(data, offset)
        if kind != ENTRY:
            raise Malformed(f"item of kind {kind} in the place of an entry")
        entries.append(entry)
    return entries


def decode_text(data: bytes) -> str:
    """Return UTF-8 as text. Raises Malformed."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Malformed("text is not UTF-8") from None


def unpack(layout: Struct, data: bytes, offset: int = 0) -> tuple[Any, ...]:
    """Return the fixed fields at an offset. Raises Malformed."""
    try:
        return layout.unpack_from(data, offset)
    except struct.error:
        raise Malformed("fixed fields are cut off") from None
