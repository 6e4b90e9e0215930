"""Client with a token bucket per controller, as upstream's clients have one.

A step must not sleep. So a controller may overdraw its bucket within a step, and its worker takes no further step until
the debt is repaid: the sustained rate is the same.
"""

from mockkube.client.delegating_client import DelegatingClient
from mockkube.client.protocol import Client
from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limiters import RateLimiter


class RateLimitedClient(DelegatingClient):
    """Client that takes one token per request; without a bucket there is no limit."""

    def __init__(self, client: Client, clock: Clock, bucket: RateLimiter | None) -> None:
        super().__init__(client)
        self._clock, self._bucket = clock, bucket
        # The controller may take its next step from this time on.
        self.ready_at = clock.monotonic()

    def _before_request(self, verb: str, kind: str = "", namespace: str = "", name: str = "") -> None:
        if self._bucket is not None:
            self.ready_at = self._clock.monotonic() + self._bucket.when(self)
