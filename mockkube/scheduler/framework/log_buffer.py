"""Log lines of plugins in one scheduling cycle, each with the number of times the real scheduler would write it.

Verdicts about nodes are cached, while the real plugins run, and log, in each cycle. So the lines of a verdict are
cached with it, and count again whenever the verdict is used.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from cachetools import LRUCache

from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import ComponentLog, Level, LogLine

_LOG: Final = logging.getLogger("mockkube.scheduler")
_PRINTED_MAX: Final = 4096

Lines = tuple[LogLine, ...]


class LogBuffer:
    """Collects the lines of a cycle, from `begin_cycle` to `flush`; other lines are written immediately."""

    def __init__(self, log: ComponentLog, clock: Clock) -> None:
        # Lines that were neither taken nor counted yet.
        self.fresh: list[LogLine] = []
        self._log, self._clock = log, clock
        self._collects = False
        self._counts: dict[LogLine, int] = {}
        self._printed_messages: LRUCache[str, bool] = LRUCache(_PRINTED_MAX)

    def error(self, message: str) -> None:
        """Add an error."""
        self._add(LogLine(Level.ERROR, message))

    def info(self, message: str, verbosity: int) -> None:
        """Add a line that is written at a verbosity and above."""
        self._add(LogLine(Level.INFO, message, verbosity))

    def _add(self, line: LogLine) -> None:
        if self._collects:
            self.fresh.append(line)
        else:
            self._log.write(self._clock.monotonic(), line)

    def begin_cycle(self) -> None:
        """Collect lines from now on: a cycle begins."""
        self._collects = True

    def take_fresh(self) -> Lines:
        """Return and clear the fresh lines, for a caller that caches and counts them."""
        lines = tuple(self.fresh)
        self.fresh.clear()
        return lines

    def count_fresh(self) -> None:
        """Count each fresh line once."""
        for line in self.take_fresh():
            self.count(line, 1)

    def count(self, line: LogLine, times: int) -> None:
        """Count a line several times."""
        self._counts[line] = self._counts.get(line, 0) + times

    def count_cached(self, cached: Mapping[int, Lines], node_indexes: Collection[int] | None) -> None:
        """Count the cached lines of the nodes at these indexes; None means all nodes."""
        chosen: Iterable[Lines] = cached.values() if node_indexes is None else _select(cached, node_indexes)
        for lines in chosen:
            for line in lines:
                self.count(line, 1)

    def flush(self, pod: str) -> None:
        """Write the collected lines, with the pod that the cycle was about."""
        self._collects = False
        if self.fresh:
            self.count_fresh()
        if not self._counts:
            return
        now = self._clock.monotonic()
        for line, times in self._counts.items():
            shown = LogLine(line.level, f'{line.message} pod="{pod}"', line.verbosity)
            self._log.write(now, shown, times)
            self._print_once(shown)
        self._counts = {}

    def _print_once(self, line: LogLine) -> None:
        """Print an error to the terminal the first time only: the log has a line per pod and node."""
        if line.level is Level.ERROR and line.message not in self._printed_messages:
            self._printed_messages[line.message] = True
            _LOG.warning("%s", line.message)


def _select(cached: Mapping[int, Lines], node_indexes: Collection[int]) -> Sequence[Lines]:
    # Anything else finds an index without a search.
    wanted = frozenset(node_indexes) if isinstance(node_indexes, list) else node_indexes
    return [lines for node_index, lines in cached.items() if node_index in wanted]
