"""Many bytes that are sent more than once: as they are, or compressed, which is done once."""

import zlib
from collections.abc import Iterable
from typing import Final

_LEVEL: Final = 1  # upstream 1.36: apiserver/pkg/endpoints/handlers/responsewriters/writers.go
_RAW: Final = -15


PART_BYTES: Final = 1 << 20
"""How large the parts of a list are: joining one is short enough for the event loop to wait for."""


class Bulk:
    """Bytes, and what they are compressed to. Compressed pieces stand on their own, so they can follow one another."""

    __slots__ = ("_deflated", "plain")

    def __init__(self, plain: bytes) -> None:
        self.plain = plain
        self._deflated = b""

    def deflated(self) -> bytes:
        """The bytes as raw deflate blocks, none of them the last. Slow the first time, and safe in any thread."""
        if not self._deflated:
            self._deflated = deflated(self.plain)
        return self._deflated


def in_parts(pieces: Iterable[bytes], *, first: bytes = b"", between: bytes = b"") -> list[Bulk]:
    """Join pieces into parts of about a megabyte: `first` comes before the first piece, `between` before the others."""
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
    """The bytes as raw deflate blocks, none of them the last."""
    squeeze = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW)
    return squeeze.compress(plain) + squeeze.flush(zlib.Z_FULL_FLUSH)
