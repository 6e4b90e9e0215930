"""A queue of keys to work on: each at most once, later if wished, and not too often after failures."""

# upstream 1.36: staging/src/k8s.io/client-go/util/workqueue/{queue,delaying_queue,rate_limiting_queue}.go
from collections import deque
from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Generic, Protocol, TypeVar

from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limits import RateLimiter, controller_limits
from mockkube.runtime.steps import Bell

ItemT = TypeVar("ItemT", bound=Hashable)


class QueueObserver(Protocol):
    """Is told what happens in a queue, for metrics."""

    def added(self) -> None:
        """An item waits that did not wait before."""
        ...

    def retried(self) -> None:
        """An item was asked to come back, at once or later."""
        ...

    def taken(self, waited_seconds: float) -> None:
        """An item is worked on, after so long in the queue."""
        ...

    def finished(self, worked_seconds: float) -> None:
        """The work on an item is over."""
        ...


class _Unobserved:
    def added(self) -> None:
        pass

    def retried(self) -> None:
        pass

    def taken(self, waited_seconds: float) -> None:
        pass

    def finished(self, worked_seconds: float) -> None:
        pass


class WorkQueue(Generic[ItemT]):
    """Items in the order of their arrival.

    An item that waits already is not added again. One that is added while it is worked on waits until that is `done`,
    so nobody works on the same item twice at a time. `get` and `done` go in pairs.

    Whoever works on the queue puts its own `bell` here: it rings when something may have become ready, or is due sooner
    than `wake_at` has said.
    """

    def __init__(
        self,
        clock: Clock,
        limits: RateLimiter | None = None,
        *,
        bell: Bell | None = None,
        observer: QueueObserver | None = None,
    ) -> None:
        self.bell = bell or Bell()
        self._clock = clock
        self._limits = limits or controller_limits(clock)
        self._observer: QueueObserver = observer or _Unobserved()
        self._queue: deque[ItemT] = deque()
        self._dirty: dict[ItemT, float] = {}
        """What is to be worked on, and since when; some of it may be in hand still."""
        self._in_hand: dict[ItemT, float] = {}
        """What is worked on, and since when."""
        self._due: dict[ItemT, float] = {}
        self._timers: list[tuple[float, int, ItemT]] = []
        """When items are to be added; those that do not agree with `_due` are over."""
        self._drawn = 0

    def __len__(self) -> int:
        self._catch_up()
        return len(self._queue)

    def add(self, item: ItemT) -> None:
        """Let the item be worked on."""
        if self._want(item, self._clock.monotonic()):
            self.bell.ring()

    def add_after(self, item: ItemT, seconds: float) -> None:
        """Add the item later; of several times the earliest counts."""
        self._observer.retried()
        if seconds <= 0:
            self.add(item)
            return
        at = self._clock.monotonic() + seconds
        if (known := self._due.get(item)) is not None and known <= at:
            return
        self._due[item] = at
        self._drawn += 1
        heappush(self._timers, (at, self._drawn, item))
        self.bell.ring()

    def add_rate_limited(self, item: ItemT) -> None:
        """Add the item when its limits allow."""
        self.add_after(item, self._limits.when(item))

    def forget(self, item: ItemT) -> None:
        """Forget how often the item came back; it stays where it is."""
        self._limits.forget(item)

    def num_requeues(self, item: ItemT) -> int:
        """Return how often the item came back under its limits."""
        return self._limits.num_requeues(item)

    def ready(self) -> bool:
        """Whether there is something to get now."""
        self._catch_up()
        return bool(self._queue)

    def wake_at(self) -> float | None:
        """Return when the next item becomes ready by itself; None if none will."""
        self._catch_up()
        return self._timers[0][0] if self._timers else None

    def get(self) -> ItemT:
        """Return the next item, which is in hand until it is `done`. Asked only when `ready`."""
        self._catch_up()
        item = self._queue.popleft()
        now = self._clock.monotonic()
        self._observer.taken(now - self._dirty.pop(item))
        self._in_hand[item] = now
        return item

    def done(self, item: ItemT) -> None:
        """Say that the work on the item is over; if it was added meanwhile, it is ready again."""
        now = self._clock.monotonic()
        self._observer.finished(now - self._in_hand.pop(item, now))
        if item in self._dirty:
            self._queue.append(item)
            self.bell.ring()

    def _want(self, item: ItemT, since: float) -> bool:
        """Note that the item is to be worked on; return whether that makes it ready."""
        if item in self._dirty:
            return False
        self._observer.added()
        self._dirty[item] = since
        if item in self._in_hand:
            return False
        self._queue.append(item)
        return True

    def _catch_up(self) -> None:
        """Want what has fallen due since anybody looked, and forget timers that are over.

        Whoever asks when the next item is due, and is told of a later one, hears by the bell that this one is ready.
        """
        timers, now = self._timers, self._clock.monotonic()
        while timers and (self._due.get(timers[0][2]) != timers[0][0] or timers[0][0] <= now):
            at, _, item = heappop(timers)
            if self._due.get(item) == at:
                del self._due[item]
                if self._want(item, at):
                    self.bell.ring()
