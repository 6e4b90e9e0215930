"""Open watches of one API server, to end them when the server stops."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class WatchLabels(NamedTuple):
    """Labels of a watch in metrics."""

    group: str
    version: str
    resource: str
    scope: str


class OpenWatches:
    """Deadlines of open watches. They end as if their timeout were over, which clients take for a clean end."""

    def __init__(self) -> None:
        self._deadlines: dict[asyncio.Timeout, None] = {}
        self.counts: Counter[WatchLabels] = Counter()
        """Number of open watches by labels."""
        self._ended = False

    @contextmanager
    def track(self, deadline: asyncio.Timeout, labels: WatchLabels | None = None) -> Iterator[None]:
        """Track a watch's deadline, which must be active already, while the context is open; count it by labels."""
        self._deadlines[deadline] = None
        if labels is not None:
            self.counts[labels] += 1
        # A watch that was being opened while the others ended must not keep the stopping server alive.
        if self._ended:
            _expire_now(deadline)
        try:
            yield
        finally:
            del self._deadlines[deadline]
            if labels is not None:
                self._uncount(labels)

    def _uncount(self, labels: WatchLabels) -> None:
        self.counts[labels] -= 1
        # Resources come and go with CRDs, so what nobody watches is forgotten.
        if not self.counts[labels]:
            del self.counts[labels]

    def end_all(self) -> None:
        """End all open watches, and every watch opened later."""
        self._ended = True
        for deadline in self._deadlines:
            _expire_now(deadline)


def _expire_now(deadline: asyncio.Timeout) -> None:
    if not deadline.expired():
        deadline.reschedule(asyncio.get_running_loop().time())
