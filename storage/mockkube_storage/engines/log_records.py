"""Contents of the records of a store's log.

The first record is the head: the identity of the store, and the revision of the entries that follow. Then each record
is a commit, or a compaction.
"""

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Final

from mockkube_storage.encoding import DELETE, ENTRY, PUT, Malformed, decode_entries, decode_item, unpack
from mockkube_storage.errors import StoreError, Unavailable
from mockkube_storage.model import Event, put_event
from mockkube_storage.versions import Versions
from mockkube_storage.writes import PendingCommit, Write

STORE_ID_BYTES: Final = 16
# Size of the records of a log that is rewritten; the event loop serves others between two of them.
CHUNK_BYTES: Final = 256 * 1024

# Kinds of items beside those of `encoding`.
_HEAD: Final = 16
_COMPACTION: Final = 17
_HEAD_ITEM: Final = Struct(f">B{STORE_ID_BYTES}sq")  # kind, store, compacted revision
_COMPACTION_ITEM: Final = Struct(">Bq")  # kind, compacted revision


def encode_head(store_id: bytes, compacted: int) -> bytes:
    """Return the first record of a log; the entries of the compacted revision follow it."""
    return _HEAD_ITEM.pack(_HEAD, store_id, compacted)


def encode_compaction(revision: int) -> bytes:
    """Return the record of a compaction."""
    return _COMPACTION_ITEM.pack(_COMPACTION, revision)


def join_chunks(items: Iterable[bytes]) -> Iterator[bytes]:
    """Join items to records of at least CHUNK_BYTES; the last one may be smaller."""
    chunk, size = [], 0
    for item in items:
        chunk.append(item)
        size += len(item)
        if size >= CHUNK_BYTES:
            yield b"".join(chunk)
            chunk, size = [], 0
    if chunk:
        yield b"".join(chunk)


class LogReader:
    """Restores versions from the records of a log, in their order."""

    def __init__(self, path: str, versions: Versions) -> None:
        self._path = path
        self._versions = versions
        self._store_id = b""
        self._compacted = 0
        self._restored: list[Event] | None = []  # entries after the head; None once they are all there

    def read(self, content: bytes) -> None:
        """Apply a record. Raises Unavailable if it cannot follow those before it."""
        try:
            self._read(content)
        except StoreError as error:
            raise Unavailable(self._path, f"its content is damaged: {error}") from error

    def finish(self) -> bytes:
        """Return the identity of the store, when all records are read. Raises Unavailable."""
        if not self._store_id:
            raise Unavailable(self._path, "it is not the log of a store")
        self._finish_restoring()
        return self._store_id

    def _read(self, content: bytes) -> None:
        kind = content[0] if content else 0
        if (kind == _HEAD) == bool(self._store_id):
            raise Malformed("its head is missing, or not in the first place")
        if kind == _HEAD:
            _, self._store_id, self._compacted = unpack(_HEAD_ITEM, content)
            return
        if kind == ENTRY and self._restored is not None:
            self._restored += [put_event(entry, None) for entry in decode_entries(content)]
            return
        self._finish_restoring()
        if kind == _COMPACTION:
            self._compact(unpack(_COMPACTION_ITEM, content)[1])
        else:
            self._read_commit(content)

    def _finish_restoring(self) -> None:
        if self._restored is not None and self._compacted:
            self._versions.restore(self._restored, self._compacted)
        self._restored = None

    def _compact(self, revision: int) -> None:
        for key in self._versions.begin_compaction(revision):
            self._versions.drop_versions(key, revision)

    def _read_commit(self, content: bytes) -> None:
        commit = PendingCommit(self._versions.current.get)
        offset, newest = 0, self._versions.revision
        while offset < len(content):
            kind, entry, offset = decode_item(content, offset)
            if entry.revision <= newest:
                raise Malformed(f"revision {entry.revision} after {newest}")
            if kind == ENTRY or (kind == DELETE and commit.get(entry.key) is None):
                raise Malformed(f"a commit that cannot follow revision {newest}")
            newest = entry.revision
            commit.add(Write(entry.key, entry.value if kind == PUT else None, None), newest)
        self._versions.publish(commit.events)
