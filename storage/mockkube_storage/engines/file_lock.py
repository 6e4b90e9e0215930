"""Lock of one process on a database file: an advisory lock on a file next to it.

The operating system drops the lock with the process, however that ends, so the lock file itself never stays in the way.
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
    """Advisory lock, held from `take` to `drop` or to the end of the process."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1
        self._locked: os.stat_result | None = None

    def acquire(self) -> None:
        """Acquire the lock. Raises Locked if another process has it, OSError if the file cannot be made."""
        descriptor = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _try_lock(descriptor)
        except OSError:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise Locked(self._path, f"process {holder or 'unknown'} has it open") from None
        # The process id is only for the error message of another process; the lock itself is the system's.
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
        self._descriptor = descriptor
        self._locked = os.fstat(descriptor)

    def is_held(self) -> bool:
        """Return whether the lock file is still the one that was locked; another would let others in."""
        try:
            present = os.stat(f"{self._path}.lock")
        except OSError:
            return False
        return self._locked is not None and os.path.samestat(present, self._locked)

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._locked = None
