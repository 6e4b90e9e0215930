"""Run coroutines in the event loop of a cluster, for callers in other threads and loops."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class ClusterLoop:
    """Event loop of a running cluster."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, has_own_thread: bool) -> None:
        self._loop = loop
        self._has_own_thread = has_own_thread

    def run(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function and return its result; RuntimeError in asynchronous code, which it would block."""
        if not self._has_own_thread or _has_running_loop():
            raise RuntimeError("this method blocks the event loop: await the one whose name ends in _async")
        future = asyncio.run_coroutine_threadsafe(function(), self._loop)
        try:
            return future.result()
        except BaseException:  # also of the caller, when the test is interrupted or times out
            future.cancel()
            raise

    async def run_async(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function and return its result, from any event loop of asyncio."""
        if asyncio.get_running_loop() is self._loop:
            return await function()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(function(), self._loop))


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
