"""Process that holds a cluster as it is after a path, and forks for each continuation of that path.

The copy makes the moves, reports their results, and then holds the cluster in turn, while the original still holds the
earlier state. So the beginning that paths have in common is played once. A copy shares the memory of the original
until one of them writes to it.
"""

import asyncio
import gc
import logging
import os
import pickle
import selectors
import signal
import sys
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from traceback import format_exc
from typing import Any, Final

from mockkube.explore.continuations import Continuation, ContinuationResult
from mockkube.explore.path_runner import PathRunner
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.explore.search import State

_OK: Final = 0


def hold_for_worker(plan: RolloutPlan) -> None:
    """Let a process hold a new cluster until a worker of Dask closes its connection, which is inherited."""
    connection = Connection(int(sys.argv[1]))
    process = get_context("spawn").Process(target=hold_new_cluster, args=(plan, connection), daemon=True)
    process.start()
    connection.close()
    process.join()


def hold_new_cluster(plan: RolloutPlan, connection: Connection) -> None:
    """Start a cluster for a plan, report, and continue paths until the connection is closed."""
    # The player ends the processes: they end with the connections to it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.ERROR)
    asyncio.run(_hold_new_cluster(plan, connection))


async def _hold_new_cluster(plan: RolloutPlan, connection: Connection) -> None:
    try:
        # It is left open: the process ends at once, together with all that the cluster has in it.
        runner = await PathRunner(plan).__aenter__()
    except Exception as error:
        _report(connection, _describe_failure(error))
        os._exit(_OK)
    start = runner.state()
    _report(connection, ContinuationResult(start))
    while True:
        connection, request = _wait_for_request(connection)
        _report(connection, await _continue(runner, start, request))


async def _continue(runner: PathRunner, start: State, request: Continuation) -> ContinuationResult:
    try:
        results = tuple([await runner.make_move(move) for move in request.moves])
        value = None
        if request.work is not None:
            work, arguments = request.work
            value = await work(runner, *arguments)
    except Exception as error:  # whatever fails is reported where the command was typed
        return _describe_failure(error)
    return ContinuationResult(start, results, value)


def _wait_for_request(connection: Connection) -> tuple[Connection, Continuation]:
    """Fork for each request; return in each copy, with its connection and its request."""
    # What exists now is never garbage: a collection must not write to the memory that copies share.
    gc.freeze()
    loop = asyncio.get_running_loop()
    copies: set[int] = set()
    while True:
        try:
            request = connection.recv()
            own = Connection(recv_handle(connection))
        except (EOFError, OSError):
            os._exit(_OK)
        if not (copy := os.fork()):
            connection.close()
            _renew_event_loop(loop)
            return own, request
        own.close()
        copies.add(copy)
        copies = {one for one in copies if os.waitpid(one, os.WNOHANG) == (0, 0)}


def _renew_event_loop(loop: Any) -> None:
    """Let a copy go on with its event loop, without sharing what the loop waits for with the original."""
    # asyncio has no way to keep a loop after a fork. A new one would not do: tasks and locks of the cluster belong to
    # this one. The selector and the pipe would wake other copies, where an action of the plan runs a program.
    shared, loop._selector = loop._selector, selectors.DefaultSelector()
    loop._close_self_pipe()
    loop._make_self_pipe()
    shared.close()
    asyncio._set_running_loop(loop)


def _report(connection: Connection, result: ContinuationResult) -> None:
    try:
        connection.send(result)
    except OSError:  # nobody waits for it any more
        os._exit(_OK)


def _describe_failure(error: Exception) -> ContinuationResult:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # its class takes other arguments than its message
        return ContinuationResult(error=RuntimeError(format_exc()))
    error.add_note(format_exc())
    return ContinuationResult(error=error)
