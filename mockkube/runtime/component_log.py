"""Log of one component: its latest lines in klog's form, with the time and how often each was written.

A line that the real component would write for each of 5000 nodes is kept once, with a count of 5000.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LINES_MAX: Final = 10_000
"""Lines that a log keeps; the oldest is forgotten first."""


class Level(StrEnum):
    """Severity of a line."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class LogLine:
    """Line of a log, without the time."""

    level: Level
    message: str
    verbosity: int = 0
    """The lowest `-v` with which the component writes the line."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """Lines of one text, written at one moment."""

    at: float
    line: LogLine
    count: int


class ComponentLog:
    """Log of one component. It outlives restarts of the component."""

    def __init__(self, lines_max: int = LINES_MAX) -> None:
        self._entries: deque[LogEntry] = deque(maxlen=lines_max)

    def write(self, at: float, line: LogLine, count: int = 1) -> None:
        """Append a line, which counts as `count` lines."""
        last = self._entries[-1] if self._entries else None
        if last is not None and last.at == at and last.line == line:
            self._entries[-1] = LogEntry(at, line, last.count + count)
        else:
            self._entries.append(LogEntry(at, line, count))

    def errors(self, now: Callable[[], float]) -> Callable[[str], None]:
        """Return a function that appends an error."""

        def write(message: str) -> None:
            self.write(now(), LogLine(Level.ERROR, message))

        return write

    def since(self, moment: float) -> Iterator[LogEntry]:
        """Yield what was written at a moment or later, the oldest first."""
        return (entry for entry in self._entries if entry.at >= moment)
