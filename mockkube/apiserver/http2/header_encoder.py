"""HPACK encoder of response headers, without a dynamic table: a field is always the same bytes, so they are cached."""

import re
from functools import lru_cache
from typing import Final

from hpack.table import HeaderTable
from multidict import CIMultiDict

# Connection-specific headers have no meaning in HTTP/2 (RFC 9113, section 8.2.2).
CONNECTION_HEADERS: Final = frozenset(("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"))
# Empties the client's table, which a client that allows less than the default size wants to be told.
EMPTY_TABLE: Final = b"\x20"
_CACHED_CHARACTERS_MAX: Final = 128
_CACHED_FIELDS_MAX: Final = 1024
_FORBIDDEN: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NAME_INDEXES: Final = {name: indexes[0] for name, indexes in HeaderTable.STATIC_TABLE_MAPPING.items()}
_STATUS_INDEXES: Final = HeaderTable.STATIC_TABLE_MAPPING[b":status"][1]


def encode_response_headers(status: int, headers: CIMultiDict[str]) -> bytes:  # hot: per response
    """Return the header block of a response; ValueError for a value that would break the header."""
    parts = [encode_status(status)]
    for name, value in headers.items():
        if len(value) <= _CACHED_CHARACTERS_MAX:
            parts.append(_encode_field_cached(name, value))
        else:
            parts.append(_encode_field(name, value))
    return b"".join(parts)


@lru_cache(maxsize=64)
def encode_status(status: int) -> bytes:
    """Return the field with the status."""
    text = b"%d" % status
    if (index := _STATUS_INDEXES.get(text)) is not None:
        return bytes((0x80 | index,))
    return bytes((_NAME_INDEXES[b":status"], len(text))) + text


def _encode_field(name: str, value: str) -> bytes:
    """Return a literal field without indexing; empty for a connection-specific one."""
    name = name.lower()
    if name in CONNECTION_HEADERS:
        return b""
    if _FORBIDDEN.search(name) or _FORBIDDEN.search(value):
        raise ValueError(f"the header {name!r} contains a control character")
    text = value.encode("utf-8", "surrogateescape")
    raw_name = name.encode()
    if (index := _NAME_INDEXES.get(raw_name)) is not None:
        return _encode_integer(index, 0x0F) + _encode_integer(len(text), 0x7F) + text
    return b"\0" + _encode_integer(len(raw_name), 0x7F) + raw_name + _encode_integer(len(text), 0x7F) + text


_encode_field_cached: Final = lru_cache(maxsize=_CACHED_FIELDS_MAX)(_encode_field)


def _encode_integer(value: int, prefix: int) -> bytes:
    if value < prefix:
        return bytes((value,))
    parts, value = [prefix], value - prefix
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
