"""Time, output and files of one container run, all bounded and simulated."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from mockkube.shell.standard_input import InputReader
from mockkube.shell.syntax import Unsupported

# Marks unknown text (a private-use character). It may be printed, but no condition may depend on it.
UNKNOWN: Final = "\ue000"
# Commands interpreted to find how a container ends; a longer script counts as unknown.
STEPS_MAX: Final = 4_000
# Commands interpreted to find what a container has printed so far, which is asked for only with `kubectl logs`.
STEPS_SHOWN_MAX: Final = 20_000
# Characters of output that are kept.
OUTPUT_MAX: Final = 1 << 20
FILES_MAX: Final = 1000
# Characters of a variable, a file, or the output of a substituted command.
TEXT_MAX: Final = 1 << 16
ENDLESS: Final = float("inf")
_SCRATCH_DIRECTORY: Final = "/tmp"  # noqa: S108 -- a name in the container's own file system
_OUTPUT_PATHS: Final = ("/dev/stdout", "/dev/stderr", "/proc/1/fd/1", "/proc/1/fd/2", "/proc/self/fd/1", "/dev/fd/1")
_ERROR_PATHS: Final = ("/dev/stderr", "/proc/1/fd/2")


class Endless(Exception):
    """The command runs until it is stopped."""


class PastHorizon(Exception):
    """The command runs past the time of interest."""


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line of output, its time in seconds since the container's start, and 2 if it went to standard error."""

    at: float
    text: str
    descriptor: int = 1


@dataclass(frozen=True, slots=True)
class ContainerEnvironment:
    """Environment of a container."""

    variables: Mapping[str, str]
    has_unknown_variables: bool
    """True if the container may have variables that are not known."""
    hostname: str = ""
    started_at: datetime | None = None
    empty_directories: tuple[str, ...] = ()
    """Directories of its own that start empty and survive restarts."""
    unknown_directories: tuple[str, ...] = ()
    """Directories with unknown contents."""
    stdin: bool = False
    tty: bool = False
    """True if a person may sit at a terminal."""
    seed: str = ""
    """Seed of its random numbers."""


@dataclass(slots=True)
class ContainerRun:
    """Time, output and files of one run."""

    environment: ContainerEnvironment
    horizon: float = ENDLESS
    """Time up to which the command is interpreted, in seconds."""
    files: dict[str, str] = field(default_factory=dict)
    now: float = 0.0
    steps: int = 0
    depth: int = 0
    """Current nesting of commands."""
    draws: int = 0
    """Number of reads whose value differs each time."""
    output: list[PrintedLine] = field(default_factory=list)
    input: InputReader | None = None
    """Standard input of a command of exec; None for the container's own command."""
    unsupported_command: str = ""
    """Innermost command that raised Unsupported."""
    _printed: int = 0

    def count_steps(self, steps: int = 1) -> None:
        """Count steps; raise Unsupported after too many."""
        self.steps += steps
        if self.steps > (STEPS_MAX if self.horizon == ENDLESS else STEPS_SHOWN_MAX):
            raise Unsupported

    def sleep(self, seconds: float) -> None:
        """Advance the time."""
        if seconds == ENDLESS:
            raise PastHorizon if self.horizon != ENDLESS else Endless
        if self.now + seconds > self.horizon:
            raise PastHorizon
        self.now += seconds

    def print(self, text: str, descriptor: int = 1) -> None:
        """Append to the log."""
        self._printed += len(text)
        # Further output is dropped without an end of the run, whose exit code may still be found.
        if text and self._printed <= OUTPUT_MAX:
            self.output.append(PrintedLine(self.now, text, descriptor))

    def wait_until(self, moment: float) -> None:
        """Advance the time to a moment; a moment in the past changes nothing."""
        if moment > self.horizon:
            raise PastHorizon
        self.now = max(self.now, moment)

    def current_time(self) -> datetime | None:
        """Return the time of day, if the start is known."""
        self.draws += 1
        return (
            None if self.environment.started_at is None else self.environment.started_at + timedelta(seconds=self.now)
        )

    def random(self) -> int:
        """Return a number below 32,768, the same for each run of the same script."""
        self.draws += 1
        return zlib.crc32(f"{self.environment.seed}/{self.draws}".encode()) % 32_768

    def read(self, path: str) -> str | None:
        """Return the text of a file, None if it does not exist; raise Unsupported if that is unknown."""
        if path in self.files:
            return self.files[path]
        if _is_below(path, self.environment.unknown_directories) or not (
            _is_below(path, (*self.environment.empty_directories, _SCRATCH_DIRECTORY))
        ):
            raise Unsupported
        return None

    def is_directory(self, path: str) -> bool:
        """Return whether a directory exists; raise Unsupported if that is unknown."""
        bare = path.rstrip("/") or "/"
        if bare in (
            *self.environment.empty_directories,
            *self.environment.unknown_directories,
            _SCRATCH_DIRECTORY,
            "/",
        ):
            return True
        return self.read(bare) is not None and any(one.startswith(f"{bare}/") for one in self.files)

    def write(self, path: str, text: str, *, appended: bool = False) -> None:
        """Write a file; writes to the container's standard output are printed."""
        if path in _OUTPUT_PATHS:
            self.print(text, 2 if path in _ERROR_PATHS else 1)
            return
        if path == "/dev/null":
            return
        if not path.startswith("/") or path.startswith(("/dev/tcp", "/proc/", "/sys/")):
            raise Unsupported
        before = self.files.get(path, "") if appended else ""
        # The file may have had content before, so what is read later begins with an unknown part.
        if appended and not before and _is_below(path, self.environment.unknown_directories):
            before = UNKNOWN
        self.files[path] = check_length(before + text)
        if len(self.files) > FILES_MAX:
            raise Unsupported

    def surviving_files(self) -> dict[str, str]:
        """Return the files that survive a restart of the container."""
        return {path: text for path, text in self.files.items() if _is_below(path, self.environment.empty_directories)}


def check_length(text: str) -> str:
    """Return the text; raise Unsupported if it is too long."""
    if len(text) > TEXT_MAX:
        raise Unsupported
    return text


def _is_below(path: str, directories: Sequence[str]) -> bool:
    return any(path.startswith(f"{one.rstrip('/')}/") for one in directories)
