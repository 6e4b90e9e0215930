"""Group commit: writes that arrive while one transaction runs make up the next one.

One task is the only writer of this process, so nothing here is ever rolled back because of a conflict.
"""

from asyncio import Event as AsyncEvent
from asyncio import Future, get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube_storage.errors import Conflict, Unavailable
from mockkube_storage.model import Entry
from mockkube_storage.writes import Write

Commit = Callable[[Sequence[Write]], Awaitable[Sequence[Entry | Conflict]]]
Job = Callable[[], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class WriterBounds:
    """Limits of one transaction, and how many writes may wait; one more raises Unavailable."""

    group_writes_max: int = 512
    group_bytes_max: int = 8 * 1024 * 1024
    waiting_max: int = 65_536


DEFAULT_BOUNDS: Final = WriterBounds()


class GroupCommitWriter:
    """Queue of writes, and the loop that commits them and runs other jobs in between."""

    def __init__(self, where: str, commit: Commit, *, bounds: WriterBounds = DEFAULT_BOUNDS) -> None:
        self._bounds = bounds
        self._where = where
        self._commit = commit
        self._writes: deque[tuple[Write, Future[Entry]]] = deque()
        self._jobs: deque[tuple[Job, Future[int]]] = deque()
        self._wake = AsyncEvent()
        self._stopped = False

    async def write(self, write: Write) -> Entry:
        """Queue a write and return its entry when it is committed; raise Conflict or Unavailable."""
        self._check_running()
        if len(self._writes) >= self._bounds.waiting_max:
            raise Unavailable(self._where, f"{self._bounds.waiting_max} writes are waiting already")
        answer: Future[Entry] = get_running_loop().create_future()
        self._writes.append((write, answer))
        self._wake.set()
        return await answer

    async def run_between_groups(self, job: Job) -> int:
        """Run a job between two groups, while no write is in progress; return its result."""
        self._check_running()
        answer: Future[int] = get_running_loop().create_future()
        self._jobs.append((job, answer))
        self._wake.set()
        return await answer

    def stop(self) -> None:
        """Refuse waiting and new writes; the loop ends after the group or job in progress."""
        self._stopped = True
        self._wake.set()

    async def run(self) -> None:
        """Commit until stopped: a group and a job in turn, so that neither starves the other."""
        try:
            while not self._stopped:
                await self._wake.wait()
                self._wake.clear()
                while (self._writes or self._jobs) and not self._stopped:
                    await self._commit_group()
                    await self._run_job()
        finally:
            self._stopped = True
            self._refuse_waiting()

    async def _commit_group(self) -> None:
        group = self._take_group()
        if not group:
            return
        try:
            outcomes = await self._commit([write for write, _ in group])
        except Exception as error:  # the loop must survive one group; each of its callers is told
            for _, answer in group:
                _fail(answer, _copy_error(error))
            return
        except BaseException:
            for _, answer in group:
                answer.cancel()
            raise
        for (_, answer), outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Conflict):
                _fail(answer, outcome)
            elif not answer.done():
                answer.set_result(outcome)

    def _take_group(self) -> list[tuple[Write, "Future[Entry]"]]:
        """Take waiting writes up to the bounds, without those whose caller was cancelled."""
        group: list[tuple[Write, Future[Entry]]] = []
        size = 0
        while self._writes and len(group) < self._bounds.group_writes_max and size < self._bounds.group_bytes_max:
            write, answer = self._writes.popleft()
            if not answer.done():
                group.append((write, answer))
                size += len(write.value or b"")
        return group

    async def _run_job(self) -> None:
        if not self._jobs:
            return
        job, answer = self._jobs.popleft()
        try:
            result = await job()
        except Exception as error:  # as above
            _fail(answer, error)
        except BaseException:
            answer.cancel()
            raise
        else:
            if not answer.done():
                answer.set_result(result)

    def _check_running(self) -> None:
        # The loop also sets it when it ends by itself: a write queued after that would never return.
        if self._stopped:
            raise self._closed_error()

    def _refuse_waiting(self) -> None:
        for _, answer in self._writes:
            _fail(answer, self._closed_error())
        for _, job_answer in self._jobs:
            _fail(job_answer, self._closed_error())
        self._writes.clear()
        self._jobs.clear()

    def _closed_error(self) -> Unavailable:
        return Unavailable(self._where, "it has been closed")


def _copy_error(error: Exception) -> Exception:
    """Return an error of its own for each caller: a shared one would gather the tracebacks of all."""
    return Unavailable(error.where, error.cause) if isinstance(error, Unavailable) else error


def _fail(answer: "Future[Entry] | Future[int]", error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
