"""Starting, closing, starting again."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from mockkube_storage.engines import replica_store
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.errors import Unavailable
from mockkube_storage.store import Store

OPERATIONS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "get": lambda store: store.get("/a"),
    "get of the past": lambda store: store.get("/a", revision=1),
    "list": lambda store: store.list("/"),
    "create": lambda store: store.create("/a", b""),
    "update": lambda store: store.update("/a", b"", expected=1),
    "delete": lambda store: store.delete("/a", expected=1),
    "compact": lambda store: store.compact(1),
    "current_revision": lambda store: store.current_revision(),
    "poll": lambda store: store.poll(),
}


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_store_that_is_not_started_is_unavailable(url: str, operation: str) -> None:
    with pytest.raises(Unavailable):
        await OPERATIONS[operation](open_store(url))


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_closed_store_is_unavailable(store: Store, operation: str) -> None:
    await store.close()
    with pytest.raises(Unavailable):
        await OPERATIONS[operation](store)


async def test_a_closed_store_cannot_be_watched(store: Store) -> None:
    await store.close()
    with pytest.raises(Unavailable):
        store.watch("/", after=0)


async def test_closing_twice_is_closing(store: Store) -> None:
    await store.close()
    await store.close()


async def test_a_store_started_again_has_all_that_was_written(url: str) -> None:
    store = open_store(url)
    async with store:
        entries = [await store.create(f"/{n}", b"%d" % n) for n in range(10)]
        dead = await store.delete("/9", expected=entries[9].revision)
    async with store:
        assert store.revision == dead.revision
        assert (await store.list("/")).entries == tuple(entries[:9])
        assert (await store.list("/", revision=entries[9].revision)).entries == tuple(entries)
        again = await store.create("/9", b"again")
        assert again.revision > dead.revision
        async with store.watch("/", after=entries[8].revision) as watch:
            seen = await anext(watch)
    assert [event.revision for event in seen] == [entries[9].revision, dead.revision, again.revision]
    assert seen[1].previous == entries[9]


async def test_writes_under_way_at_the_close_are_done_or_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A write that a busy server has not answered by then may be done, and is refused nevertheless.
    monkeypatch.setattr(replica_store, "CLOSE_SECONDS_MAX", 60.0)
    store = open_store(url)
    await store.start()
    writes = [asyncio.create_task(store.create(f"/{n}", b"")) for n in range(100)]
    await asyncio.sleep(0)
    await store.close()
    answers = await asyncio.gather(*writes, return_exceptions=True)
    done = {f"/{n}" for n, answer in enumerate(answers) if not isinstance(answer, Unavailable)}
    async with store:
        assert {entry.key for entry in (await store.list("/")).entries} == done


async def test_nothing_runs_after_the_close(url: str) -> None:
    before = asyncio.all_tasks()
    async with open_store(url) as store:
        await store.create("/a", b"")
    assert asyncio.all_tasks() == before


async def test_start_and_close_may_belong_to_different_tasks(url: str) -> None:
    store = open_store(url)
    await asyncio.create_task(store.start())
    await asyncio.create_task(store.create("/a", b""))
    await asyncio.create_task(store.close())


async def test_a_close_that_is_cancelled_still_lets_go(url: str) -> None:
    store = open_store(url)
    for n in range(1, 6):
        await store.start()
        writing = asyncio.create_task(store.create(f"/{n}", b""))
        await asyncio.sleep(0)
        closing = asyncio.create_task(store.close())
        for _ in range(n):
            await asyncio.sleep(0)
        closing.cancel()
        await asyncio.gather(writing, closing, return_exceptions=True)
    async with store:
        await store.create("/last", b"")
