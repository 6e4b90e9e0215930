"""Slow start batch: creates pods in batches of 1, 2, 4, ..., so that a quota rejects one pod and not a thousand.

upstream 1.36: pkg/controller/replicaset/replica_set.go, slowStartBatch
"""

from collections.abc import Awaitable, Callable
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.steps import yield_to_event_loop

# Number of calls after which other tasks may run: not every call awaits something, and to create a pod of hundreds of
# containers takes milliseconds.
_YIELD_EVERY: Final = 16


@dataclass(frozen=True, slots=True)
class SlowStartResult:
    """Number of successful calls, and the first error."""

    successes: int
    error: ApiError | None = None


async def slow_start_batch(
    count: int, create: Callable[[int], Awaitable[object]], *, first: int = 1
) -> SlowStartResult:
    """Call `create` with 0, 1, ... in growing batches; a batch with an error is finished and is the last."""
    successes, done, size = 0, 0, min(count, first)
    while size > 0:
        error: ApiError | None = None
        for index in range(done, done + size):
            if index % _YIELD_EVERY == _YIELD_EVERY - 1:
                await yield_to_event_loop()
            try:
                await create(index)
                successes += 1
            except ApiError as failure:
                error = error or failure
        if error is not None:
            return SlowStartResult(successes, error)
        done += size
        size = min(2 * size, count - done)
    return SlowStartResult(successes)
