"""Tasks that wait until a growing value, a revision or a time, reaches a point."""

import asyncio
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

PointT = TypeVar("PointT", int, float, datetime)

# Points without a waiter that are kept before the heap is rebuilt, however few waiters there are.
_ABANDONED_MAX: Final = 64


class Waiters(Generic[PointT]):
    """Waiting tasks, by the point that each waits for.

    A cancelled task is removed immediately, so that no loop over the waiters meets it again.
    """

    __slots__ = ("_futures", "_last_number", "_points")

    def __init__(self) -> None:
        self._futures: dict[int, asyncio.Future[None]] = {}
        # A heap; a number without a future was given up and is skipped when it comes up.
        self._points: list[tuple[PointT, int]] = []
        # Numbers the waiters, so that those of one point wake in order of arrival.
        self._last_number = 0

    def __len__(self) -> int:
        return len(self._futures)

    async def wait(self, point: PointT) -> None:
        """Return once the point was reached; raise the error given to `fail`."""
        self._last_number += 1
        number = self._last_number
        future = self._futures[number] = asyncio.get_running_loop().create_future()
        heappush(self._points, (point, number))
        try:
            await future
        finally:
            if self._futures.pop(number, None) is not None:
                self._forget_abandoned()

    def next_point(self) -> PointT | None:
        """Return the nearest point that a task waits for; None if none waits."""
        while self._points and not self._is_waiting(self._points[0][1]):
            self._futures.pop(heappop(self._points)[1], None)
        return self._points[0][0] if self._points else None

    def release(self, point: PointT) -> None:
        """Wake all tasks that wait for this point or an earlier one."""
        while self._points and self._points[0][0] <= point:
            future = self._futures.pop(heappop(self._points)[1], None)
            if future is not None and not future.done():
                future.set_result(None)

    def fail(self, error: Exception) -> None:
        """Raise an error in all waiting tasks."""
        futures, self._futures = self._futures, {}
        self._points.clear()
        for future in futures.values():
            if not future.done():
                future.set_exception(error)

    def _is_waiting(self, number: int) -> bool:
        future = self._futures.get(number)
        return future is not None and not future.done()

    def _forget_abandoned(self) -> None:
        """Rebuild the heap once cancelled waiters are the greater part of it."""
        if len(self._points) > 2 * len(self._futures) + _ABANDONED_MAX:
            self._points = [(point, number) for point, number in self._points if number in self._futures]
            heapify(self._points)
