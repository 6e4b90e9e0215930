"""The claim of one process on a database file, by a locked file at its side.

The system drops the lock with the process, however that ends, so the side file itself is never in the way.
"""

import os
import sys

from mockkube_storage.errors import Locked

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """Held from `take` to `drop`, or to the end of the process."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1

    def take(self) -> None:
        """Claim the file. Raises Locked when somebody else has it, OSError when there can be no side file."""
        descriptor = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _try_lock(descriptor)
        except OSError:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise Locked(self._path, f"process {holder or 'unknown'} has it open") from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
        self._descriptor = descriptor

    def is_held(self) -> bool:
        """Return whether the locked file is the one at the side of the database: another would let others in."""
        try:
            found, ours = os.stat(f"{self._path}.lock"), os.fstat(self._descriptor)
        except OSError:
            return False
        return os.path.samestat(found, ours)

    def drop(self) -> None:
        """Let go of the file, if it is held."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
