"""Tasks that wait for a point on a line that only moves forward: a revision, a moment."""

import asyncio
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

PointT = TypeVar("PointT", int, float, datetime)

_ABANDONED_MAX: Final = 64
"""Points kept without anybody waiting for them, however few others there are."""


class Waiters(Generic[PointT]):
    """Waiting tasks, by the point each waits for.

    A task that is cancelled while it waits is gone at once: no loop over the waiters ever meets it again.
    """

    __slots__ = ("_drawn", "_futures", "_points")

    def __init__(self) -> None:
        self._futures: dict[int, asyncio.Future[None]] = {}
        self._points: list[tuple[PointT, int]] = []
        """A heap; a number that has no future any more was given up."""
        self._drawn = 0
        """Numbers the waiters, so that those of one point wake in the order in which they came."""

    def __len__(self) -> int:
        return len(self._futures)

    async def wait(self, point: PointT) -> None:
        """Return once the point has been reached; raise what `fail` is given."""
        self._drawn += 1
        number = self._drawn
        future = self._futures[number] = asyncio.get_running_loop().create_future()
        heappush(self._points, (point, number))
        try:
            await future
        finally:
            if self._futures.pop(number, None) is not None:
                self._forget_abandoned()

    def next_point(self) -> PointT | None:
        """Return the nearest point somebody waits for; None when nobody waits."""
        while self._points and not self._waits(self._points[0][1]):
            self._futures.pop(heappop(self._points)[1], None)
        return self._points[0][0] if self._points else None

    def release(self, point: PointT) -> None:
        """Wake everybody who waits for this point or an earlier one."""
        while self._points and self._points[0][0] <= point:
            future = self._futures.pop(heappop(self._points)[1], None)
            if future is not None and not future.done():
                future.set_result(None)

    def fail(self, error: Exception) -> None:
        """Raise an error in everybody who waits."""
        futures, self._futures = self._futures, {}
        self._points.clear()
        for future in futures.values():
            if not future.done():
                future.set_exception(error)

    def _waits(self, number: int) -> bool:
        future = self._futures.get(number)
        return future is not None and not future.done()

    def _forget_abandoned(self) -> None:
        """Drop the points of those who gave up, once they are the greater part."""
        if len(self._points) > 2 * len(self._futures) + _ABANDONED_MAX:
            self._points = [(point, number) for point, number in self._points if number in self._futures]
            heapify(self._points)
