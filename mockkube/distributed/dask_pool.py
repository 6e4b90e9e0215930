"""Connection to a Dask cluster whose workers play calls."""

import logging
import operator
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pickle import loads
from queue import Empty, SimpleQueue
from typing import Any, Final, Self

from distributed import Client, Future, KilledWorker
from distributed.client import FutureCancelledError
from distributed.comm import parse_address
from distributed.comm.registry import get_backend

from mockkube.cluster.configuration.errors import ConfigurationError, StartError
from mockkube.distributed.call_processes import CallProcessDied, run_call
from mockkube.distributed.call_server import CallResult
from mockkube.distributed.code_version import CodeVersion, read_code_version
from mockkube.distributed.run_environment import WorkerCall, dump_call, dump_environment, make_environment
from mockkube.runtime.clock import RealClock

# How long to wait for the scheduler, and then for a first worker: some clusters start workers when there is work.
START_SECONDS_MAX: Final = 20.0
# How long all workers may be away: what restarts them needs some time.
WORKERS_AWAY_SECONDS_MAX: Final = 60.0
_POLL_SECONDS: Final = 1.0
_CLOSE_SECONDS_MAX: Final = 5.0
# How often a call is repeated whose process died while its worker went on.
_RETRIES: Final = 2


class DaskPool:
    """Plays calls on the workers of a Dask cluster; a context manager.

    A call that a worker has not answered when it is lost is played by another one.
    """

    def __init__(
        self,
        address: str,
        *,
        start_seconds_max: float = START_SECONDS_MAX,
        workers_away_seconds_max: float = WORKERS_AWAY_SECONDS_MAX,
    ) -> None:
        self._address = address
        self._start_seconds_max = start_seconds_max
        self._workers_away_seconds_max = workers_away_seconds_max
        self._clock = RealClock()
        # Of tasks that have not ended.
        self._waiting: set[Future] = set()
        self._logs_before = 0

    def __enter__(self) -> Self:
        self._logs_before = logging.root.manager.disable
        logging.disable(logging.CRITICAL)  # Dask would log what becomes one line of an error
        try:
            self._client = self._connect()
            try:
                self._wait_for_worker()
                self._check_code()
                self._environment = dump_environment(make_environment(self._client.id))
            except BaseException:
                self._close()
                raise
        except BaseException:
            logging.disable(self._logs_before)
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        try:
            self._close()
        finally:
            logging.disable(self._logs_before)

    def _connect(self) -> Client:
        try:
            get_backend(parse_address(self._address)[0])  # the client would try an unknown scheme again and again
            return Client(self._address, timeout=self._start_seconds_max, set_as_default=False, name="mockkube")
        except (OSError, TimeoutError):
            raise StartError(
                f"--dask {self._address}: no scheduler answers within {self._start_seconds_max:g} s: start one with "
                "'dask scheduler', or correct the address"
            ) from None
        except ValueError as error:
            raise ConfigurationError(f"--dask {self._address}: {error}: give an address like tcp://host:8786") from None

    def _wait_for_worker(self) -> None:
        work = self._client.submit(operator.index, 0, pure=False)
        try:
            self._client.wait_for_workers(1, timeout=self._start_seconds_max)
        except TimeoutError:
            raise StartError(
                f"--dask {self._address}: the scheduler has no workers: start some with 'dask worker {self._address}'"
            ) from None
        finally:
            work.release()

    def _check_code(self) -> None:
        """Raise StartError if a worker has other code; one that joins later is checked with its first task."""
        expected = read_code_version()
        try:
            found = self._client.run(read_code_version, on_error="return")
        except Exception as error:  # the worker could not load the function: whatever there is, it is not this mockkube
            raise self._make_load_error(error) from None
        for worker, code in sorted(found.items()):
            if not isinstance(code, CodeVersion):
                raise self._make_load_error(code, f"the worker {worker}")
            if difference := expected.describe_difference(code):
                raise StartError(f"--dask {self._address}: the worker {worker} {difference}")

    def _make_load_error(self, error: object, worker: str = "a worker") -> StartError:
        return StartError(
            f"--dask {self._address}: {worker} cannot load mockkube {read_code_version().mockkube} ({error}): "
            "install it there with pip install '/path/to/mockkube[distributed]' (mockkube is not on PyPI)"
        )

    def _close(self) -> None:
        if self._waiting:
            # Tasks that wait are dropped; a worker ends the process of one that runs.
            self._client.cancel(list(self._waiting))
            self._waiting.clear()
        self._client.close(timeout=_CLOSE_SECONDS_MAX)

    @property
    def environment(self) -> bytes:
        """The environment of this process, which all calls of this pool share."""
        return self._environment

    def make_key(self, name: str, *parts: bytes) -> str:
        """Return the key of a task: equal parts make an equal task, but only within this run."""
        digest = sha256(self._client.id.encode())
        for part in parts:
            digest.update(sha256(part).digest())
        return f"mockkube-{name}-{digest.hexdigest()[:32]}"

    def submit(self, key: str, function: Callable[..., Any], *arguments: Any) -> Future:
        """Let a worker's thread call a function; arguments may be futures. Its result stays there until released."""
        return self._client.submit(function, *arguments, key=key, retries=_RETRIES)

    def run_calls(self, calls: Sequence[WorkerCall]) -> Iterator[tuple[int, Any]]:
        """Yield index and value of each call as it ends; raise StartError if the cluster cannot go on."""
        futures = []
        for call in calls:
            data = dump_call(call)
            key = self.make_key(call.function.__name__, self._environment, data)
            futures.append(self.submit(key, run_call, self._environment, data))
        for index, result in self.wait_for(futures):
            try:
                yield index, self.read_result(loads(result))
            finally:
                futures[index].release()  # so that the same call made again is played again

    def wait_for(self, futures: Sequence[Future]) -> Iterator[tuple[int, Any]]:
        """Yield index and result of each future as it ends; raise StartError if the cluster cannot go on."""
        ended: SimpleQueue[int] = SimpleQueue()
        self._waiting.update(futures)
        for index, future in enumerate(futures):
            future.add_done_callback(lambda _, index=index: ended.put(index))
        for _ in futures:
            index = self._wait_for_end(ended)
            self._waiting.discard(futures[index])
            yield index, self._read_future(futures[index])

    def wait_in_order(self, futures: Sequence[Future]) -> Iterator[Any]:
        """Yield the result of each future, in their order."""
        early: dict[int, Any] = {}
        following = 0
        for index, result in self.wait_for(futures):
            early[index] = result
            while following in early:
                yield early.pop(following)
                following += 1

    def _wait_for_end(self, ended: "SimpleQueue[int]") -> int:
        """Return the index of the next call that has ended."""
        seen_at = self._clock.monotonic()
        while True:
            try:
                return ended.get(timeout=_POLL_SECONDS)
            except Empty:
                if self._count_workers():
                    seen_at = self._clock.monotonic()
                elif self._clock.monotonic() - seen_at > self._workers_away_seconds_max:
                    raise StartError(
                        f"--dask {self._address}: all workers have been away for "
                        f"{self._workers_away_seconds_max:g} s: start some with 'dask worker {self._address}'"
                    ) from None

    def _count_workers(self) -> int:
        try:
            return len(self._client.nthreads())
        except (OSError, TimeoutError, RuntimeError, ValueError):
            raise self._make_lost_error() from None

    def _make_lost_error(self) -> StartError:
        return StartError(
            f"--dask {self._address}: the scheduler has ended, or somebody has cancelled the tasks: "
            "nothing was written; start again once it is back"
        )

    def _read_future(self, future: Future) -> Any:
        name = str(future.key).split("-")[1]
        try:
            return future.result()
        except FutureCancelledError:
            raise self._make_lost_error() from None
        except KilledWorker:
            raise StartError(
                f"--dask {self._address}: several workers have died while they ran the same call "
                f"({name}): use --workers 1 to see why"
            ) from None
        except CallProcessDied as error:
            raise StartError(
                f"--dask {self._address}: a process that ran {name} has died {_RETRIES + 1} times "
                f"({error}): use --workers 1 to see why"
            ) from None
        except (ImportError, AttributeError) as error:
            raise self._make_load_error(error) from None
        except OSError:
            raise self._make_lost_error() from None

    def read_result(self, result: CallResult) -> Any:
        """Return the value of a call, or raise its error."""
        if result.mismatch:
            raise StartError(f"--dask {self._address}: a worker {result.mismatch}")
        if result.error is not None:
            if isinstance(result.error, ConfigurationError | StartError | ValueError):
                raise result.error
            if result.bug:
                result.error.add_note(result.bug)
            raise result.error
        if result.bug:
            raise RuntimeError(result.bug)
        return result.value
