"""Many bytes that are sent more than once: as they are, or compressed, which is done once."""

import zlib
from typing import Final

_LEVEL: Final = 1  # upstream 1.36: apiserver/pkg/endpoints/handlers/responsewriters/writers.go
_RAW: Final = -15


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


def deflated(plain: bytes) -> bytes:
    """The bytes as raw deflate blocks, none of them the last."""
    squeeze = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW)
    return squeeze.compress(plain) + squeeze.flush(zlib.Z_FULL_FLUSH)
