"""Client with a token bucket, as upstream's clients have one, and the workers that it slows down.

A step must not sleep. So a worker may overdraw the bucket of its client within a step, and takes no further step until
the debt is repaid: the sustained rate is the same.
"""

from mockkube.client.delegating_client import DelegatingClient
from mockkube.client.protocol import Client
from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limiters import RateLimiter
from mockkube.runtime.steps import Signal, Worker


class RateLimitedClient(DelegatingClient):
    """Client that takes one token per request; without a bucket there is no limit."""

    def __init__(self, client: Client, clock: Clock, bucket: RateLimiter | None) -> None:
        super().__init__(client)
        self._clock, self._bucket = clock, bucket
        # Its workers may take their next step from this time on.
        self.ready_at = clock.monotonic()

    def _before_request(self, verb: str, kind: str = "", namespace: str = "", name: str = "") -> None:
        if self._bucket is not None:
            self.ready_at = self._clock.monotonic() + self._bucket.when(self)

    def has_tokens(self) -> bool:
        """Return whether its workers may take a step now."""
        return self.ready_at <= self._clock.monotonic()


class RateLimitedWorker:
    """Worker that takes no step while its client has a debt of tokens."""

    def __init__(self, worker: Worker, client: RateLimitedClient) -> None:
        self.name = worker.name
        self._worker, self._client = worker, client

    @property
    def signal(self) -> Signal:
        """Signal of the worker."""
        return self._worker.signal

    def is_ready(self) -> bool:
        """Return whether the worker is ready and the client has tokens."""
        return self._client.has_tokens() and self._worker.is_ready()

    def wake_at(self) -> float | None:
        """Return when the worker becomes ready, or when the client has tokens again."""
        if self._worker.is_ready():
            return self._client.ready_at
        at = self._worker.wake_at()
        return None if at is None else max(at, self._client.ready_at)

    async def step(self) -> None:
        """Take a step of the worker."""
        await self._worker.step()
