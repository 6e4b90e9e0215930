"""How long work that failed, or that comes too often, has to wait."""

# upstream 1.36: staging/src/k8s.io/client-go/util/workqueue/default_rate_limiters.go
from collections.abc import Hashable
from typing import Final, Protocol

from mockkube.runtime.clock import Clock

ITEM_SECONDS: Final = 0.005
ITEM_SECONDS_MAX: Final = 1000.0
PER_SECOND: Final = 10.0
BURST: Final = 100
_DOUBLINGS_MAX: Final = 1000


class RateLimiter(Protocol):
    """Says how long an item waits before it is tried again; asking counts as a try."""

    def when(self, item: Hashable) -> float:
        """Return how many seconds the item is to wait, and note that it was asked for."""
        ...

    def forget(self, item: Hashable) -> None:
        """Forget the item's past: it has succeeded, or is given up."""
        ...

    def num_requeues(self, item: Hashable) -> int:
        """Return how often the item was asked for since it was last forgotten."""
        ...


class ItemExponentialFailure:
    """Each item waits twice as long as the time before, up to a bound."""

    def __init__(self, base_seconds: float = ITEM_SECONDS, seconds_max: float = ITEM_SECONDS_MAX) -> None:
        self._base, self._max = base_seconds, seconds_max
        self._failures: dict[Hashable, int] = {}

    def when(self, item: Hashable) -> float:
        """Return the base, doubled for each time before."""
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        return self._max if failures > _DOUBLINGS_MAX else min(self._base * 2.0**failures, self._max)

    def forget(self, item: Hashable) -> None:
        """Begin again at the base."""
        self._failures.pop(item, None)

    def num_requeues(self, item: Hashable) -> int:
        """Return how often the item was asked for since it was last forgotten."""
        return self._failures.get(item, 0)


class TokenBucket:
    """All items together: so many a second, after a burst."""

    def __init__(self, clock: Clock, per_second: float = PER_SECOND, burst: int = BURST) -> None:
        self._clock, self._per_second, self._burst = clock, per_second, burst
        self._tokens = float(burst)
        self._at = clock.monotonic()

    def when(self, item: Hashable) -> float:
        """Return when the next token is there, and take it."""
        self._tokens = self._filled() - 1
        return max(-self._tokens / self._per_second, 0.0)

    def take(self) -> bool:
        """Take a token if there is one."""
        self._tokens = self._filled()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def forget(self, item: Hashable) -> None:
        """Tokens that are taken stay taken."""

    def num_requeues(self, item: Hashable) -> int:
        """Return zero: a bucket knows no items."""
        return 0

    def _filled(self) -> float:
        before, self._at = self._at, self._clock.monotonic()
        return min(self._tokens + (self._at - before) * self._per_second, float(self._burst))


class Longest:
    """The longest wait that any of several limiters demands."""

    def __init__(self, *limiters: RateLimiter) -> None:
        self._limiters = limiters

    def when(self, item: Hashable) -> float:
        """Ask all of them."""
        return max(limiter.when(item) for limiter in self._limiters)

    def forget(self, item: Hashable) -> None:
        """Let all of them forget the item."""
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: Hashable) -> int:
        """Return the greatest count."""
        return max(limiter.num_requeues(item) for limiter in self._limiters)


def controller_limits(clock: Clock) -> RateLimiter:
    """Return what most controllers work under: 5 ms doubling up to 1000 s, and ten a second after a hundred."""
    return Longest(ItemExponentialFailure(), TokenBucket(clock))
