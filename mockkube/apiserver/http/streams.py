"""The watches that one server answers: what ends them all when the server does."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Streams:
    """The deadlines of open watches. Ending them is as if the time each was given were over: a clean end."""

    def __init__(self) -> None:
        self._deadlines: dict[asyncio.Timeout, None] = {}
        self._ended = False

    @contextmanager
    def holding(self, deadline: asyncio.Timeout) -> Iterator[None]:
        """Count a watch, whose time is entered already, for as long as it lasts."""
        self._deadlines[deadline] = None
        if self._ended:
            _expire(deadline)
        try:
            yield
        finally:
            del self._deadlines[deadline]

    def end(self) -> None:
        """End every watch that is open, and those that still open."""
        self._ended = True
        for deadline in self._deadlines:
            _expire(deadline)


def _expire(deadline: asyncio.Timeout) -> None:
    if not deadline.expired():
        deadline.reschedule(asyncio.get_running_loop().time())
