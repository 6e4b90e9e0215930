"""Digests of JSON values, by which caches find what was computed for an equal value before."""

from hashlib import blake2b
from typing import Any, Final

import orjson

_DIGEST_BYTES: Final = 16
_KEPT_BYTES_MAX: Final = 64 * 1024


class _Digester:
    """Digests values; the last one is kept, because the steps of a write digest the same value in turn."""

    def __init__(self) -> None:
        self._last: tuple[bytes, bytes] = (b"", b"")

    def digest(self, value: Any) -> bytes:
        """Return the digest of a JSON value; values that differ in the order of keys have different ones."""
        text = orjson.dumps(value)
        last = self._last  # read once: other threads replace it
        if text == last[0]:
            return last[1]
        digest = blake2b(text, digest_size=_DIGEST_BYTES).digest()
        if len(text) <= _KEPT_BYTES_MAX:
            self._last = (text, digest)
        return digest


digest_json: Final = _Digester().digest
