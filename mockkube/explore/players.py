"""Play paths, in this process or in parallel processes."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Final, TypeVar

from mockkube.cluster.configuration.errors import StartError
from mockkube.explore.hot_loop_rates import HotLoopPath, HotLoopRate, measure_rate
from mockkube.explore.path_runner import play_path
from mockkube.explore.plans.orders import Moves
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.explore.search import PlayedPath

Given = TypeVar("Given")
Result = TypeVar("Result")

# The plan of this worker process.
_PLAN: Final[list[RolloutPlan]] = []


class SequentialPlayer:
    """Plays paths one after the other."""

    def __init__(self, plan: RolloutPlan) -> None:
        self._plan = plan

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path."""
        for moves in paths:
            yield play_path_in_loop(self._plan, moves)

    def measure_rates(self, loops: Sequence[HotLoopPath]) -> Iterator[HotLoopRate]:
        """Yield the rate of each hot loop."""
        for one in loops:
            yield measure_rate_in_loop(self._plan, one)


class ParallelPlayer:
    """Plays paths in parallel processes; a context manager."""

    def __init__(self, plan: RolloutPlan, workers: int) -> None:
        fresh = get_context("spawn")  # what a process has opened and started is not inherited
        self._pool = ProcessPoolExecutor(workers, mp_context=fresh, initializer=_initialize_process, initargs=(plan,))

    def __enter__(self) -> "ParallelPlayer":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path, in their order: what is learned must not depend on which process is faster."""
        yield from self._map(_play_path, paths)

    def measure_rates(self, loops: Sequence[HotLoopPath]) -> Iterator[HotLoopRate]:
        """Yield the rate of each hot loop, in their order."""
        yield from self._map(_measure_rate, loops)

    def _map(self, play: Callable[[Given], Result], given: Sequence[Given]) -> Iterator[Result]:
        try:
            yield from self._pool.map(play, given)
        except BrokenProcessPool:
            raise StartError("a process that played paths has died: explore with --workers 1 to see why") from None


def _initialize_process(plan: RolloutPlan) -> None:
    logging.disable(logging.ERROR)
    _PLAN[:] = [plan]


def _play_path(moves: Moves) -> PlayedPath:
    return play_path_in_loop(_PLAN[0], moves)


def _measure_rate(one: HotLoopPath) -> HotLoopRate:
    return measure_rate_in_loop(_PLAN[0], one)


def play_path_in_loop(plan: RolloutPlan, moves: Moves) -> PlayedPath:
    """Play a path in an event loop of its own."""
    return asyncio.run(play_path(plan, moves))


def measure_rate_in_loop(plan: RolloutPlan, one: HotLoopPath) -> HotLoopRate:
    """Measure the rate of a hot loop in an event loop of its own."""
    return asyncio.run(measure_rate(plan, one))
