"""Log of one component: its latest lines in klog's format, with time and number of repetitions.

A line that the real component would write for each of 5000 nodes is kept once, with a count of 5000.
"""

from collections import deque
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Final

from mockkube.lazy_dataclasses import dataclass

# Lines that a log keeps; the oldest are dropped first.
LINES_MAX: Final = 4_000


class Level(StrEnum):
    """Severity of a log line."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log, without its time."""

    level: Level
    message: str
    verbosity: int = 0
    """Lowest `-v` at which the component writes the line."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A line and how often it was written at one moment."""

    at: float
    line: LogLine
    count: int


class ComponentLog:
    """Log of one component, kept over restarts of the component."""

    def __init__(self, lines_max: int = LINES_MAX) -> None:
        self._entries: deque[LogEntry] = deque(maxlen=lines_max)

    def write(self, at: float, line: LogLine, count: int = 1) -> None:
        """Append a line that counts as `count` lines."""
        last = self._entries[-1] if self._entries else None
        # Equal neighbours are merged, or one pod that fits nowhere would push all other lines out of the bounded log.
        if last is not None and last.at == at and last.line == line:
            self._entries[-1] = LogEntry(at, line, last.count + count)
        else:
            self._entries.append(LogEntry(at, line, count))

    def error_logger(self, now: Callable[[], float]) -> Callable[[str], None]:
        """Return a function that logs an error at the current time."""

        def write(message: str) -> None:
            self.write(now(), LogLine(Level.ERROR, message))

        return write

    def entries_since(self, moment: float) -> Iterator[LogEntry]:
        """Yield the entries written at a moment or later, oldest first."""
        return (entry for entry in self._entries if entry.at >= moment)
