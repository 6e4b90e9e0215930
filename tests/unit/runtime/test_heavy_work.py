"""Heavy work: light work stays on the loop, heavy work leaves it, and what takes too long ends."""

import asyncio
import contextlib
import gc
import threading
import weakref

import pytest

from mockkube.runtime.heavy_work import (
    BUDGET_MICROSECONDS,
    HEAVY_BYTES_MIN,
    THREADS_MAX,
    InlineRunner,
    ThreadedRunner,
    spend,
)


class TooLongError(Exception):
    """The work took too long."""


async def test_light_work_is_done_where_it_is_asked_for() -> None:
    assert await ThreadedRunner().run(HEAVY_BYTES_MIN - 1, threading.get_ident) == threading.get_ident()


async def test_heavy_work_is_done_in_another_thread() -> None:
    assert await ThreadedRunner().run(HEAVY_BYTES_MIN, threading.get_ident) != threading.get_ident()


async def test_inline_work_never_leaves_its_thread() -> None:
    assert await InlineRunner().run(10 * HEAVY_BYTES_MIN, threading.get_ident) == threading.get_ident()


async def test_an_error_reaches_who_asked() -> None:
    with pytest.raises(ZeroDivisionError):
        await ThreadedRunner().run(HEAVY_BYTES_MIN, lambda: 1 // 0)


async def test_the_loop_turns_while_work_is_done() -> None:
    turned = threading.Event()
    asyncio.get_running_loop().call_soon(turned.set)
    assert await ThreadedRunner().run(HEAVY_BYTES_MIN, lambda: turned.wait(20))


def spin(end: threading.Event) -> None:
    """Run until told to end, as a loop in Python code does."""
    while not end.is_set():
        pass


async def test_work_that_takes_too_long_is_ended_and_the_thread_goes_on() -> None:
    end = threading.Event()
    try:
        hasty = ThreadedRunner(TooLongError, seconds_max=0.01)
        for _ in range(2 * THREADS_MAX):
            with pytest.raises(TooLongError):
                await hasty.run(HEAVY_BYTES_MIN, lambda: spin(end))
        assert await ThreadedRunner().run(HEAVY_BYTES_MIN, lambda: "done") == "done"
    finally:
        end.set()


async def test_work_that_is_cancelled_before_it_begins_is_not_done() -> None:
    end, done = threading.Event(), []
    blocking = [
        asyncio.ensure_future(ThreadedRunner().run(HEAVY_BYTES_MIN, lambda: end.wait(20))) for _ in range(THREADS_MAX)
    ]
    waiting = asyncio.ensure_future(ThreadedRunner().run(HEAVY_BYTES_MIN, lambda: done.append(1)))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    end.set()
    await asyncio.gather(*blocking)
    await ThreadedRunner().run(HEAVY_BYTES_MIN, lambda: None)
    assert not done


async def test_light_work_that_spends_too_much_is_begun_anew_in_a_thread() -> None:
    begun: list[int] = []

    def work() -> str:
        begun.append(threading.get_ident())
        spend(BUDGET_MICROSECONDS // 2)
        spend(BUDGET_MICROSECONDS)
        return "done"

    assert await ThreadedRunner().run(0, work) == "done"
    assert len(begun) == 2
    assert begun[0] == threading.get_ident() != begun[1]


async def test_what_one_piece_of_work_spends_is_not_taken_from_the_next() -> None:
    here = [
        await ThreadedRunner().run(0, lambda: (spend(BUDGET_MICROSECONDS), threading.get_ident())[1]) for _ in range(3)
    ]
    assert here == [threading.get_ident()] * 3


async def test_work_in_a_simulation_and_outside_of_any_may_spend_what_it_wants() -> None:
    spend(10 * BUDGET_MICROSECONDS)
    assert (
        await InlineRunner().run(0, lambda: (spend(10 * BUDGET_MICROSECONDS), threading.get_ident())[1])
        == threading.get_ident()
    )


async def test_no_garbage_is_searched_for_while_a_thread_works() -> None:
    assert not await ThreadedRunner().run(HEAVY_BYTES_MIN, gc.isenabled)


async def test_an_error_keeps_nothing_alive_that_the_work_was_about() -> None:
    class Large:
        """Something to refer to."""

    def fail() -> None:
        large = Large()
        known.append(weakref.ref(large))
        raise ValueError(large.__class__.__name__)

    known: list[weakref.ref[Large]] = []
    gc.disable()
    try:
        with contextlib.suppress(ValueError):
            await ThreadedRunner().run(HEAVY_BYTES_MIN, fail)
        await ThreadedRunner().run(HEAVY_BYTES_MIN, lambda: None)
        assert known[0]() is None
    finally:
        gc.enable()
