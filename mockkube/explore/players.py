"""Play paths, in this process or in parallel processes."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

from mockkube.explore.hot_loop_rates import HotLoopPath, HotLoopRate, measure_rate
from mockkube.explore.path_runner import play_path
from mockkube.explore.plans.orders import Moves
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.explore.search import PlayedPath

# The plan of this worker process.
_PLAN: Final[list[RolloutPlan]] = []


class SequentialPlayer:
    """Plays paths one after the other."""

    def __init__(self, plan: RolloutPlan) -> None:
        self._plan = plan

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path."""
        for moves in paths:
            yield asyncio.run(play_path(self._plan, moves))

    def measure_rates(self, loops: Sequence[HotLoopPath]) -> Iterator[HotLoopRate]:
        """Yield the rate of each hot loop."""
        for one in loops:
            yield asyncio.run(measure_rate(self._plan, one))


class ParallelPlayer:
    """Plays paths in parallel processes; a context manager."""

    def __init__(self, plan: RolloutPlan, jobs: int) -> None:
        fresh = get_context("spawn")  # what a process has opened and started is not inherited
        self._pool = ProcessPoolExecutor(jobs, mp_context=fresh, initializer=_initialize_process, initargs=(plan,))

    def __enter__(self) -> "ParallelPlayer":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path, in their order: what is learned must not depend on which process is faster."""
        yield from self._pool.map(_play_path, paths)

    def measure_rates(self, loops: Sequence[HotLoopPath]) -> Iterator[HotLoopRate]:
        """Yield the rate of each hot loop, in their order."""
        yield from self._pool.map(_measure_rate, loops)


def _initialize_process(plan: RolloutPlan) -> None:
    logging.disable(logging.ERROR)
    _PLAN[:] = [plan]


def _play_path(moves: Moves) -> PlayedPath:
    return asyncio.run(play_path(_PLAN[0], moves))


def _measure_rate(one: HotLoopPath) -> HotLoopRate:
    return asyncio.run(measure_rate(_PLAN[0], one))
