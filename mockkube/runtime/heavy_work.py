"""Heavy work beside the event loop: what takes long runs in a thread, so that the loop keeps turning.

A thread that runs Python code gives the interpreter away every few milliseconds, so the loop waits for moments, not for
the end of the work. Light work stays where it is: to hand it over would cost more than to do it. Work whose size says
nothing of how long it takes tells so while it runs (`spend`), and is begun anew in a thread once it turns out heavy.

While a thread works no garbage is searched for: to look at a million objects that are in use stops everybody. What is
decoded from JSON has no cycles, and is freed when the work is done.
"""

import asyncio
import contextvars
import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

HEAVY_BYTES_MIN: Final = 16 * 1024
"""Work on so many bytes of JSON is heavy: one byte takes a microsecond or so, ten at the worst."""
THREADS_MAX: Final = 2
UNITS_MAX: Final = 50_000
"""How much light work may spend before it turns out to be heavy: microseconds, about."""
SECONDS_MAX: Final = 34.0
"""How long one piece of work may take. Upstream 1.36: apiserver/pkg/endpoints/handlers/rest.go."""
_LARGE_BYTES_MIN: Final = 512 * 1024
"""Work on so many bytes leaves memory behind that is worth giving back."""
_LOCAL: Final = threading.local()
_TRIM: Final = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None  # glibc's
_SWITCH_SECONDS: Final = 0.002
"""How long a thread keeps the interpreter from the loop; five milliseconds is Python's own choice."""


class _TooHeavy(BaseException):
    """Light work turns out to be heavy."""


def spend(units: int) -> None:
    """Say that the work in hand takes so many microseconds; before they are spent, or after.

    Ends light work that has spent too much: it is done again, from its beginning, in a thread.
    """
    left = allowance()
    if left is None:
        return
    if units > left:
        raise _TooHeavy
    _LOCAL.left = left - units


def allowance() -> int | None:
    """Return how much the work in hand may still spend; None if it may take as long as it wants."""
    left: int | None = getattr(_LOCAL, "left", None)
    return left


def in_worker_thread() -> bool:
    """Return whether this is not the thread of an event loop, so that others change what is shared at any moment."""
    return getattr(_LOCAL, "is_worker", False)


class HeavyWork(Protocol):
    """Runs work that may be heavy."""

    async def run(self, size: int, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises; `size` is how many bytes it works on.

        Work must not touch the loop, must bear that others read meanwhile what it reads, and that it is begun anew if
        it says what it spends. A caller who is cancelled leaves it behind: it goes on to its end, and the result is
        dropped.
        """


class InlineWork:
    """Does all work at once: for simulations, where nothing may happen beside the loop."""

    async def run(self, size: int, work: Callable[[], T]) -> T:
        """Do the work."""
        return work()


class ThreadedWork:
    """Does heavy work in a few threads that all instances share. `expired` makes the error for what takes too long."""

    def __init__(self, expired: Callable[[], Exception] = TimeoutError, *, seconds_max: float = SECONDS_MAX) -> None:
        self._expired = expired
        self._seconds_max = seconds_max

    async def run(self, size: int, work: Callable[[], T]) -> T:
        """Do light work here, heavy work in a thread."""
        if size < HEAVY_BYTES_MIN:
            before, _LOCAL.left = allowance(), UNITS_MAX
            try:
                return work()
            except _TooHeavy:
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
            del answer, job, timer  # an error knows this frame, and must not be known by it


class _Interrupted(Exception):
    """The work took too long."""


@dataclass(slots=True, eq=False)
class _Job:
    """One piece of work, and who waits for it."""

    loop: asyncio.AbstractEventLoop
    answer: "asyncio.Future[Any] | None"
    """Empty once it is told."""
    work: Callable[[], object]
    context: contextvars.Context
    size: int
    thread: int = 0
    """The thread that does it; 0 before and after."""
    interrupted: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        """Do the work in this thread and tell the loop what came of it."""
        try:
            self._begin()
            try:
                result = self.context.run(self.work)
            finally:
                self._end()
        except BaseException as error:
            self._tell(error)
        else:
            self._tell(None, result)
        finally:
            self.work = _nothing  # what it works on, and an error that knows this frame, are not to live on with it

    def interrupt(self) -> None:
        """Raise an error in the thread that does the work; what has not begun does not begin."""
        with self.lock:
            self.interrupted = True
            if self.thread:
                _raise_in(self.thread, _Interrupted)
                return
        if self.answer is not None:
            _settle(self.answer, _Interrupted(), None)

    def _begin(self) -> None:
        with self.lock:
            if self.interrupted or self.answer is None or self.answer.cancelled():
                raise _Interrupted
            self.thread = threading.get_ident()

    def _end(self) -> None:
        with self.lock:
            if self.interrupted:
                _raise_in(self.thread, None)  # it is not to hit the next job
            self.thread = 0

    def _tell(self, error: BaseException | None, result: object = None) -> None:
        answer, self.answer = self.answer, None
        try:
            self.loop.call_soon_threadsafe(_settle, answer, error, result)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return


def _nothing() -> None:
    """Do nothing."""


def _settle(answer: "asyncio.Future[Any] | None", error: BaseException | None, result: object) -> None:
    if answer is None or answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Have a thread raise an error at its next instruction; None takes one back that it has not raised yet."""
    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


def _return_memory() -> None:
    """Give memory back to the system that C's allocator keeps: each of its threads keeps what it once needed."""
    if _TRIM is not None:
        _TRIM(0)


class _Threads:
    """The threads; they are started when needed and end with the process, whatever they do then."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._started = 0
        self._working = 0
        self._searches_garbage = False
        self._lock = threading.Lock()

    def submit(self, job: _Job) -> None:
        """Have a thread do a job, after those that wait already."""
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
            self._do(self._jobs.get())

    def _do(self, job: _Job) -> None:
        self._begin()
        try:
            job.run()
            if job.size >= _LARGE_BYTES_MIN:
                _return_memory()
        finally:
            self._end()

    def _begin(self) -> None:
        with self._lock:
            if not self._working:
                self._searches_garbage = gc.isenabled()
                gc.disable()
            self._working += 1

    def _end(self) -> None:
        with self._lock:
            self._working -= 1
            if not self._working and self._searches_garbage:
                gc.enable()


_THREADS: Final = _Threads()
