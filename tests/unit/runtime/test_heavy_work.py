"""Heavy work: light work stays on the loop, heavy work leaves it, and what takes too long ends."""

import asyncio
import threading

import pytest

from mockkube.runtime.heavy_work import HEAVY_BYTES_MIN, THREADS_MAX, InlineWork, ThreadedWork


class TooLongError(Exception):
    """The work took too long."""


async def test_light_work_is_done_where_it_is_asked_for() -> None:
    assert await ThreadedWork().run(HEAVY_BYTES_MIN - 1, threading.get_ident) == threading.get_ident()


async def test_heavy_work_is_done_in_another_thread() -> None:
    assert await ThreadedWork().run(HEAVY_BYTES_MIN, threading.get_ident) != threading.get_ident()


async def test_inline_work_never_leaves_its_thread() -> None:
    assert await InlineWork().run(10 * HEAVY_BYTES_MIN, threading.get_ident) == threading.get_ident()


async def test_an_error_reaches_who_asked() -> None:
    with pytest.raises(ZeroDivisionError):
        await ThreadedWork().run(HEAVY_BYTES_MIN, lambda: 1 // 0)


async def test_the_loop_turns_while_work_is_done() -> None:
    turned = threading.Event()
    asyncio.get_running_loop().call_soon(turned.set)
    assert await ThreadedWork().run(HEAVY_BYTES_MIN, lambda: turned.wait(20))


def spin(end: threading.Event) -> None:
    """Run until told to end, as a loop in Python code does."""
    while not end.is_set():
        pass


async def test_work_that_takes_too_long_is_ended_and_the_thread_goes_on() -> None:
    end = threading.Event()
    try:
        hasty = ThreadedWork(TooLongError, seconds_max=0.01)
        for _ in range(2 * THREADS_MAX):
            with pytest.raises(TooLongError):
                await hasty.run(HEAVY_BYTES_MIN, lambda: spin(end))
        assert await ThreadedWork().run(HEAVY_BYTES_MIN, lambda: "done") == "done"
    finally:
        end.set()


async def test_work_that_is_cancelled_before_it_begins_is_not_done() -> None:
    end, done = threading.Event(), []
    blocking = [
        asyncio.ensure_future(ThreadedWork().run(HEAVY_BYTES_MIN, lambda: end.wait(20))) for _ in range(THREADS_MAX)
    ]
    waiting = asyncio.ensure_future(ThreadedWork().run(HEAVY_BYTES_MIN, lambda: done.append(1)))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    end.set()
    await asyncio.gather(*blocking)
    await ThreadedWork().run(HEAVY_BYTES_MIN, lambda: None)
    assert not done
