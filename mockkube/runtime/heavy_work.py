"""Run expensive work in threads, so that the event loop stays responsive.

A thread that runs Python code gives up the interpreter every few milliseconds, so the loop waits for moments, not for
the end of the work. Cheap work runs on the loop: handing it over would cost more than doing it. Work whose cost does
not follow from its size reports its cost while it runs (`spend`), and is started again in a thread once it exceeds a
budget.

While a thread works, the garbage collector is off: scanning a million objects that are in use would stop all threads.
Objects decoded from JSON have no cycles, so they are freed without it when the work is done.
"""

import asyncio
import contextvars
import gc
import sys
import threading
from collections.abc import Callable
from dataclasses import field
from functools import cache
from queue import SimpleQueue
from typing import Any, Final, Protocol, TypeVar

from mockkube.lazy_dataclasses import dataclass

T = TypeVar("T")

# From so many bytes of JSON on work runs in a thread: one byte takes about a microsecond, ten at worst.
HEAVY_BYTES_MIN: Final = 16 * 1024
# Only one thread runs Python code at a time, so more threads would not make the work faster, only the loop slower.
THREADS_MAX: Final = 2
# Budget of work on the event loop, in about microseconds; work that exceeds it is started again in a thread.
BUDGET_MICROSECONDS: Final = 50_000
# Limit for one piece of work. upstream 1.36: apiserver/pkg/endpoints/handlers/rest.go
SECONDS_MAX: Final = 34.0
# Work on so many bytes leaves enough memory in the allocator that it is worth returning to the system.
_LARGE_BYTES_MIN: Final = 512 * 1024


class _ThreadState(threading.local):
    """State of the work that a thread does."""

    left: int | None = None
    """Rest of its budget; None if it has no limit."""
    is_worker = False


_LOCAL: Final = _ThreadState()
# How long a thread may keep the interpreter from the loop; Python's default is five milliseconds.
_SWITCH_SECONDS: Final = 0.002


# A BaseException, because the work may catch Exception on the way.
class _BudgetExceeded(BaseException):
    """Raised when work on the event loop exceeds its budget."""


def spend(microseconds: int) -> None:
    """Report that the current work costs so many microseconds, before or after they are spent.

    Work on the event loop that exceeds its budget is aborted and started again in a thread.
    """
    left = _LOCAL.left
    if left is None:
        return
    if microseconds > left:
        raise _BudgetExceeded
    _LOCAL.left = left - microseconds


def remaining_budget() -> int | None:
    """Return the rest of the current budget; None if the work has no limit."""
    return _LOCAL.left


def in_worker_thread() -> bool:
    """Return whether this code runs in a worker thread, where shared state may change at any moment."""
    return _LOCAL.is_worker


class HeavyWorkRunner(Protocol):
    """Runs work that may be too expensive for the event loop."""

    async def run(self, size: int, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises; `size` is the number of bytes that it works on.

        Work must not touch the loop. Others may read meanwhile what it reads, and it may be started a second time if it
        reports its cost with `spend`. If the caller is cancelled, the work runs to its end and its result is dropped.
        """


class InlineRunner:
    """Runs all work on the event loop: for simulations, in which nothing may run in parallel."""

    async def run(self, size: int, work: Callable[[], T]) -> T:
        """Do the work."""
        return work()


class ThreadedRunner:
    """Runs expensive work in a few threads shared by all instances; `expired` builds the error for a timeout."""

    def __init__(self, expired: Callable[[], Exception] = TimeoutError, *, seconds_max: float = SECONDS_MAX) -> None:
        self._expired = expired
        self._seconds_max = seconds_max

    async def run(self, size: int, work: Callable[[], T]) -> T:
        """Run cheap work on the event loop, expensive work in a thread."""
        if size < HEAVY_BYTES_MIN:
            # Work may run other work inline, so the outer budget is restored afterwards.
            before, _LOCAL.left = _LOCAL.left, BUDGET_MICROSECONDS
            try:
                return work()
            except _BudgetExceeded:
                pass
            finally:
                _LOCAL.left = before
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        job = _Job(loop, answer, work, contextvars.copy_context(), size)
        _THREADS.submit(job)
        timer = loop.call_later(self._seconds_max, job.interrupt)
        try:
            return await answer
        except _Interrupted:
            raise self._expired() from None
        finally:
            timer.cancel()
            del answer, job, timer  # an error refers to this frame: breaks the cycle


class _Interrupted(Exception):
    """Raised in a thread whose work took too long."""


@dataclass(slots=True, eq=False)
class _Job:
    """One piece of work, and the future of its caller."""

    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any] | None"
    """Result for the caller; None once it was delivered."""
    work: Callable[[], object]
    context: contextvars.Context
    size: int
    thread: int = 0
    """Thread that runs the work; 0 before and after."""
    interrupted: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        """Do the work in this thread and deliver the result to the event loop."""
        try:
            self._claim_thread()
            try:
                result = self.context.run(self.work)
            finally:
                self._release_thread()
        except BaseException as error:
            self._deliver(error)
        else:
            self._deliver(None, result)
        finally:
            self.work = _do_nothing  # frees the input, which an error that refers to this frame would keep

    def interrupt(self) -> None:
        """Raise an error in the thread that runs the work, or drop the work if it has not started."""
        with self.lock:
            self.interrupted = True
            if self.thread:
                _raise_in_thread(self.thread, _Interrupted)
                return
        if self.future is not None:
            _resolve(self.future, _Interrupted(), None)

    def _claim_thread(self) -> None:
        with self.lock:
            # A caller that was cancelled or timed out while the job was queued does not need the result.
            if self.interrupted or self.future is None or self.future.cancelled():
                raise _Interrupted
            self.thread = threading.get_ident()

    def _release_thread(self) -> None:
        with self.lock:
            if self.interrupted:
                _raise_in_thread(self.thread, None)  # or the next job would be interrupted
            self.thread = 0

    def _deliver(self, error: BaseException | None, result: object = None) -> None:
        answer, self.future = self.future, None
        try:
            self.loop.call_soon_threadsafe(_resolve, answer, error, result)
        except RuntimeError:  # the loop is closed: no caller waits
            return


def _do_nothing() -> None: ...


def _resolve(answer: "asyncio.Future[Any] | None", error: BaseException | None, result: object) -> None:
    if answer is None or answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)


def _raise_in_thread(thread: int, error: type[BaseException] | None) -> None:
    """Raise an error in a thread at its next instruction; None withdraws one that was not raised yet."""
    import ctypes

    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


def _return_memory() -> None:
    """Return unused memory of C's allocator to the system; it keeps what each thread once needed."""
    trim = _find_malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _find_malloc_trim() -> Any:
    """Return the function of glibc that returns memory; None with another library."""
    import ctypes

    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


class _ThreadPool:
    """Thread pool; threads start when needed and end with the process."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._started = 0
        self._busy = 0
        self._gc_was_enabled = False
        self._lock = threading.Lock()

    def submit(self, job: _Job) -> None:
        """Queue a job, and start another thread if the limit allows it."""
        # The threads are daemons: a job that runs for minutes must not delay the end of the process.
        self._jobs.put(job)
        with self._lock:
            if self._started == THREADS_MAX:
                return
            self._started += 1
            number = self._started
        sys.setswitchinterval(_SWITCH_SECONDS)
        threading.Thread(target=self._run, name=f"heavy-work-{number}", daemon=True).start()

    def _run(self) -> None:
        _LOCAL.is_worker = True
        while True:
            self._run_job(self._jobs.get())

    def _run_job(self, job: _Job) -> None:
        self._disable_gc()
        try:
            job.run()
            if job.size >= _LARGE_BYTES_MIN:
                _return_memory()
        finally:
            self._enable_gc()

    def _disable_gc(self) -> None:
        with self._lock:
            # Collection is disabled by the first busy thread and enabled by the last, and only if it was enabled
            # before.
            if not self._busy:
                self._gc_was_enabled = gc.isenabled()
                gc.disable()
            self._busy += 1

    def _enable_gc(self) -> None:
        with self._lock:
            self._busy -= 1
            if not self._busy and self._gc_was_enabled:
                gc.enable()


_THREADS: Final = _ThreadPool()
