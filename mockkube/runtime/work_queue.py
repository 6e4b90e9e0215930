"""Work queue of keys, each at most once, with delays and rate limits."""

# upstream 1.36: staging/src/k8s.io/client-go/util/workqueue/{queue,delaying_queue,rate_limiting_queue}.go
import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from heapq import heappop, heappush
from typing import Generic, Protocol, TypeVar

from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limiters import RateLimiter, default_controller_rate_limiter
from mockkube.runtime.steps import Signal

ItemT = TypeVar("ItemT", bound=Hashable)


class QueueObserver(Protocol):
    """Metrics of a queue."""

    def observe_add(self) -> None:
        """Count an item that was added and was not waiting before."""
        ...

    def observe_retry(self) -> None:
        """Count an item that was requeued, immediately or later."""
        ...

    def observe_get(self, waited_seconds: float) -> None:
        """Observe how long an item waited in the queue."""
        ...

    def observe_done(self, worked_seconds: float) -> None:
        """Observe how long the work on an item took."""
        ...


class _NoObserver:
    def observe_add(self) -> None:
        pass

    def observe_retry(self) -> None:
        pass

    def observe_get(self, waited_seconds: float) -> None:
        pass

    def observe_done(self, worked_seconds: float) -> None:
        pass


class WorkQueue(Generic[ItemT]):
    """Items in the order of their arrival.

    A waiting item is not added again. An item that is added while it is being processed waits until `done`, so no item
    is processed twice at a time. `get` and `done` come in pairs.

    The worker that processes the queue may pass its own `signal`: it is notified when an item may have become ready, or
    is due sooner than `wake_at` returned. Without a worker, `run` processes the queue.
    """

    def __init__(
        self,
        clock: Clock,
        rate_limiter: RateLimiter | None = None,
        *,
        signal: Signal | None = None,
        observer: QueueObserver | None = None,
    ) -> None:
        self.signal = signal or Signal()
        self._clock = clock
        self._rate_limiter = rate_limiter or default_controller_rate_limiter(clock)
        self._observer: QueueObserver = observer or _NoObserver()
        self._queue: deque[ItemT] = deque()
        # Items to process, with the time since when; some of them may still be in process.
        self._dirty: dict[ItemT, float] = {}
        # Items in process, with the time since when.
        self._processing: dict[ItemT, float] = {}
        self._due: dict[ItemT, float] = {}
        # When items are to be added; entries that differ from `_due` are outdated.
        self._timers: list[tuple[float, int, ItemT]] = []
        self._last_number = 0

    def __len__(self) -> int:
        self._add_due_items()
        return len(self._queue)

    def add(self, item: ItemT) -> None:
        """Add an item unless it waits already."""
        if self._mark_dirty(item, self._clock.monotonic()):
            self.signal.notify()

    def add_after(self, item: ItemT, seconds: float) -> None:
        """Add the item later; of several times the earliest counts."""
        self._observer.observe_retry()
        if seconds <= 0:
            self.add(item)
            return
        at = self._clock.monotonic() + seconds
        if (known := self._due.get(item)) is not None and known <= at:
            return
        # A later timer of the same item stays in the heap and is skipped when it comes up, because it differs from
        # `_due`.
        self._due[item] = at
        self._last_number += 1
        heappush(self._timers, (at, self._last_number, item))
        self.signal.notify()

    def add_rate_limited(self, item: ItemT) -> None:
        """Add the item when its rate limiter allows it."""
        self.add_after(item, self._rate_limiter.when(item))

    def forget(self, item: ItemT) -> None:
        """Reset the rate limiter for the item; its place in the queue stays."""
        self._rate_limiter.forget(item)

    def num_requeues(self, item: ItemT) -> int:
        """Return how often the item was requeued with rate limits."""
        return self._rate_limiter.num_requeues(item)

    def is_ready(self) -> bool:
        """Return whether an item can be taken now."""
        self._add_due_items()
        return bool(self._queue)

    def wake_at(self) -> float | None:
        """Return when the next delayed item becomes ready; None if there is none."""
        self._add_due_items()
        return self._timers[0][0] if self._timers else None

    def list_delays(self) -> list[tuple[ItemT, float]]:
        """Return the delayed items, each with the seconds until it becomes ready."""
        now = self._clock.monotonic()
        return [(item, max(at - now, 0.0)) for item, at in self._due.items()]

    def get(self) -> ItemT:
        """Return the next item, which is being processed until `done`; call it only when `is_ready`."""
        self._add_due_items()
        item = self._queue.popleft()
        now = self._clock.monotonic()
        self._observer.observe_get(now - self._dirty.pop(item))
        self._processing[item] = now
        return item

    def done(self, item: ItemT) -> None:
        """Mark the item as processed; if it was added meanwhile, it is ready again."""
        now = self._clock.monotonic()
        self._observer.observe_done(now - self._processing.pop(item, now))
        if item in self._dirty:
            self._queue.append(item)
            self.signal.notify()

    async def run(self, process: Callable[[ItemT], Awaitable[None]]) -> None:
        """Process items one after the other until cancelled; `process` handles its own errors."""
        async with asyncio.TaskGroup() as timers:
            next_timer = math.inf
            while True:
                while self.is_ready():
                    item = self.get()
                    try:
                        await process(item)
                    finally:
                        self.done(item)
                at = self.wake_at()
                # Time comes from the queue's clock, so virtual time works as well. An earlier timer is never in the
                # way: a signal without a ready item does nothing.
                if at is not None and (at < next_timer or next_timer <= self._clock.monotonic()):
                    next_timer = at
                    timers.create_task(self._notify_at(at))
                await self.signal.wait()

    def is_busy(self) -> bool:
        """Return whether an item waits to be processed now, or is being processed."""
        if not self._queue and not self._timers:  # hot: per step of a simulation
            return bool(self._processing)
        return self.is_ready() or bool(self._processing)

    async def _notify_at(self, at: float) -> None:
        await self._clock.sleep(at - self._clock.monotonic())
        self.signal.notify()

    def _mark_dirty(self, item: ItemT, since: float) -> bool:
        """Mark the item as waiting; return whether it is ready now."""
        if item in self._dirty:
            return False
        self._observer.observe_add()
        self._dirty[item] = since
        if item in self._processing:
            return False
        self._queue.append(item)
        return True

    def _add_due_items(self) -> None:
        """Add the items whose delay is over, and drop outdated timers.

        Between two reads of the clock an item may become due: a worker that was given a later wake-up time by `wake_at`
        is woken by the signal instead, and does not sleep over it.
        """
        timers, now = self._timers, self._clock.monotonic()
        while timers and (self._due.get(timers[0][2]) != timers[0][0] or timers[0][0] <= now):
            at, _, item = heappop(timers)
            if self._due.get(item) == at:
                del self._due[item]
                if self._mark_dirty(item, at):
                    self.signal.notify()
