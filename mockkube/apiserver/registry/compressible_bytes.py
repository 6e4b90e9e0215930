"""Bytes that are sent more than once, plain or compressed; each is compressed once."""

import zlib
from collections.abc import Iterable
from typing import Final

_COMPRESSION_LEVEL: Final = 1  # upstream 1.36: apiserver/pkg/endpoints/handlers/responsewriters/writers.go
_RAW_DEFLATE: Final = -15


# Size of the chunks of a list. Joining one is short enough for the event loop to wait for.
CHUNK_BYTES: Final = 1 << 20


class CompressibleBytes:
    """Bytes with their compressed form. Compressed chunks can be concatenated."""

    __slots__ = ("_deflated", "data")

    def __init__(self, plain: bytes) -> None:
        self.data = plain
        self._deflated = b""

    def deflate(self) -> bytes:
        """Return the bytes as raw deflate blocks, none of them final. Slow the first time; safe in any thread."""
        if not self._deflated:
            self._deflated = deflate(self.data)
        return self._deflated


def join_chunks(pieces: Iterable[bytes], *, first: bytes = b"", between: bytes = b"") -> list[CompressibleBytes]:
    """Join pieces into chunks of about a megabyte: `first` precedes the first piece, `between` the others."""
    parts, joined, size, lead = list[CompressibleBytes](), list[bytes](), 0, first
    for piece in pieces:
        joined.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            parts.append(CompressibleBytes(lead + between.join(joined)))
            joined, size, lead = [], 0, between
    if joined:
        parts.append(CompressibleBytes(lead + between.join(joined)))
    return parts


def deflate(plain: bytes) -> bytes:
    """Return the bytes as raw deflate blocks, none of them final."""
    squeeze = zlib.compressobj(_COMPRESSION_LEVEL, zlib.DEFLATED, _RAW_DEFLATE)
    # A full flush resets the dictionary, so that a chunk can be decompressed after any other.
    return squeeze.compress(plain) + squeeze.flush(zlib.Z_FULL_FLUSH)
