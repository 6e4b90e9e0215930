"""Play paths on the workers of a Dask cluster."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from distributed import Future

from mockkube.distributed.dask_pool import DaskPool
from mockkube.distributed.run_environment import WorkerCall, dump_call, pack_files
from mockkube.explore.held_cluster import hold_for_worker
from mockkube.explore.hot_loop_rates import HotLoopPath, HotLoopRate, measure_rate_after
from mockkube.explore.plans.orders import Moves
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.explore.search import PlayedPath
from mockkube.explore.worker_paths import PathRequest, SentPlan, WorkerPath, play_on_worker
from mockkube.scenario.named_files import find_named_files


class DistributedPlayer:
    """Plays paths on the workers of a Dask cluster.

    A task is one path. It continues a path of the last round, whose cluster the worker holds that has played it.
    """

    continues_paths = True

    def __init__(self, plan: RolloutPlan, pool: DaskPool) -> None:
        self._pool = pool
        # Actions of a plan name files relative to the working directory.
        files = pack_files(find_named_files(plan.list_actions(), Path(), {}))
        call = dump_call(WorkerCall(hold_for_worker, (plan,), files))
        self._digest: Final = sha256(pool.environment + call).digest()
        key = pool.make_key("plan", self._digest)
        self._plan: Final = SentPlan(key, pool.environment, call)
        self._plan_on_workers: Final = pool.submit(key, SentPlan, key, pool.environment, call)
        # Paths of the last round: as long as a future is there, a worker holds the cluster.
        self._held: dict[Moves, Future] = {}

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path, in their order."""
        earlier, self._held = self._held, {}
        for moves in paths:
            beginning = earlier.get(moves[:-1])
            self._held[moves] = self._submit("path", beginning, PathRequest(moves))
        for moves, played in zip(paths, self._wait([self._held[moves] for moves in paths]), strict=True):
            yield PlayedPath(moves, played.start, played.results, max(len(moves) - played.made, 0))

    def play_from_start(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path, in their order."""
        self._held.clear()
        futures = [self._submit("whole_path", None, PathRequest(moves, alone=True)) for moves in paths]
        for moves, played in zip(paths, self._wait(futures), strict=True):
            yield PlayedPath(moves, played.start, played.results)

    def measure_rates(self, loops: Sequence[HotLoopPath]) -> Iterator[HotLoopRate]:
        """Yield the rate of each hot loop, in their order."""
        self._held.clear()
        requests = [PathRequest(one.moves, (measure_rate_after, (one,)), alone=True) for one in loops]
        for played in self._wait([self._submit("rate", None, one) for one in requests]):
            yield played.value

    def _submit(self, name: str, beginning: Future | None, request: PathRequest) -> Future:
        """Let a worker play a path; an equal path is the same task.

        The search asks for a move after a state only once, by the first path to the state, and once more to verify
        some states, by another path.
        """
        key = self._pool.make_key(name, self._digest, repr(request).encode())
        # A task goes to a worker that has something it depends on. With a beginning, only that must count.
        plan = self._plan_on_workers if beginning is None else self._plan
        return self._pool.submit(key, play_on_worker, plan, beginning, request)

    def _wait(self, futures: Sequence[Future]) -> Iterator[WorkerPath]:
        for played in self._pool.wait_in_order(futures):
            assert isinstance(played, WorkerPath)
            if played.failure is not None:
                self._pool.read_result(played.failure)
            yield played
