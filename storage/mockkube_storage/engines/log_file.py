"""Append-only file of records: what was written before a crash, up to the last whole record, is read again.

A record is its length, the CRC-32 of its content, the CRC-32 of these two, and the content. Each append is one system
call. Only the last record can be incomplete after a crash; it is cut off when the file is opened. Any other damage is
an error.
"""

import os
from asyncio import get_running_loop
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import BinaryIO, Final
from zlib import crc32

from mockkube_storage.errors import FormatTooNew, Unavailable

MAGIC: Final = b"mockkube-store-log\n"
FORMAT: Final = 1
RECORD_BYTES_MAX: Final = 256 * 1024 * 1024

_FORMAT: Final = Struct(">I")
_HEAD: Final = Struct(">II")
_HEAD_CRC: Final = Struct(">I")
_HEAD_BYTES: Final = _HEAD.size + _HEAD_CRC.size
_SECTOR_BYTES: Final = 512
_READ_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Record:
    """One record; `end` is the size of the file up to and including it."""

    content: bytes
    end: int


def encode_record(content: bytes) -> bytes:
    """Return a record as it is in the file."""
    head = _HEAD.pack(len(content), crc32(content))
    return b"".join((head, _HEAD_CRC.pack(crc32(head)), content))


def file_start() -> bytes:
    """Return what every file begins with."""
    return MAGIC + _FORMAT.pack(FORMAT)


def read_records(path: str) -> Iterator[Record]:
    """Yield the records of a file, without an incomplete last one. Raises OSError, Unavailable or FormatTooNew."""
    with open(path, "rb", buffering=_READ_BYTES) as file:
        size = os.fstat(file.fileno()).st_size
        position = _check_start(path, file.read(len(file_start())))
        while position < size:
            head = file.read(_HEAD_BYTES)
            if len(head) < _HEAD_BYTES:
                return
            (head_crc,) = _HEAD_CRC.unpack_from(head, _HEAD.size)
            if crc32(head[: _HEAD.size]) != head_crc:
                # A file system may have grown the file and not written the data.
                if _is_zero(head) and _ends_with_zeros(file):
                    return
                raise _damaged(path, position)
            length, content_crc = _HEAD.unpack_from(head)
            if position + _HEAD_BYTES + length > size:
                return
            content = file.read(length)
            if crc32(content) != content_crc:
                if _ends_with_zeros(file) and _has_zero_sector(content, position + _HEAD_BYTES):
                    return
                raise _damaged(path, position)
            position += _HEAD_BYTES + length
            yield Record(content, position)


def _check_start(path: str, start: bytes) -> int:
    if not start.startswith(MAGIC) or len(start) < len(MAGIC) + _FORMAT.size:
        raise Unavailable(path, "it is not the log of a store")
    (found,) = _FORMAT.unpack_from(start, len(MAGIC))
    if found > FORMAT:
        raise FormatTooNew(path, found, FORMAT)
    return len(start)


def _is_zero(data: bytes) -> bool:
    return not data.strip(b"\0")


def _ends_with_zeros(file: BinaryIO) -> bool:
    """Return whether nothing but zeros follows."""
    while data := file.read(_READ_BYTES):
        if not _is_zero(data):
            return False
    return True


def _has_zero_sector(content: bytes, position: int) -> bool:
    """Return whether a sector of a record was never written: a crash leaves that, a bit error does not."""
    # as upstream etcd: server/storage/wal/decoder.go, isTornEntry
    start = 0
    while start < len(content):
        end = start + _SECTOR_BYTES - (position + start) % _SECTOR_BYTES
        if _is_zero(content[start:end]):
            return True
        start = end
    return False


def _damaged(path: str, position: int) -> Unavailable:
    return Unavailable(
        path, f"its content is damaged at byte {position}; restore a copy, or remove the file to start empty"
    )


class LogFile:
    """Log that is open for appending. An append that fails leaves the file as it was."""

    def __init__(self, path: str, size: int, *, fsync: bool) -> None:
        """Open a file, and cut off what follows `size`. Raises OSError."""
        self._path = path
        self._fsync = fsync
        self._damage = ""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)  # what is stored may be secret
        self.size = size
        self._opened = os.fstat(self._descriptor)
        self.cut_bytes = self._opened.st_size - size
        os.ftruncate(self._descriptor, size)

    def write(self, data: bytes) -> None:
        """Write at the end of the file. Raises OSError."""
        written = os.pwrite(self._descriptor, data, self.size)
        while written < len(data):  # a disk that becomes full takes a part
            written += os.pwrite(self._descriptor, data[written:], self.size + written)
        self.size += written

    async def sync(self) -> None:
        """Wait until what has been written is on the disk, if the log is to survive the machine. Raises OSError."""
        if self._fsync:
            await get_running_loop().run_in_executor(None, sync_data, self._descriptor)

    async def append(self, content: bytes) -> None:
        """Append a record, and return when it is kept. Raises Unavailable."""
        self.check_intact()
        before, is_written = self.size, False
        try:
            self.write(encode_record(content))
            is_written = True
            await self.sync()
            self.check_intact()
        except BaseException as error:
            if not self._damage:
                self._cut(before)
            if not isinstance(error, OSError):
                raise
            if is_written:
                # What the system has dropped from its cache after a failed fsync is not known.
                self._damage = f"the disk does not keep what is written: {error.strerror}"
            raise Unavailable(self._path, error.strerror or str(error)) from error

    def check_intact(self) -> None:
        """Raise Unavailable if the file is not the one that was opened, or not as long as it was written."""
        if self._damage:
            raise Unavailable(self._path, self._damage)
        try:
            found = os.stat(self._path)
        except OSError:
            raise Unavailable(self._path, "it has been removed") from None
        if not os.path.samestat(found, self._opened):
            raise Unavailable(self._path, "it has been replaced by another file")
        if found.st_size != self.size:
            self._damage = f"another process has changed its size from {self.size} to {found.st_size} bytes"
            raise Unavailable(self._path, self._damage)

    def rename(self, path: str) -> None:
        """Take the place of another file. Raises OSError."""
        os.rename(self._path, path)
        self._path = path

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _cut(self, size: int) -> None:
        self.size = size
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            self._damage = f"what a failed write has left in it cannot be removed: {error.strerror}"


def sync_data(descriptor: int) -> None:
    """Wait until the data of a file is on the disk."""
    getattr(os, "fdatasync", os.fsync)(descriptor)  # macOS has no fdatasync


def sync_directory(path: str) -> None:
    """Wait until the names in a directory are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
