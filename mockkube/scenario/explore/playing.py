"""Play paths, in this process or in parallel processes."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

from mockkube.scenario.explore.orders import Moves
from mockkube.scenario.explore.plan import Plan
from mockkube.scenario.explore.rates import Looping, Rate, measure
from mockkube.scenario.explore.search import Walked
from mockkube.scenario.explore.stepping import walk

# The plan of this worker process.
_PLAN: Final[list[Plan]] = []


class Alone:
    """Plays paths one after the other."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __call__(self, ways: Sequence[Moves]) -> Iterator[Walked]:
        """Yield the result of each path."""
        for moves in ways:
            yield asyncio.run(walk(self._plan, moves))

    def measure(self, loops: Sequence[Looping]) -> Iterator[Rate]:
        """Yield the rate of each hot loop."""
        for one in loops:
            yield asyncio.run(measure(self._plan, one))


class Together:
    """Plays paths in parallel processes; a context manager."""

    def __init__(self, plan: Plan, jobs: int) -> None:
        fresh = get_context("spawn")  # what a process has opened and started is not inherited
        self._pool = ProcessPoolExecutor(jobs, mp_context=fresh, initializer=_begin, initargs=(plan,))

    def __enter__(self) -> "Together":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __call__(self, ways: Sequence[Moves]) -> Iterator[Walked]:
        """Yield the result of each path, in their order: what is learned must not depend on which process is faster."""
        yield from self._pool.map(_walk, ways)

    def measure(self, loops: Sequence[Looping]) -> Iterator[Rate]:
        """Yield the rate of each hot loop, in their order."""
        yield from self._pool.map(_measure, loops)


def _begin(plan: Plan) -> None:
    logging.disable(logging.ERROR)
    _PLAN[:] = [plan]


def _walk(moves: Moves) -> Walked:
    return asyncio.run(walk(_PLAN[0], moves))


def _measure(one: Looping) -> Rate:
    return asyncio.run(measure(_PLAN[0], one))
