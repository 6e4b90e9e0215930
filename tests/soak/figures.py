"""Figures of this process."""

import ctypes
import gc
import sys
from pathlib import Path


def trim_memory() -> None:
    """Collect garbage, and give free memory back to the system where the C library can."""
    gc.collect()
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


def count_handles() -> int:
    """Return how many files and sockets are open; 0 where the system does not tell."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def read_memory_kib() -> int:
    """Return the resident memory of this process; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else ():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
