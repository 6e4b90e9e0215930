"""Bytes that are sent more than once, plain or compressed; each is compressed once."""

import zlib
from collections.abc import Iterable
from typing import Final

_LEVEL: Final = 1  # upstream 1.36: apiserver/pkg/endpoints/handlers/responsewriters/writers.go
_RAW: Final = -15


# Size of the chunks of a list. Joining one is short enough for the event loop to wait for.
PART_BYTES: Final = 1 << 20


class Bulk:
    """Bytes with their compressed form. Compressed chunks can be concatenated."""

    __slots__ = ("_deflated", "plain")

    def __init__(self, plain: bytes) -> None:
        self.plain = plain
        self._deflated = b""

    def deflated(self) -> bytes:
        """Return the bytes as raw deflate blocks, none of them final. Slow the first time; safe in any thread."""
        if not self._deflated:
            self._deflated = deflated(self.plain)
        return self._deflated


def in_parts(pieces: Iterable[bytes], *, first: bytes = b"", between: bytes = b"") -> list[Bulk]:
    """Join pieces into chunks of about a megabyte: `first` precedes the first piece, `between` the others."""
    parts, joined, size, lead = list[Bulk](), list[bytes](), 0, first
    for piece in pieces:
        joined.append(piece)
        size += len(piece)
        if size >= PART_BYTES:
            parts.append(Bulk(lead + between.join(joined)))
            joined, size, lead = [], 0, between
    if joined:
        parts.append(Bulk(lead + between.join(joined)))
    return parts


def deflated(plain: bytes) -> bytes:
    """Return the bytes as raw deflate blocks, none of them final."""
    squeeze = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW)
    # A full flush resets the dictionary, so that a chunk can be decompressed after any other.
    return squeeze.compress(plain) + squeeze.flush(zlib.Z_FULL_FLUSH)
