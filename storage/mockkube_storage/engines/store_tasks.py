"""Task group of a store, from its start to its close."""

import asyncio
from asyncio import CancelledError, Future, Task, TaskGroup, get_running_loop
from asyncio import Event as AsyncEvent
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class StoreTasks:
    """One TaskGroup, in a task of its own so that different tasks may open and close it."""

    def __init__(self, at_end: Callable[[], Awaitable[None]]) -> None:
        self._on_end = at_end  # awaited when all work has ended
        self._closing = AsyncEvent()
        self._group = TaskGroup()
        self._group_task: Task[None] | None = None

    async def open(self) -> None:
        """Begin to accept work."""
        opened = AsyncEvent()
        self._group_task = asyncio.create_task(self._run_group(opened))  # noqa: TID251  it runs the group
        try:
            await opened.wait()
        except CancelledError:
            await self.close()
            raise

    def start_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work in the background; it ends before `close` returns."""
        self._group.create_task(work)

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work and return its result; cancelling the call lets the work finish."""
        # A driver that is cancelled within a query leaves its connection in an unknown state.
        answer: Future[T] = get_running_loop().create_future()
        self._group.create_task(_run_and_answer(work, answer))
        return await answer

    async def close(self) -> None:
        """Wait until all work has ended and `at_end` has run; raise a cancellation only after that.

        Work ends soon without being cancelled; a driver interrupted within a commit might still commit afterwards.
        """
        assert self._group_task is not None
        self._closing.set()
        cancelled: CancelledError | None = None
        while not self._group_task.done():
            try:
                await asyncio.shield(self._group_task)
            except CancelledError as cancellation:
                # Of `cancel`, or of this call.
                if not self._group_task.cancelled():
                    cancelled = cancellation
        if cancelled is not None:
            raise cancelled

    def cancel(self) -> None:
        """End all work at once; whether writes in progress are committed remains unknown."""
        if self._group_task is not None:
            self._group_task.cancel()

    async def _run_group(self, opened: AsyncEvent) -> None:
        try:
            async with self._group:
                opened.set()
                await self._closing.wait()
        finally:
            await self._on_end()


async def _run_and_answer(work: Coroutine[Any, Any, T], answer: "Future[T]") -> None:
    try:
        result = await work
    except Exception as error:  # the caller of `call` handles it
        if not answer.done():
            answer.set_exception(error)
    except BaseException:
        answer.cancel()
        raise
    else:
        if not answer.done():
            answer.set_result(result)
