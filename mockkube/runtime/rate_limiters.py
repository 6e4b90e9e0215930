"""Rate limiters: how long a failed or frequent item waits before it is tried again."""

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
    """Returns how long an item waits before it is tried again; each call counts as a try."""

    def when(self, item: Hashable) -> float:
        """Return the seconds that the item has to wait, and count the try."""
        ...

    def forget(self, item: Hashable) -> None:
        """Reset the item: it succeeded, or is given up."""
        ...

    def num_requeues(self, item: Hashable) -> int:
        """Return the number of tries since the item was last forgotten."""
        ...


class ItemExponentialFailureRateLimiter:
    """Limiter that doubles the wait of an item with each try, up to a bound."""

    def __init__(self, base_seconds: float = ITEM_SECONDS, seconds_max: float = ITEM_SECONDS_MAX) -> None:
        self._base, self._max = base_seconds, seconds_max
        self._failures: dict[Hashable, int] = {}

    def when(self, item: Hashable) -> float:
        """Return the base, doubled for each earlier try."""
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        # Past this exponent the float would overflow, and the bound is reached long before.
        return self._max if failures > _DOUBLINGS_MAX else min(self._base * 2.0**failures, self._max)

    def forget(self, item: Hashable) -> None:
        """Start again at the base."""
        self._failures.pop(item, None)

    def num_requeues(self, item: Hashable) -> int:
        """Return the number of tries since the item was last forgotten."""
        return self._failures.get(item, 0)


class BucketRateLimiter:
    """Limiter for all items together: a rate per second, after a burst."""

    __slots__ = ("_at", "_burst", "_clock", "_per_second", "_tokens")

    def __init__(self, clock: Clock, per_second: float = PER_SECOND, burst: int = BURST) -> None:
        self._clock, self._per_second, self._burst = clock, per_second, burst
        self._tokens = float(burst)
        self._at = clock.monotonic()

    def when(self, item: Hashable) -> float:
        """Take a token and return the seconds until it is available."""
        # The count may become negative: each debt moves the next token further away.
        self._tokens = self._refill() - 1
        return max(-self._tokens / self._per_second, 0.0)

    def take(self) -> bool:
        """Take a token if one is available."""
        self._tokens = self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def is_full(self) -> bool:
        """Return whether no token is missing: the bucket is as good as new."""
        self._tokens = self._refill()
        return self._tokens >= self._burst

    def forget(self, item: Hashable) -> None:
        """Do nothing: the bucket does not count per item."""

    def num_requeues(self, item: Hashable) -> int:
        """Return zero: the bucket does not count per item."""
        return 0

    def _refill(self) -> float:
        before, self._at = self._at, self._clock.monotonic()
        return min(self._tokens + (self._at - before) * self._per_second, float(self._burst))


class MaxOfRateLimiter:
    """Limiter that returns the longest wait of several limiters."""

    def __init__(self, *limiters: RateLimiter) -> None:
        self._limiters = limiters

    def when(self, item: Hashable) -> float:
        """Return the longest wait."""
        return max(limiter.when(item) for limiter in self._limiters)

    def forget(self, item: Hashable) -> None:
        """Reset the item in all limiters."""
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: Hashable) -> int:
        """Return the greatest count."""
        return max(limiter.num_requeues(item) for limiter in self._limiters)


def default_controller_rate_limiter(clock: Clock) -> RateLimiter:
    """Return the limiter of most controllers: 5 ms doubling up to 1000 s per item, 10 a second after a burst of 100."""
    return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(), BucketRateLimiter(clock))
