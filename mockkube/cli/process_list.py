"""Hide secrets on this process's command line from other users of the machine.

`ps` reads the arguments from the process's own memory, where they can be overwritten.
"""

import ctypes
from pathlib import Path
from typing import Final

_START, _END = 47, 48
"""The fields of `/proc/PID/stat` that say where the arguments are, counted from 0."""
_PROCESS: Final = Path("/proc/self")


def hide_argument(text: str) -> None:
    """Overwrite a text with `x` in the arguments of this process.

    It is visible until then, and always on systems other than Linux.
    """
    try:
        fields = (_PROCESS / "stat").read_text().rpartition(")")[2].split()
        shown = (_PROCESS / "cmdline").read_bytes()
    except OSError:
        return
    # The second field, the process's name, may hold spaces: it and the first are cut off, so the numbers shift by two.
    start, end = int(fields[_START - 2]), int(fields[_END - 2])
    secret = text.encode()
    # The address is 0 where the system hides it; comparing the memory guards against writing to anything else.
    if start == 0 or end - start != len(shown) or ctypes.string_at(start, end - start) != shown:
        return
    at = shown.find(secret)
    while at >= 0:
        ctypes.memset(start + at, ord("x"), len(secret))
        at = shown.find(secret, at + len(secret))
