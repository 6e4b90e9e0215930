"""Atomic file replacement: readers see the old or the new content, never a part."""

import contextlib
import os
from pathlib import Path
from tempfile import mkstemp
from typing import Final

PRIVATE: Final = 0o600


def write_atomically(path: Path, content: str | bytes, *, mode: int = PRIVATE, durable: bool = True) -> None:
    """Replace a file, or the target of a link; an OSError leaves the old content in place.

    A file that is not durable may be empty after a crash of the machine.
    """
    target = Path(os.path.realpath(path))
    descriptor, temporary = mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            # Without it, a crash after the rename may leave an empty file on some file systems.
            if durable:
                os.fsync(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_once(path: Path, content: str) -> str:
    """Create a private file with its directory, and return its content: that of an existing file is kept."""
    with contextlib.suppress(FileNotFoundError):
        return path.read_text()
    make_private_directory(path.parent)
    descriptor, temporary = mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        # Of several processes, the first one links its file; none ever sees a part of one.
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.unlink(temporary)
    return path.read_text()


def make_private_directory(path: Path) -> None:
    """Create a directory and its parents, private to the user; an existing one is left as is."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
