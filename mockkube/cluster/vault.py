"""Where the contents of snapshots lie: files in the state directory, or memory for a cluster nothing outlives."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from mockkube.cluster.files import make_private_directory, write_atomically


class Vault(Protocol):
    """Keeps bytes by the uid of their snapshot. An OSError from any method is the disk's."""

    def keep(self, uid: str, content: bytes) -> None:
        """Keep them, whole or not at all."""
        ...

    def fetch(self, uid: str) -> bytes | None:
        """Return them; None if there are none."""
        ...

    def retain(self, uids: Iterable[str]) -> None:
        """Drop everything that is not of one of these."""
        ...


class MemoryVault:
    """Ends with the process."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def keep(self, uid: str, content: bytes) -> None:
        """Keep them."""
        self._contents[uid] = content

    def fetch(self, uid: str) -> bytes | None:
        """Return them."""
        return self._contents.get(uid)

    def retain(self, uids: Iterable[str]) -> None:
        """Drop the others."""
        self._contents = {uid: self._contents[uid] for uid in uids if uid in self._contents}


class FileVault:
    """A file each, in a directory of their own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, uid: str, content: bytes) -> None:
        """Write the file."""
        make_private_directory(self._directory)
        write_atomically(self._directory / uid, content)

    def fetch(self, uid: str) -> bytes | None:
        """Read the file."""
        try:
            return (self._directory / uid).read_bytes()
        except FileNotFoundError:
            return None

    def retain(self, uids: Iterable[str]) -> None:
        """Remove the other files."""
        if self._directory.is_dir():
            kept = set(uids)
            for path in self._directory.iterdir():
                if path.name not in kept:
                    path.unlink(missing_ok=True)
