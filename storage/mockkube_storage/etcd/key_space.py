"""Keys of a store within those of etcd: below the prefix of the store, as they are or as a mapping names them."""

from collections.abc import Iterable
from typing import Protocol

from mockkube_storage.etcd.messages import ALL_KEYS, KeyValue
from mockkube_storage.model import Entry


class KeyMapping(Protocol):
    """Names of a store's keys in etcd, if they differ from those of the store. Two keys never have the same path."""

    def encode(self, key: str) -> str:
        """Return the path of a key."""

    def encode_prefix(self, prefix: str) -> str | None:
        """Return what the paths of the keys with a prefix, and no others, begin with, in the order of the keys.

        None if there is nothing like that.
        """

    def decode(self, path: str) -> str | None:
        """Return the key of a path; None if it is none of the store."""


class SameKeys:
    """Mapping of keys to themselves."""

    def encode(self, key: str) -> str:
        """Return the key."""
        return key

    def encode_prefix(self, prefix: str) -> str | None:
        """Return the prefix."""
        return prefix

    def decode(self, path: str) -> str | None:
        """Return the path, unless it is empty."""
        return path or None


class KeySpace:
    """All keys of etcd that begin with a prefix. Those that are not text belong to other programs."""

    def __init__(self, prefix: str, mapping: KeyMapping | None = None) -> None:
        self._prefix = prefix.encode()
        self._mapping = mapping or SameKeys()

    def encode(self, key: str) -> bytes:
        """Return the key in etcd of a key of the store."""
        return self._prefix + self._mapping.encode(key).encode()

    def encode_range(self, prefix: str, start: str) -> tuple[bytes, bytes] | None:
        """Return first key and end, which is not part of it, of the keys with a prefix, from `start` on.

        None if they are scattered among others.
        """
        path = self._mapping.encode_prefix(prefix)
        if path is None:
            return None
        whole = self._prefix + path.encode()
        return self.encode(start) if start > prefix else whole or ALL_KEYS, _get_end(whole)

    def encode_all(self) -> tuple[bytes, bytes]:
        """Return first key and end of all keys of the store."""
        return self._prefix or ALL_KEYS, _get_end(self._prefix)

    def decode(self, key: bytes) -> str | None:
        """Return the key of the store for one of etcd; None if it is that of another program."""
        if not key.startswith(self._prefix):
            return None
        try:
            return self._mapping.decode(key[len(self._prefix) :].decode())
        except UnicodeDecodeError:
            return None

    def to_entries(self, found: Iterable[KeyValue]) -> list[Entry]:
        """Return entries of the store for those of etcd, without those of other programs."""
        return [
            Entry(key, one.value, one.create_revision, one.mod_revision)
            for one in found
            if (key := self.decode(one.key)) is not None
        ]


def _get_end(prefix: bytes) -> bytes:
    """Return the least key after all with a prefix."""
    # Keys of etcd are bytes, so a prefix ends where its last byte is one greater.
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else ALL_KEYS
