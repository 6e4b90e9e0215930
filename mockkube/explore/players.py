"""Play paths, in this process or in parallel processes."""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Final, Self

from mockkube.cluster.configuration.errors import StartError
from mockkube.explore.continuations import ContinuationResult, HeldCluster, Work, receive_result
from mockkube.explore.held_cluster import hold_new_cluster
from mockkube.explore.hot_loop_rates import HotLoopPath, HotLoopRate, measure_rate, measure_rate_after
from mockkube.explore.path_runner import play_path
from mockkube.explore.plans.orders import Moves
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.explore.search import MoveResult, PlayedPath
from mockkube.lazy_dataclasses import dataclass

# Clusters kept at a time: about 40 MB each, for a plan with three workloads. Further paths of a round are played again
# from the start when they go on.
HELD_MAX: Final = 48
# How often a path is played whose process has been killed.
_TRIES_MAX: Final = 3
_END_SECONDS_MAX: Final = 5.0
_DIED: Final = "processes that ran paths have died: is there enough memory? Explore with fewer --workers"


class SequentialPlayer:
    """Plays paths one after the other, in this process."""

    continues_paths = False

    def __init__(self, plan: RolloutPlan) -> None:
        self._plan = plan

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path."""
        for moves in paths:
            yield play_path_in_loop(self._plan, moves)

    def play_from_start(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path."""
        return self(paths)

    def measure_rates(self, loops: Sequence[HotLoopPath]) -> Iterator[HotLoopRate]:
        """Yield the rate of each hot loop."""
        for one in loops:
            yield measure_rate_in_loop(self._plan, one)


@dataclass(slots=True)
class _Task:
    """A path to play."""

    index: int
    moves: Moves
    work: Work | None = None
    tries: int = 0
    # Results of the path that it continues.
    known: tuple[MoveResult, ...] = ()


class ParallelPlayer:
    """Plays paths in parallel processes; a context manager.

    A process holds the cluster after each path of the last round, so a path that continues one of them only costs the
    moves after it.
    """

    continues_paths = True

    def __init__(self, plan: RolloutPlan, workers: int) -> None:
        self._plan, self._workers = plan, workers
        # By the moves made; the one without moves stays.
        self._held: dict[Moves, HeldCluster] = {}
        fresh = get_context("spawn")  # what a process has opened and started is not inherited
        ours, theirs = fresh.Pipe()
        self._process = fresh.Process(target=hold_new_cluster, args=(plan, theirs), daemon=True)
        self._first: Final = (ours, theirs)

    def __enter__(self) -> Self:
        self._process.start()
        self._first[1].close()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._end_processes(frozenset())
        self._first[0].close()
        self._process.join(_END_SECONDS_MAX)
        if self._process.is_alive():
            self._process.kill()

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path, in their order: what is learned must not depend on which process is faster."""
        earlier = frozenset(self._held)
        for task, result in self._run([_Task(index, moves) for index, moves in enumerate(paths)]):
            yield PlayedPath(task.moves, result.start, task.known + result.results, len(task.known))
        self._end_processes(frozenset(self._held) - earlier)

    def play_from_start(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        """Yield the result of each path, played from start to end."""
        self._end_processes(frozenset({()}))
        yield from self(paths)

    def measure_rates(self, loops: Sequence[HotLoopPath]) -> Iterator[HotLoopRate]:
        """Yield the rate of each hot loop, in their order."""
        self._end_processes(frozenset({()}))
        tasks = [_Task(index, one.moves, (measure_rate_after, (one,))) for index, one in enumerate(loops)]
        for _, result in self._run(tasks):
            yield result.value

    def _run(self, tasks: Sequence[_Task]) -> Iterator[tuple[_Task, ContinuationResult]]:
        """Yield each task with its result, in their order, and hold the clusters of the first ones."""
        waiting = deque(tasks)
        running: dict[Connection, _Task] = {}
        results: dict[int, ContinuationResult] = {}
        try:
            for task in tasks:
                while task.index not in results:
                    while waiting and len(running) < self._workers:
                        next_task = waiting.popleft()
                        running[self._start(next_task)] = next_task
                    for connection in wait(list(running)):
                        assert isinstance(connection, Connection)
                        done = running.pop(connection)
                        result = receive_result(connection)
                        if result is None:
                            waiting.appendleft(_retry(done))
                            connection.close()
                        else:
                            results[done.index] = result
                            self._keep(done, connection, result)
                yield task, results.pop(task.index)
        finally:
            for connection in running:
                connection.close()

    def _start(self, task: _Task) -> Connection:
        """Send a task to the process with the longest beginning of its path; return the connection to the copy."""
        while True:
            lengths = range(len(task.moves), 0, -1) if task.tries == 0 else ()
            origin = next((task.moves[:n] for n in lengths if task.moves[:n] in self._held), ())
            held = self._held.get(origin) or self._hold_first()
            task.known = held.results
            try:
                return held.continue_path(task.moves, task.work)
            except OSError:
                if not origin:
                    raise StartError(_DIED) from None
                self._held.pop(origin).close()

    def _hold_first(self) -> HeldCluster:
        """Return the cluster without moves, when it has started."""
        connection = self._first[0]
        result = receive_result(connection)
        if result is None:
            raise StartError(_DIED)
        _raise_error(result)
        self._held[()] = HeldCluster(connection, start=result.start)
        return self._held[()]

    def _keep(self, task: _Task, connection: Connection, result: ContinuationResult) -> None:
        """Hold the cluster of a path that has been played."""
        if result.error is not None or task.work is not None or len(self._held) > HELD_MAX or task.moves in self._held:
            connection.close()
        else:
            self._held[task.moves] = HeldCluster(connection, task.moves, result.start, task.known + result.results)
        _raise_error(result)

    def _end_processes(self, keep: frozenset[Moves]) -> None:
        """End the processes that hold other paths."""
        for moves in self._held.keys() - keep - {()}:
            self._held.pop(moves).close()


def _raise_error(result: ContinuationResult) -> None:
    if result.error is not None:
        raise result.error


def _retry(task: _Task) -> _Task:
    """Return a task whose process has died, to be played from the start."""
    task.tries += 1
    if task.tries == _TRIES_MAX:
        raise StartError(_DIED)
    return task


def play_path_in_loop(plan: RolloutPlan, moves: Moves) -> PlayedPath:
    """Play a path in an event loop of its own."""
    return asyncio.run(play_path(plan, moves))


def measure_rate_in_loop(plan: RolloutPlan, one: HotLoopPath) -> HotLoopRate:
    """Measure the rate of a hot loop in an event loop of its own."""
    return asyncio.run(measure_rate(plan, one))
