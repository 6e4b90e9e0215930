"""Lines that plugins log in a scheduling cycle, each with how often the real scheduler would write it.

Verdicts about nodes are kept and reused, while the real plugins are asked, and log, in each cycle. So what was logged
for a verdict is kept beside it, and counts again whenever the verdict does.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from cachetools import LRUCache

from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import ComponentLog, Level, LogLine

_LOG: Final = logging.getLogger("mockkube.scheduler")
_REMEMBERED_MAX: Final = 4096

Lines = tuple[LogLine, ...]


class LogBuffer:
    """Collects the lines of a cycle, from `begin` to `flush`; others are written at once."""

    def __init__(self, log: ComponentLog, clock: Clock) -> None:
        self.fresh: list[LogLine] = []
        """Lines that nobody has taken or counted yet."""
        self._log, self._clock = log, clock
        self._collects = False
        self._counts: dict[LogLine, int] = {}
        self._printed: LRUCache[str, bool] = LRUCache(_REMEMBERED_MAX)

    def error(self, message: str) -> None:
        """Add an error."""
        self._add(LogLine(Level.ERROR, message))

    def info(self, message: str, verbosity: int) -> None:
        """Add a line that is written from a verbosity on."""
        self._add(LogLine(Level.INFO, message, verbosity))

    def _add(self, line: LogLine) -> None:
        if self._collects:
            self.fresh.append(line)
        else:
            self._log.write(self._clock.monotonic(), line)

    def begin(self) -> None:
        """Collect lines from now on: a cycle begins."""
        self._collects = True

    def take(self) -> Lines:
        """Return the fresh lines, for somebody who keeps and counts them."""
        lines = tuple(self.fresh)
        self.fresh.clear()
        return lines

    def settle(self) -> None:
        """Count each fresh line once."""
        for line in self.take():
            self.count(line, 1)

    def count(self, line: LogLine, times: int) -> None:
        """Count a line."""
        self._counts[line] = self._counts.get(line, 0) + times

    def count_kept(self, kept: Mapping[int, Lines], slots: Iterable[int] | None) -> None:
        """Count the lines kept for the nodes at these places; None: for all nodes."""
        chosen: Iterable[Lines] = kept.values() if slots is None else _chosen(kept, slots)
        for lines in chosen:
            for line in lines:
                self.count(line, 1)

    def flush(self, pod: str) -> None:
        """Write what was collected; `pod` is whom the cycle was about."""
        self._collects = False
        if self.fresh:
            self.settle()
        if not self._counts:
            return
        now = self._clock.monotonic()
        for line, times in self._counts.items():
            shown = LogLine(line.level, f'{line.message} pod="{pod}"', line.verbosity)
            self._log.write(now, shown, times)
            self._print(shown)
        self._counts = {}

    def _print(self, line: LogLine) -> None:
        """Show an error on the terminal, the first time only: there is a line per pod and node."""
        if line.level is Level.ERROR and line.message not in self._printed:
            self._printed[line.message] = True
            _LOG.warning("%s", line.message)


def _chosen(kept: Mapping[int, Lines], slots: Iterable[int]) -> Sequence[Lines]:
    asked = slots if isinstance(slots, range) else frozenset(slots)
    return [lines for slot, lines in kept.items() if slot in asked]
