"""A client with a token bucket, and a worker that waits for its tokens."""

from typing import Any

import pytest

from mockkube.client.protocol import Key
from mockkube.client.rate_limited_client import RateLimitedClient, RateLimitedWorker
from mockkube.runtime.rate_limiters import BucketRateLimiter
from mockkube.runtime.steps import Signal
from mockkube.runtime.virtual_time import VirtualClock
from tests.simulation import Simulation


class Server:
    async def get(self, kind: str, key: Key, *, subresource: str = "") -> Any:
        return {"kind": kind}


class Reader:
    """Reads several objects in each step, until it has read enough."""

    name = "reader"

    def __init__(self, client: RateLimitedClient, clock: VirtualClock, *, reads: int, steps: int, starts_at: float):
        self.signal = Signal()
        self.read_at: list[float] = []
        self._client, self._clock, self._reads, self._steps, self._starts_at = client, clock, reads, steps, starts_at

    def is_ready(self) -> bool:
        return self._clock.monotonic() >= self._starts_at and len(self.read_at) < self._steps

    def wake_at(self) -> float | None:
        return self._starts_at if len(self.read_at) < self._steps else None

    async def step(self) -> None:
        self.read_at.append(round(self._clock.monotonic(), 3))
        for _ in range(self._reads):
            await self._client.get("Pod", Key("default", "p"))


@pytest.mark.parametrize(
    ("reads", "starts_at", "read_at"),
    [
        pytest.param(1, 0.0, [0, 0, 0, 0.5, 1, 1.5], id="one request a step"),
        pytest.param(4, 0.0, [0, 1, 3, 5, 7, 9], id="a step may overdraw the bucket"),
        pytest.param(0, 0.0, [0, 0, 0, 0, 0, 0], id="no request"),
        pytest.param(1, 7.0, [7, 7, 7, 7.5, 8, 8.5], id="later"),
    ],
)
async def test_a_worker_waits_until_its_client_has_tokens(reads: int, starts_at: float, read_at: list[float]) -> None:
    clock = VirtualClock()
    client = RateLimitedClient(Server(), clock, BucketRateLimiter(clock, 2.0, 2))  # type: ignore[arg-type]  # reads only
    reader = Reader(client, clock, reads=reads, steps=len(read_at), starts_at=starts_at)
    worker = RateLimitedWorker(reader, client)
    assert (worker.name, worker.signal) == ("reader", reader.signal)
    simulation = Simulation(lambda: [worker], clock=clock)
    await simulation.advance(20)
    assert reader.read_at == read_at
