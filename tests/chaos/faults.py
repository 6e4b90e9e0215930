"""Faults of the machine that a cluster's process runs on: disk, clock and connections; see `faults.c`."""

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

LIBRARY: Final = Path(__file__).with_name("faults.c")


NO_MACHINE: Final = (
    "disks, clocks and connections can only be made to fail on Linux with a C compiler (Debian: gcc, libc6-dev)"
)


def find_compiler() -> str:
    """Return the path of the C compiler; empty if there is none, or another system than Linux."""
    return (shutil.which("cc") or "") if sys.platform == "linux" else ""


@dataclass(frozen=True, slots=True)
class MachineFaults:
    """What is wrong with the machine; the fields are in the order of `faults.c`."""

    is_disk_full: bool = False
    sync_milliseconds: int = 0
    clock_seconds: int = 0
    reset_every: int = 0
    """Every N-th read or write of a connection fails."""


SOUND: Final = MachineFaults()


@dataclass(frozen=True, slots=True)
class Machine:
    """Library that is preloaded into the processes of a cluster, and the file that tells it what to do."""

    library: Path
    control: Path

    @classmethod
    def build(cls, home: Path) -> "Machine | None":
        """Compile the library; None if that is not possible."""
        compiler = find_compiler()
        if not compiler:
            return None
        machine = cls(home / "faults.so", home / "faults")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O2", "-o", str(machine.library), str(LIBRARY), "-ldl"], check=True
        )
        machine.control.write_bytes(bytes(16))
        return machine

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a process that runs on this machine."""
        return {**os.environ, "LD_PRELOAD": str(self.library), "MOCKKUBE_CHAOS_FAULTS": str(self.control)}

    @contextmanager
    def suffer(self, faults: MachineFaults) -> Iterator[None]:
        """Let the faults happen in the block."""
        self._write(faults)
        try:
            yield
        finally:
            self._write(SOUND)

    def _write(self, faults: MachineFaults) -> None:
        # In place: the process has mapped this very file.
        with self.control.open("r+b") as file:
            file.write(struct.pack("4i", *astuple(faults)))
