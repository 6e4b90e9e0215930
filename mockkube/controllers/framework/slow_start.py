"""Batches of creations that grow as they succeed: 1, 2, 4, ... so that a quota refuses one pod, not a thousand.

upstream 1.36: pkg/controller/replicaset/replica_set.go, slowStartBatch
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.runtime.steps import give_way

_TURN: Final = 256
"""After how many calls others get a turn: not every call waits for something."""


@dataclass(frozen=True, slots=True)
class Batches:
    """How it went: the calls that succeeded, and what the first one that failed said."""

    successes: int
    error: ApiError | None = None


async def slow_start(count: int, create: Callable[[int], Awaitable[object]], *, first: int = 1) -> Batches:
    """Call `create` with 0, 1, ... in growing batches; the batch in which one fails is finished and is the last."""
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
