"""The tasks a store owns."""

import asyncio

import pytest
from mockkube_storage.engines.store_tasks import StoreTasks


async def test_a_cancelled_call_leaves_its_work_to_finish_before_the_close() -> None:
    tasks, finished, go = StoreTasks(nothing), [], asyncio.Event()
    await tasks.open()

    async def work() -> None:
        await go.wait()
        finished.append(True)

    calling = asyncio.create_task(tasks.call(work()))
    await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    closing = asyncio.create_task(tasks.close())
    await asyncio.sleep(0)
    assert not closing.done()
    go.set()
    await closing
    assert finished == [True]


async def test_a_failure_goes_to_the_caller_and_ends_no_other_work() -> None:
    tasks, go = StoreTasks(nothing), asyncio.Event()
    await tasks.open()

    async def good() -> str:
        await go.wait()
        return "done"

    async def bad() -> None:
        raise ValueError("bad")

    waiting = asyncio.create_task(tasks.call(good()))
    with pytest.raises(ValueError, match="bad"):
        await tasks.call(bad())
    go.set()
    assert await waiting == "done"
    await tasks.close()


async def test_a_cancelled_close_is_cancelled_only_after_the_end() -> None:
    order: list[str] = []
    go = asyncio.Event()

    async def work() -> None:
        await go.wait()
        order.append("work")

    async def at_end() -> None:
        await asyncio.sleep(0)
        order.append("end")

    tasks = StoreTasks(at_end)
    await tasks.open()
    tasks.start_background(work())
    closing = asyncio.create_task(tasks.close())
    for _ in range(3):
        await asyncio.sleep(0)
        closing.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert order == ["work", "end"]


async def nothing() -> None:
    """No end to speak of."""
