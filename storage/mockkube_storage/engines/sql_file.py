"""Database file of an open SQLite store: detects its removal, replacement and foreign writes.

SQLite keeps writing into a file that has been removed, and reads from its cache when one has been overwritten: it
returns no error, and all is lost when the process ends.
"""

import os
from dataclasses import dataclass

from mockkube_storage.engines.file_lock import FileLock


class FileLost(Exception):
    """Database file that would not keep what is written to it; the message says why."""


@dataclass(frozen=True, slots=True)
class _FileState:
    """Identity, size and modification time of a file at some moment."""

    device: int
    inode: int
    size: int
    changed: int

    @classmethod
    def from_path(cls, path: str) -> "_FileState | None":
        try:
            found = os.stat(path)
        except OSError:
            return None
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def is_same_file(self, other: "_FileState") -> bool:
        return (self.device, self.inode) == (other.device, other.inode)


class DatabaseFile:
    """Database file, write-ahead log and lock, in the state in which this process last left them."""

    def __init__(self, path: str, lock: FileLock) -> None:
        self._path = path
        self._log_path = f"{path}-wal"
        self._lock = lock
        self._file: _FileState | None = None
        self._log: _FileState | None = None

    def record_state(self) -> None:
        """Record the present state as ours: called after each write."""
        self._file, self._log = _FileState.from_path(self._path), _FileState.from_path(self._log_path)

    def forget_log(self) -> None:
        """Accept another write-ahead log: SQLite removes the log when its last connection closes."""
        self._log = None

    def check_intact(self) -> None:
        """Raise FileLost if the file has been replaced, removed or truncated since it was opened."""
        if self._file is None:
            return
        now = _check_same(self._path, self._file)
        if now.size < self._file.size:
            raise FileLost(f"{self._path} has been truncated from {self._file.size} to {now.size} bytes")
        if self._log is not None:
            _check_same(self._log_path, self._log)
        if not self._lock.is_held():
            raise FileLost(f"{self._path}.lock, which keeps other processes out, has been removed or replaced")

    def is_changed(self) -> bool:
        """Return whether another process has written to the file since its state was recorded."""
        file, log = _FileState.from_path(self._path), _FileState.from_path(self._log_path)
        if self._file is not None and file is not None and file.changed != self._file.changed:
            return True
        return self._log is not None and log is not None and log != self._log


def _check_same(path: str, before: _FileState) -> _FileState:
    now = _FileState.from_path(path)
    if now is None:
        raise FileLost(f"{path} has been removed")
    if not now.is_same_file(before):
        raise FileLost(f"{path} has been replaced by another file")
    return now
