"""Rate limiter for failed CertificateSigningRequests."""

# upstream 1.36: pkg/controller/certificates/certificate_controller.go
from typing import Final

from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
)

_FIRST_SECONDS: Final = 0.2


def csr_rate_limiter(clock: Clock) -> RateLimiter:
    """Return the rate limiter for failed requests."""
    return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(_FIRST_SECONDS), BucketRateLimiter(clock))
