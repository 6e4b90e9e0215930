"""Play paths on the workers of a Dask cluster."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from mockkube.distributed.dask_pool import DaskPool
from mockkube.distributed.run_environment import WorkerCall, pack_files
from mockkube.explore.hot_loop_rates import HotLoopPath, HotLoopRate
from mockkube.explore.plans.orders import Moves
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.explore.players import measure_rate_in_loop, play_path_in_loop
from mockkube.explore.search import PlayedPath
from mockkube.scenario.named_files import find_named_files

Given = TypeVar("Given")
Result = TypeVar("Result")


class DistributedPlayer:
    """Plays paths on the workers of a Dask cluster.

    A task is one path: it takes a few hundred milliseconds, and the way there and back a few.
    """

    continues_paths = False

    def __init__(self, plan: RolloutPlan, pool: DaskPool) -> None:
        self._plan, self._pool = plan, pool
        # Actions of a plan name files relative to the working directory.
        self._files: Final = pack_files(find_named_files(plan.list_actions(), Path(), {}))

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path, in their order."""
        return self._play(play_path_in_loop, paths)

    def play_from_start(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path, in their order."""
        return self(paths)

    def measure_rates(self, loops: Sequence[HotLoopPath]) -> Iterator[HotLoopRate]:
        """Yield the rate of each hot loop, in their order."""
        return self._play(measure_rate_in_loop, loops)

    def _play(self, play: Callable[[RolloutPlan, Given], Result], given: Sequence[Given]) -> Iterator[Result]:
        calls = [WorkerCall(play, (self._plan, one), self._files) for one in given]
        return self._pool.run_calls_in_order(calls)
