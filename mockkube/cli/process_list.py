"""What other users of the machine see of this process's command line: `ps` reads it from the process's own memory."""

import ctypes
from pathlib import Path
from typing import Final

_START, _END = 47, 48
"""The fields of `/proc/PID/stat` that say where the arguments are, counted from 0."""
_PROCESS: Final = Path("/proc/self")


def hide_argument(text: str) -> None:
    """Overwrite the text with `x` wherever it stands among the arguments of this process.

    It stays visible for the moment until then, and on systems other than Linux.
    """
    try:
        fields = (_PROCESS / "stat").read_text().rpartition(")")[2].split()
        shown = (_PROCESS / "cmdline").read_bytes()
    except OSError:
        return
    # the name of the process, which may hold spaces, is the second field: two are missing before what is left
    start, end = int(fields[_START - 2]), int(fields[_END - 2])
    secret = text.encode()
    # 0 where the system hides the addresses from the process
    if start == 0 or end - start != len(shown) or ctypes.string_at(start, end - start) != shown:
        return
    at = shown.find(secret)
    while at >= 0:
        ctypes.memset(start + at, ord("x"), len(secret))
        at = shown.find(secret, at + len(secret))
