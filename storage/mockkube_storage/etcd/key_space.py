"""Keys of a store within those of etcd: each is stored with the prefix of the store in front."""

from collections.abc import Iterable

from mockkube_storage.etcd.messages import ALL_KEYS, KeyValue
from mockkube_storage.model import Entry


class KeySpace:
    """All keys of etcd that begin with a prefix. Those that are not text belong to other programs."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix.encode()

    def encode(self, key: str) -> bytes:
        """Return the key in etcd of a key of the store."""
        return self._prefix + key.encode()

    def encode_range(self, prefix: str, start: str) -> tuple[bytes, bytes]:
        """Return first key and end, which is not part of it, of the keys with a prefix, from `start` on."""
        whole = self.encode(prefix)
        # Keys of etcd are bytes, so a prefix ends where its last byte is one greater.
        stem = whole.rstrip(b"\xff")
        end = stem[:-1] + bytes((stem[-1] + 1,)) if stem else ALL_KEYS
        return max(whole, self.encode(start)) or ALL_KEYS, end

    def decode(self, key: bytes) -> str | None:
        """Return the key of the store for one of etcd; None if it is that of another program."""
        if not key.startswith(self._prefix):
            return None
        try:
            return key[len(self._prefix) :].decode() or None
        except UnicodeDecodeError:
            return None

    def to_entries(self, found: Iterable[KeyValue]) -> list[Entry]:
        """Return entries of the store for those of etcd, without those of other programs."""
        return [
            Entry(key, one.value, one.create_revision, one.mod_revision)
            for one in found
            if (key := self.decode(one.key)) is not None
        ]
