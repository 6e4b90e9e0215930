"""Slow start batch: creates pods in batches of 1, 2, 4, ..., so that a quota rejects one pod and not a thousand.

upstream 1.36: pkg/controller/replicaset/replica_set.go, slowStartBatch
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.runtime.steps import give_way

# Number of calls after which other tasks may run: not every call awaits something, and to create a pod of hundreds of
# containers takes milliseconds.
_TURN: Final = 16


@dataclass(frozen=True, slots=True)
class Batches:
    """Number of successful calls, and the first error."""

    successes: int
    error: ApiError | None = None


async def slow_start(count: int, create: Callable[[int], Awaitable[object]], *, first: int = 1) -> Batches:
    """Call `create` with 0, 1, ... in growing batches; a batch with an error is finished and is the last."""
    successes, done, size = 0, 0, min(count, first)
    while size > 0:
        error: ApiError | None = None
        for index in range(done, done + size):
            if index % _TURN == _TURN - 1:
                await give_way()
            try:
                await create(index)
                successes += 1
            except ApiError as failure:
                error = error or failure
        if error is not None:
            return Batches(successes, error)
        done += size
        size = min(2 * size, count - done)
    return Batches(successes)
