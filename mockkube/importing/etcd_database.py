"""Keys and values of a database file of etcd, as `etcdctl snapshot save` writes it: a bbolt file with all revisions.

A bbolt file is a B+ tree of pages. The bucket `key` maps revisions to changes; the last change of a key counts.

upstream: bbolt 1.3 page.go, bucket.go; etcd 3.5 server/storage/mvcc/revision.go, api/mvccpb/kv.proto
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from mockkube.api.protobuf.wire import Malformed, read_fields
from mockkube.importing.errors import UnreadableDumpError

_MAGIC: Final = 0xED0CDAED
_VERSION: Final = 2
# Identifier, kind, number of elements, and number of further pages that belong to it.
_PAGE: Final = Struct("<QHHL")
_BRANCH: Final = 0x01
_LEAF: Final = 0x02
# Magic number, version, page size, flags, root page, sequence, freelist, first unused page, transaction, checksum.
_META: Final = Struct("<LLLLQQQQQQ")
_PAGE_SIZES: Final = tuple(1 << power for power in range(9, 17))
_BRANCH_ELEMENT: Final = Struct("<LLQ")  # offset of the key, its size, page
_LEAF_ELEMENT: Final = Struct("<LLLL")  # flags, offset of the key, sizes of key and value
_IS_BUCKET: Final = 1
_BUCKET: Final = Struct("<QQ")  # root page, sequence
_DEPTH_MAX: Final = 64

_KEYS: Final = b"key"
# Revision and sub-revision, eight bytes each with `_` in between; a deletion has `t` behind.
_REVISION_SIZE: Final = 17
_KEY_FIELD: Final = 1
_VALUE_FIELD: Final = 5


def is_etcd_database(content: bytes) -> bool:
    """Return whether a file begins as a bbolt file does."""
    end = _PAGE.size + _META.size
    return len(content) >= end and _META.unpack_from(content, _PAGE.size)[0] == _MAGIC


def read_etcd_database(content: bytes, file: str) -> dict[bytes, bytes]:
    """Return the present value by key; raise UnreadableDumpError if the file is damaged."""
    found: dict[bytes, bytes] = {}
    try:
        for revision, change in _Database(content).list_bucket(_KEYS):
            fields = read_fields(change, 0, len(change))
            key = fields.get_bytes(_KEY_FIELD)
            if len(revision) > _REVISION_SIZE:
                found.pop(key, None)
            else:
                found[key] = fields.get_bytes(_VALUE_FIELD)
    except (_DamagedError, Malformed, IndexError) as error:
        raise UnreadableDumpError(f"{file}: damaged database of etcd: {error}: save the snapshot again") from None
    return found


class _DamagedError(ValueError):
    """Error: a page is not as it must be."""


class _Database:
    """A bbolt file."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        _, _, self._page_size, _, self._root, *_ = self._find_meta()

    def list_bucket(self, name: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and values of a bucket of the file, in the order of keys."""
        for key, flags, value in self._list_page(self._root * self._page_size):
            if key == name and flags & _IS_BUCKET:
                yield from ((key, value) for key, _, value in self._list_bucket(value))
                return
        raise _DamagedError(f"no bucket {name.decode()!r}")

    def _find_meta(self) -> tuple[int, ...]:
        """Return the newer one of the two records that describe the file; the other may be half written."""
        records = []
        for offset in (0, *_PAGE_SIZES):
            if len(self._content) < offset + _PAGE.size + _META.size:
                break
            record = _META.unpack_from(self._content, offset + _PAGE.size)
            page_size = record[2]
            begin = offset + _PAGE.size
            checked = self._content[begin : begin + _META.size - 8]
            is_place = offset in (0, page_size) and page_size in _PAGE_SIZES
            if record[:2] == (_MAGIC, _VERSION) and is_place and record[-1] == _hash_fnv1a(checked):
                records.append(record)
        if not records:
            raise _DamagedError("no valid meta page")
        return max(records, key=lambda record: record[-2])

    def _list_bucket(self, value: bytes) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield the elements of a bucket; a small one is kept in its value."""
        if len(value) < _BUCKET.size:
            raise _DamagedError("a bucket is cut short")
        root, _ = _BUCKET.unpack_from(value)
        if root:
            return self._list_page(root * self._page_size)
        return self._list_elements(value, _BUCKET.size, 0)

    def _list_page(self, offset: int, depth: int = 0) -> Iterator[tuple[bytes, int, bytes]]:
        return self._list_elements(self._content, offset, depth)

    def _list_elements(self, content: bytes, offset: int, depth: int) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield key, flags and value of the elements of a page and of the pages below it."""
        if offset + _PAGE.size > len(content) or depth > _DEPTH_MAX:
            raise _DamagedError(f"a page at {offset} is missing")
        _, kind, count, _ = _PAGE.unpack_from(content, offset)
        first = offset + _PAGE.size
        if kind not in (_BRANCH, _LEAF) or first + count * _LEAF_ELEMENT.size > len(content):
            raise _DamagedError(f"the page at {offset} is no part of a tree")
        for at in range(first, first + count * _LEAF_ELEMENT.size, _LEAF_ELEMENT.size):
            if kind == _BRANCH:
                _, _, page = _BRANCH_ELEMENT.unpack_from(content, at)
                yield from self._list_page(page * self._page_size, depth + 1)
                continue
            flags, position, key_size, value_size = _LEAF_ELEMENT.unpack_from(content, at)
            key_end = at + position + key_size
            if key_end + value_size > len(content):
                raise _DamagedError(f"an element at {at} is cut short")
            yield content[at + position : key_end], flags, content[key_end : key_end + value_size]


def _hash_fnv1a(content: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value
