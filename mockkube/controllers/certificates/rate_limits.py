"""How long requests for certificates wait that could not be seen to."""

# upstream 1.36: pkg/controller/certificates/certificate_controller.go
from typing import Final

from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limits import ItemExponentialFailure, Longest, RateLimiter, TokenBucket

_FIRST_SECONDS: Final = 0.2


def limits(clock: Clock) -> RateLimiter:
    """Return how long a request that failed waits."""
    return Longest(ItemExponentialFailure(_FIRST_SECONDS), TokenBucket(clock))
