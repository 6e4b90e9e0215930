"""What compaction takes away, and what it must leave alone."""

import asyncio
from pathlib import Path

import pytest
from mockkube_storage.engines import log
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.errors import Compacted, FutureRevision
from mockkube_storage.model import REVISION_FIRST, Entry
from mockkube_storage.store import Store


async def test_the_present_is_untouched(store: Store) -> None:
    alive, _ = await _some_history(store)
    await store.compact(store.revision)
    assert (await store.list("/")).entries == alive
    assert (await store.list("/", revision=store.revision)).entries == alive
    assert [await store.get(entry.key, revision=store.revision) for entry in alive] == list(alive)


async def test_what_came_before_is_gone(store: Store) -> None:
    await _some_history(store)
    oldest = store.revision - 2
    await store.compact(oldest)
    with pytest.raises(Compacted) as caught:
        await store.list("/", revision=oldest - 1)
    assert (caught.value.requested, caught.value.oldest) == (oldest - 1, oldest)
    with pytest.raises(Compacted):
        await store.get("/a", revision=oldest - 1)


async def test_every_revision_from_the_oldest_on_reads_as_it_was(store: Store) -> None:
    await _some_history(store)
    revisions = range(REVISION_FIRST, store.revision + 1)
    before = {revision: (await store.list("/", revision=revision)).entries for revision in revisions}
    for oldest in revisions:
        await store.compact(oldest)
        for revision in range(oldest, store.revision + 1):
            assert (await store.list("/", revision=revision)).entries == before[revision]


async def test_a_watch_from_before_is_refused(store: Store) -> None:
    await _some_history(store)
    await store.compact(store.revision)
    async with store.watch("/", after=store.revision - 1) as watch:
        with pytest.raises(Compacted) as caught:
            await anext(watch)
    assert caught.value.oldest == store.revision


async def test_a_watch_from_the_oldest_revision_sees_all_that_followed_and_what_was_before_it(store: Store) -> None:
    _, events_seen = await _some_history(store)
    oldest = events_seen[2]
    async with store.watch("/", after=REVISION_FIRST) as whole:
        expected = [event for event in await anext(whole) if event.revision > oldest]
    await store.compact(oldest)
    async with store.watch("/", after=oldest) as watch:
        assert list(await anext(watch)) == expected


async def test_a_watch_that_keeps_up_does_not_notice(store: Store) -> None:
    async with store.watch("/", after=REVISION_FIRST) as watch:
        for n in range(5):
            entry = await store.create(f"/{n}", b"")
            await store.compact(entry.revision)
            assert [event.entry for event in await anext(watch)] == [entry]


async def test_compacting_again_to_an_older_revision_does_nothing(store: Store) -> None:
    alive, _ = await _some_history(store)
    await store.compact(store.revision)
    await store.compact(store.revision - 3)
    with pytest.raises(Compacted) as caught:
        await store.get("/a", revision=store.revision - 1)
    assert caught.value.oldest == store.revision
    assert (await store.list("/")).entries == alive


async def test_the_future_cannot_be_compacted(store: Store) -> None:
    with pytest.raises(FutureRevision):
        await store.compact(store.revision + 1)


async def test_a_key_whose_deletion_is_compacted_can_be_created_again(store: Store) -> None:
    for n in range(3):
        created = await store.create("/a", b"%d" % n)
        deleted = await store.delete("/a", expected=created.revision)
        await store.compact(deleted.revision)
        assert await store.current_revision() == deleted.revision
    last = await store.create("/a", b"last")
    assert (await store.list("/")).entries == (last,)


async def test_compaction_runs_beside_writers(store: Store) -> None:
    async def churn(key: str) -> Entry:
        entry = await store.create(key, b"0")
        for n in range(100):
            entry = await store.update(key, b"%d" % n, expected=entry.revision)
        return entry

    writers = [asyncio.create_task(churn(f"/{n}")) for n in range(10)]
    while not all(writer.done() for writer in writers):
        await store.compact(store.revision)
        await asyncio.sleep(0)
    entries = sorted(await asyncio.gather(*writers), key=lambda entry: entry.key)
    await store.compact(store.revision)
    assert (await store.list("/")).entries == tuple(entries)
    assert (await store.list("/", revision=store.revision)).entries == tuple(entries)


async def test_a_list_beside_compaction_is_of_one_revision(store: Store) -> None:
    first, second = await store.create("/a", b"0"), await store.create("/b", b"0")

    async def churn() -> None:
        a, b = first, second
        for n in range(1, 100):
            a = await store.update("/a", b"%d" % n, expected=a.revision)
            b = await store.update("/b", b"%d" % n, expected=b.revision)
            await store.compact(store.revision)

    writing = asyncio.create_task(churn())
    while not writing.done():
        a, b = (await store.list("/")).entries
        assert int(a.value) - int(b.value) in (0, 1)
        await asyncio.sleep(0)
    await writing


async def test_what_is_compacted_stays_so_after_a_restart(url: str) -> None:
    store = open_store(url)
    async with store:
        alive, _ = await _some_history(store)
        await store.compact(store.revision)
        revision = store.revision
    async with store if url == "memory:" else open_store(url) as again:
        assert again.revision == revision
        assert (await again.list("/")).entries == alive
        with pytest.raises(Compacted):
            await again.list("/", revision=revision - 1)


async def _some_history(store: Store) -> tuple[tuple[Entry, ...], list[int]]:
    """Write, replace, delete and write again; return what is alive, and every revision."""
    a1 = await store.create("/a", b"1")
    b1 = await store.create("/b", b"1")
    a2 = await store.update("/a", b"2", expected=a1.revision)
    b2 = await store.delete("/b", expected=b1.revision)
    c1 = await store.create("/c", b"1")
    b3 = await store.create("/b", b"3")
    a3 = await store.update("/a", b"3", expected=a2.revision)
    c2 = await store.delete("/c", expected=c1.revision)
    return (a3, b3), [entry.revision for entry in (a1, b1, a2, b2, c1, b3, a3, c2)]


@pytest.mark.parametrize("engine", ["log", "sqlite"])
async def test_what_earlier_processes_have_left_is_counted_at_the_start(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "REWRITE_BYTES_MIN", 20_000)
    url = f"{engine}:///{tmp_path}/store"
    async with open_store(url) as store:
        assert store.past_bytes < KILOBYTES * 1024
        entry = await store.create("/a", bytes(KILOBYTES * 1024))
        for _ in range(UPDATES):
            entry = await store.update("/a", bytes(KILOBYTES * 1024), expected=entry.revision)
    async with open_store(url) as store:
        assert (UPDATES - 2) * KILOBYTES * 1024 < store.past_bytes < (UPDATES + 2) * KILOBYTES * 1024
        await store.compact(store.revision)
    async with open_store(url) as store:
        assert store.past_bytes < KILOBYTES * 1024


KILOBYTES, UPDATES = 512, 20
