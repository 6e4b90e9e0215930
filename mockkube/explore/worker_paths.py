"""Tasks of a worker of Dask that play paths.

The result of such a task stays in the memory of its worker as long as somebody wants it, and with it the process that
holds the cluster after the path. The task of a path that continues it depends on it. So Dask itself prefers the worker
that holds the cluster, ends clusters that nobody needs any more, and plays what a lost worker has held again. A result
that has come to another worker has no process: there the path is played again before it is continued.
"""

from multiprocessing import Pipe
from pickle import loads
from threading import Lock
from typing import Any, Final
from weakref import WeakValueDictionary

from mockkube.distributed.call_processes import CallProcess, CallProcessDied, wait_for_answer
from mockkube.distributed.call_server import CallResult
from mockkube.explore.continuations import ContinuationResult, HeldCluster, Work, receive_result
from mockkube.explore.plans.orders import Moves
from mockkube.explore.search import MoveResult, State
from mockkube.lazy_dataclasses import dataclass

# Clusters that a worker holds at a time, as many as a machine does without Dask.
HELD_MAX: Final = 48

# Clusters that this worker holds, by plan and path.
_HELD: Final[WeakValueDictionary[tuple[str, Moves], HeldCluster]] = WeakValueDictionary()
# Threads of a worker share the cluster without moves.
_START: Final = Lock()


class SentPlan:
    """A plan with all that it needs on another machine, and the cluster without moves that a worker has for it."""

    def __init__(self, key: str, environment: bytes, call: bytes) -> None:
        self.key, self.environment, self.call = key, environment, call
        # Kept as long as Dask keeps the plan.
        self.first: HeldCluster | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return SentPlan, (self.key, self.environment, self.call)


@dataclass(frozen=True, slots=True)
class PathRequest:
    """A path to play."""

    moves: Moves
    # Done after the moves.
    work: Work | None = None
    # Whether it is played from the start, and its cluster ends.
    alone: bool = False


class WorkerPath:
    """A path that a worker has played, and its cluster as long as Dask keeps this on the same worker."""

    def __init__(
        self,
        start: State = "",
        results: tuple[MoveResult, ...] = (),
        made: int = 0,
        value: Any = None,
        failure: CallResult | None = None,
    ) -> None:
        self.start: Final = start
        self.results: Final = results
        # Number of moves that its task has made, also for other paths.
        self.made: Final = made
        # Result of the work.
        self.value: Final = value
        # Why it could not be played.
        self.failure: Final = failure
        self.cluster: HeldCluster | None = None
        self.lock: Final = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return WorkerPath, (self.start, self.results, self.made, self.value, self.failure)


class _PlayFailed(Exception):
    """A path cannot be played: the result says why."""

    def __init__(self, result: CallResult) -> None:
        super().__init__()
        self.result = result


def play_on_worker(plan: SentPlan, beginning: WorkerPath | None, request: PathRequest) -> WorkerPath:
    """Play a path that continues another one, if that is given. Dask plays it again after CallProcessDied."""
    made = 0
    try:
        if not request.moves:
            return WorkerPath(_hold_first(plan).start)
        origin = None
        if beginning is not None:
            origin, made = _hold_again(plan, beginning, request.moves[:-1])
        cluster, result = _continue(plan, origin, request)
    except _PlayFailed as failed:
        return WorkerPath(failure=failed.result)
    played = WorkerPath(cluster.start, cluster.results, made + len(result.results), result.value, _find_failure(result))
    if not request.alone and played.failure is None and len(_HELD) < HELD_MAX:
        _HELD[plan.key, request.moves] = played.cluster = cluster
    return played


def _hold_again(plan: SentPlan, path: WorkerPath, moves: Moves) -> tuple[HeldCluster, int]:
    """Return the cluster after a path, and the number of moves that were made for it on this worker."""
    with path.lock:
        if path.cluster is not None and not path.cluster.is_closed:
            return path.cluster, 0
        cluster, result = _continue(plan, None, PathRequest(moves))
        if (failure := _find_failure(result)) is not None:
            raise _PlayFailed(failure)
        _HELD[plan.key, moves] = path.cluster = cluster
        return cluster, len(result.results)


def _continue(
    plan: SentPlan, origin: HeldCluster | None, request: PathRequest
) -> tuple[HeldCluster, ContinuationResult]:
    """Continue the longest beginning of a path that is held; return the cluster after the path."""
    while True:
        held = origin or (None if request.alone else _find_longest(plan, request.moves)) or _hold_first(plan)
        origin = None
        try:
            connection = held.continue_path(request.moves, request.work)
            wait_for_answer(connection)
            result = receive_result(connection)
        except OSError:
            result = None
        if result is not None:
            results = held.results + result.results
            owner = held.owner if held.moves else held
            return HeldCluster(connection, request.moves, held.start, results, owner), result
        # Whatever has ended the copy may have ended the original, too.
        held.close()
        if not held.moves:
            raise CallProcessDied("it held a cluster")


def _find_longest(plan: SentPlan, moves: Moves) -> HeldCluster | None:
    """Return the cluster after the longest beginning of a path that this worker holds."""
    for length in range(len(moves), 0, -1):
        held = _HELD.get((plan.key, moves[:length]))
        if held is not None and not held.is_closed:
            return held
    return None


def _hold_first(plan: SentPlan) -> HeldCluster:
    """Return the cluster without moves; start it if this worker has none for the plan."""
    with _START:
        held = plan.first or _HELD.get((plan.key, ()))
        if held is None or held.is_closed:
            held = _HELD[plan.key, ()] = _start_cluster(plan)
        plan.first = held
        return held


def _start_cluster(plan: SentPlan) -> HeldCluster:
    ours, theirs = Pipe()
    with theirs:
        process = CallProcess(plan.environment, theirs)
    process.send(plan.call)
    if ours not in wait_for_answer(ours, process):
        raise _PlayFailed(loads(process.read_answer()))
    result = receive_result(ours)
    if result is None:
        raise CallProcessDied("it started a cluster")
    if (failure := _find_failure(result)) is not None:
        raise _PlayFailed(failure)
    return HeldCluster(ours, start=result.start, owner=process)


def _find_failure(result: ContinuationResult) -> CallResult | None:
    return None if result.error is None else CallResult(error=result.error)
