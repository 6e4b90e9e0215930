"""Files that are either the old or the new whole, never half, whoever reads them meanwhile."""

import contextlib
import os
from pathlib import Path
from tempfile import mkstemp
from typing import Final

PRIVATE: Final = 0o600


def write_atomically(path: Path, content: str | bytes, *, mode: int = PRIVATE) -> None:
    """Replace the file, or what a link at its place points to; an OSError leaves the old one as it was."""
    target = Path(os.path.realpath(path))
    descriptor, temporary = mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def make_private_directory(path: Path) -> None:
    """Make the directory and what is above it, readable by nobody else; leave an existing one alone."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
