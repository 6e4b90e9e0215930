"""Stores of snapshot contents by uid: files in the state directory, or memory for ephemeral clusters."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from mockkube.cluster.state.atomic_files import make_private_directory, write_atomically


class SnapshotStore(Protocol):
    """Store of snapshot contents by the snapshot's uid; methods may raise OSError."""

    def save(self, uid: str, content: bytes) -> None:
        """Save contents completely, or not at all."""
        ...

    def load(self, uid: str) -> bytes | None:
        """Return contents; None if there are none."""
        ...

    def delete_except(self, uids: Iterable[str]) -> None:
        """Delete all contents except those of these snapshots."""
        ...


class MemorySnapshotStore:
    """Snapshot contents in memory."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def save(self, uid: str, content: bytes) -> None:
        """Save contents."""
        self._contents[uid] = content

    def load(self, uid: str) -> bytes | None:
        """Return contents."""
        return self._contents.get(uid)

    def delete_except(self, uids: Iterable[str]) -> None:
        """Delete all other contents."""
        self._contents = {uid: self._contents[uid] for uid in uids if uid in self._contents}


class FileSnapshotStore:
    """Snapshot contents in files of one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def save(self, uid: str, content: bytes) -> None:
        """Write the snapshot's file."""
        make_private_directory(self._directory)
        write_atomically(self._directory / uid, content)

    def load(self, uid: str) -> bytes | None:
        """Read the snapshot's file."""
        try:
            return (self._directory / uid).read_bytes()
        except FileNotFoundError:
            return None

    def delete_except(self, uids: Iterable[str]) -> None:
        """Delete all other files."""
        if self._directory.is_dir():
            kept_uids = set(uids)
            for path in self._directory.iterdir():
                if path.name not in kept_uids:
                    path.unlink(missing_ok=True)
