"""Requests to processes that hold clusters, and connections to such processes."""

from collections.abc import Awaitable, Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from threading import Lock
from typing import Any, Final

from mockkube.explore.plans.orders import Moves
from mockkube.explore.search import MoveResult, State
from mockkube.lazy_dataclasses import dataclass

# Work on a cluster after its moves, and its arguments.
Work = tuple[Callable[..., Awaitable[Any]], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Continuation:
    """Request to a process that holds a cluster; a connection for the copy follows it."""

    moves: Moves
    # Called with the runner of the path after the moves; the value is reported.
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class ContinuationResult:
    """Report of a process about the moves that it has made."""

    start: State = ""
    results: tuple[MoveResult, ...] = ()
    # Result of the work.
    value: Any = None
    error: Exception | None = None


class HeldCluster:
    """Connection to a process that holds the cluster after a path; the process ends when it is closed or deleted."""

    def __init__(
        self,
        connection: Connection,
        moves: Moves = (),
        start: State = "",
        results: tuple[MoveResult, ...] = (),
        owner: object = None,
    ) -> None:
        self._connection = connection
        self.moves: Final = moves
        self.start: Final = start
        # Of all moves of the path.
        self.results: Final = results
        # What must not end before this process.
        self.owner: Final = owner
        # A request is two messages, and threads of a worker of Dask continue one path at the same time.
        self._lock = Lock()

    @property
    def is_closed(self) -> bool:
        """True if the process cannot be used any more."""
        return self._connection.closed

    def continue_path(self, moves: Moves, work: Work | None = None) -> Connection:
        """Let a copy of the process make the rest of a path; return the connection to it, or raise OSError."""
        ours, theirs = Pipe()
        try:
            with self._lock:
                self._connection.send(Continuation(moves[len(self.moves) :], work))
                send_handle(self._connection, theirs.fileno(), None)
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours

    def close(self) -> None:
        """End the process."""
        self._connection.close()


def receive_result(connection: Connection) -> ContinuationResult | None:
    """Return the report of a process; None if it has died."""
    try:
        result: Any = connection.recv()
    except (EOFError, OSError):
        return None
    assert isinstance(result, ContinuationResult)
    return result
