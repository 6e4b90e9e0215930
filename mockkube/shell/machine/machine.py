"""Time, output and files of one container run, all bounded and simulated."""

import zlib
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import FileSystem
from mockkube.shell.machine.standard_input import InputReader

# Commands interpreted to find how a container ends; a longer script counts as unknown.
STEPS_MAX: Final = 4_000
# Commands interpreted to find what a container has printed so far, which is asked for only with `kubectl logs`.
STEPS_SHOWN_MAX: Final = 20_000
# Characters of output that are kept.
OUTPUT_MAX: Final = 1 << 20
ENDLESS: Final = float("inf")
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
    stdin: bool = False
    tty: bool = False
    """True if a person may sit at a terminal."""
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Sysctls of the pod by name, with dots as separators."""
    has_network_capability: bool = False
    """Whether root may change the interfaces of the pod (CAP_NET_ADMIN)."""
    may_escalate: bool = True
    """Whether a program with the setuid bit runs as its owner."""
    seed: str = ""
    """Seed of its random numbers."""


@dataclass(slots=True)
class ContainerRun:
    """Time, output and files of one run."""

    environment: ContainerEnvironment
    horizon: float = ENDLESS
    """Time up to which the command is interpreted, in seconds."""
    files: FileSystem = field(default_factory=FileSystem)
    now: float = 0.0
    steps: int = 0
    depth: int = 0
    """Current nesting of commands."""
    draws: int = 0
    """Number of reads whose value differs each time."""
    output: list[PrintedLine] = field(default_factory=list)
    prints_bytes: bool = False
    """True if the output goes to a client and not to a log, so that it may be no text."""
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
        self._advance_to(self.now + seconds)

    def print(self, text: str, descriptor: int = 1) -> None:
        """Append to the log."""
        if not self.prints_bytes and not text.isascii():
            # Bytes that are no text are surrogates here; a log shows them as replacement characters.
            text = text.encode(errors="surrogateescape").decode(errors="replace")
        self._printed += len(text)
        # Further output is dropped without an end of the run, whose exit code may still be found.
        if text and self._printed <= OUTPUT_MAX:
            self.output.append(PrintedLine(self.now, text, descriptor))

    def wait_until(self, moment: float) -> None:
        """Advance the time to a moment; a moment in the past changes nothing."""
        if moment > self.horizon:
            raise PastHorizon
        self._advance_to(max(self.now, moment))

    def _advance_to(self, moment: float) -> None:
        self.now = moment
        self.files.advance(moment)

    def go_back_to(self, moment: float) -> None:
        """Set the time back: a background command was interpreted ahead of the shell that started it."""
        self.now = self.files.now = moment

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

    def write(self, path: str, text: str, *, appended: bool = False) -> None:
        """Write a file; writes to the container's standard output are printed. Raise FileError if it fails."""
        if path in _OUTPUT_PATHS:
            self.print(text, 2 if path in _ERROR_PATHS else 1)
        elif path != "/dev/null":
            self.files.write(path, text, appended=appended)
