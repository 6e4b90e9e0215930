"""What a script works with beside its variables: time, output and files, all bounded, all made up."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from mockkube.shell.syntax import Unread

UNKNOWN: Final = "\ue000"
"""Stands in a text for what is not known; it may be printed, but nothing can be decided by it."""
STEPS_MAX: Final = 4_000
"""How many commands are followed to learn how a container ends."""
STEPS_SHOWN_MAX: Final = 20_000
"""How many are followed to learn what it has printed up to a moment."""
OUTPUT_MAX: Final = 1 << 20
"""Characters; what a container prints beyond them is not kept."""
FILES_MAX: Final = 1000
TEXT_MAX: Final = 1 << 16
"""Characters of a variable, a file, or what a program prints for another."""
ENDLESS: Final = float("inf")
_SCRATCH: Final = "/tmp"  # noqa: S108 -- a name in the container's own file system
_SINKS: Final = ("/dev/stdout", "/dev/stderr", "/proc/1/fd/1", "/proc/1/fd/2", "/proc/self/fd/1", "/dev/fd/1")


class Endless(Exception):
    """It goes on until it is stopped."""


class Late(Exception):
    """It goes on beyond the moment of interest."""


@dataclass(frozen=True, slots=True)
class Printed:
    """Text a container prints, and when, in seconds since its start."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a container is given."""

    variables: Mapping[str, str]
    others: bool
    """Whether it may have variables that are not known."""
    hostname: str = ""
    began: datetime | None = None
    empty: tuple[str, ...] = ()
    """Directories that are empty at first, are its own, and outlast it."""
    foreign: tuple[str, ...] = ()
    """Directories whose contents are not known."""
    stdin: bool = False
    seed: str = ""
    """What the numbers it draws follow from."""


@dataclass(slots=True)
class Machine:
    """Time, output and files of one run."""

    given: Surroundings
    horizon: float = ENDLESS
    """Until when it is followed, in seconds."""
    files: dict[str, str] = field(default_factory=dict)
    now: float = 0.0
    steps: int = 0
    depth: int = 0
    """How many commands we are in."""
    draws: int = 0
    """How often something was read that is never the same."""
    output: list[Printed] = field(default_factory=list)
    _printed: int = 0

    def step(self, steps: int = 1) -> None:
        """Count a step, or as many as something is worth; Unread after too many."""
        self.steps += steps
        if self.steps > (STEPS_MAX if self.horizon == ENDLESS else STEPS_SHOWN_MAX):
            raise Unread

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        if seconds == ENDLESS:
            raise Late if self.horizon != ENDLESS else Endless
        if self.now + seconds > self.horizon:
            raise Late
        self.now += seconds

    def print(self, text: str) -> None:
        """Keep what goes to the log."""
        self._printed += len(text)
        if text and self._printed <= OUTPUT_MAX:
            self.output.append(Printed(self.now, text))

    def moment(self) -> datetime | None:
        """Return the time of day, if the start is known."""
        self.draws += 1
        return None if self.given.began is None else self.given.began + timedelta(seconds=self.now)

    def random(self) -> int:
        """Return a number below 32,768, always the same in the same place."""
        self.draws += 1
        return zlib.crc32(f"{self.given.seed}/{self.draws}".encode()) % 32_768

    def read(self, path: str) -> str | None:
        """Return the text of a file; None if there is none; Unread if that is not known."""
        if path in self.files:
            return self.files[path]
        if _below(path, self.given.foreign) or not (_below(path, (*self.given.empty, _SCRATCH))):
            raise Unread
        return None

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory; Unread if that is not known."""
        bare = path.rstrip("/") or "/"
        if bare in (*self.given.empty, *self.given.foreign, _SCRATCH, "/"):
            return True
        return self.read(bare) is not None and any(one.startswith(f"{bare}/") for one in self.files)

    def write(self, path: str, text: str, *, appended: bool = False) -> None:
        """Write a file; what goes to the container's own output is printed."""
        if path in _SINKS:
            self.print(text)
            return
        if path == "/dev/null":
            return
        if not path.startswith("/") or path.startswith(("/dev/tcp", "/proc/", "/sys/")):
            raise Unread
        before = self.files.get(path, "") if appended else ""
        if appended and not before and _below(path, self.given.foreign):
            before = UNKNOWN
        self.files[path] = bounded(before + text)
        if len(self.files) > FILES_MAX:
            raise Unread

    def kept(self) -> dict[str, str]:
        """Return the files that are there when the container starts again."""
        return {path: text for path, text in self.files.items() if _below(path, self.given.empty)}


def bounded(text: str) -> str:
    """Return a text that is not too long; Unread if it is."""
    if len(text) > TEXT_MAX:
        raise Unread
    return text


def _below(path: str, directories: Sequence[str]) -> bool:
    return any(path.startswith(f"{one.rstrip('/')}/") for one in directories)
