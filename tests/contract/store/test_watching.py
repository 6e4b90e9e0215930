"""The guarantees of a watch, by name: ordered, unique, reliable, atomic, resumable; and its end."""

import asyncio
from contextlib import aclosing

import pytest
from mockkube_storage.errors import Conflict, Lagged, Unavailable
from mockkube_storage.model import REVISION_FIRST, Entry, Event, EventType
from mockkube_storage.store import Store
from mockkube_storage.watch import Watch

SENTINEL = "/~"


async def test_watch_is_ordered_by_revision(store: Store) -> None:
    async with store.watch("", after=REVISION_FIRST) as watch:
        await asyncio.gather(*[store.create(f"/{n}", b"") for n in range(100)])
        revisions = [event.revision for event in await _until_sentinel(store, watch)]
    assert revisions == sorted(revisions)
    assert len(revisions) == 101


async def test_watch_is_unique_from_history_into_the_live_stream(store: Store) -> None:
    for n in range(20):
        await store.create(f"/{n}", b"")
    async with store.watch("/", after=REVISION_FIRST) as watch:
        writers = [asyncio.create_task(store.create(f"/live/{n}", b"")) for n in range(100)]
        first = await anext(watch)
        await asyncio.gather(*writers)
        keys = [event.entry.key for event in (*first, *await _until_sentinel(store, watch))]
    assert len(keys) == len(set(keys)) == 121


async def test_watch_is_reliable_from_wherever_it_starts(store: Store) -> None:
    entries = [await store.create(f"/{n}", b"") for n in range(30)]
    for entry in entries:
        expected = [other.key for other in entries if other.revision > entry.revision]
        async with store.watch("/", after=entry.revision) as watch:
            seen = [event.entry.key for event in await _until(watch, entries[-1].revision)] if expected else []
        assert seen == expected


async def test_watch_is_reliable_past_what_memory_remembers(store: Store) -> None:
    await asyncio.gather(*[store.create(f"/{n:05}", b"") for n in range(10_000)])
    async with store.watch("/", after=REVISION_FIRST) as watch:
        await store.create("/live", b"")
        keys = [event.entry.key for event in await _until_sentinel(store, watch)]
    assert sorted(keys[:10_000]) == [f"/{n:05}" for n in range(10_000)]
    assert keys[10_000:] == ["/live", SENTINEL]


async def test_watch_is_atomic_no_tuple_is_empty_and_each_event_comes_whole(store: Store) -> None:
    async with store.watch("/", after=REVISION_FIRST) as watch:
        await asyncio.gather(*[store.create(f"/{n}", b"%d" % n) for n in range(10)])
        last = store.revision
        seen: list[Event] = []
        while not seen or seen[-1].revision < last:
            commit = await anext(watch)
            assert commit
            seen += commit
    assert {event.entry.value for event in seen} == {b"%d" % n for n in range(10)}


async def test_watch_is_resumable_after_the_last_revision_seen(store: Store) -> None:
    for n in range(10):
        await store.create(f"/{n}", b"")
    seen: list[Event] = []
    last = REVISION_FIRST
    for _ in range(3):
        async with aclosing(store.watch("/", after=last)) as watch, aclosing(watch.events()) as events:
            async for event in events:
                seen.append(event)
                last = event.revision
                if len(seen) % 4 == 0 or last == store.revision:
                    break
    assert [event.entry.key for event in seen] == [f"/{n}" for n in range(10)]


async def test_an_event_is_queued_before_the_write_returns(store: Store) -> None:
    async with store.watch("/", after=REVISION_FIRST) as watch:
        assert not watch.is_ready()
        for n in range(5):
            entry = await store.create(f"/{n}", b"")
            assert watch.is_ready()
            assert [event.entry for event in await anext(watch)] == [entry]
            assert not watch.is_ready()


async def test_events_tell_what_was_before(store: Store) -> None:
    async with store.watch("/", after=REVISION_FIRST) as live:
        a1 = await store.create("/a", b"1")
        a2 = await store.update("/a", b"2", expected=a1.revision)
        dead = await store.delete("/a", expected=a2.revision)
        a3 = await store.create("/a", b"3")
        expected = [
            Event(EventType.PUT, a1.revision, a1, None),
            Event(EventType.PUT, a2.revision, a2, a1),
            Event(EventType.DELETE, dead.revision, dead, a2),
            Event(EventType.PUT, a3.revision, a3, None),
        ]
        assert await _until(live, a3.revision) == expected
    async with store.watch("/", after=REVISION_FIRST) as history:
        assert await _until(history, a3.revision) == expected


async def test_a_watch_holds_the_events_of_its_prefix_alone(store: Store) -> None:
    async with store.watch("/a/", after=REVISION_FIRST) as watch:
        for key in ("/a", "/a/1", "/b/1", "/a/2", "/a0"):
            await store.create(key, b"")
        assert [event.entry.key for event in await _until(watch, store.revision - 1)] == ["/a/1", "/a/2"]


async def test_a_watch_that_has_read_all_knows_the_stores_revision(store: Store) -> None:
    async with store.watch("/a/", after=REVISION_FIRST) as watch:
        await store.create("/b", b"")
        assert watch.revision == store.revision
        mine = await store.create("/a/1", b"")
        assert watch.revision < mine.revision
        await anext(watch)
        assert watch.revision == mine.revision


async def test_a_watch_may_start_in_the_future(store: Store) -> None:
    async with store.watch("/", after=REVISION_FIRST + 2) as watch:
        for n in range(4):
            await store.create(f"/{n}", b"")
        assert [event.entry.key for event in await _until(watch, store.revision)] == ["/2", "/3"]


async def test_a_failed_write_makes_no_event(store: Store) -> None:
    async with store.watch("/", after=REVISION_FIRST) as watch:
        await store.create("/a", b"")
        with pytest.raises(Conflict):
            await store.create("/a", b"")
        assert [event.entry.key for event in await _until_sentinel(store, watch)] == ["/a", SENTINEL]


async def test_a_cancelled_read_loses_nothing(store: Store) -> None:
    async with store.watch("/", after=REVISION_FIRST) as watch:
        for n in range(20):
            reading = asyncio.create_task(anext(watch))
            await asyncio.sleep(0)
            writing = asyncio.create_task(store.create(f"/{n}", b""))
            for _ in range(n % 5):
                await asyncio.sleep(0)
            reading.cancel()
            (outcome,) = await asyncio.gather(reading, return_exceptions=True)
            entry = await writing
            if isinstance(outcome, asyncio.CancelledError):
                outcome = await anext(watch)
            assert not isinstance(outcome, BaseException)
            assert [event.entry for event in outcome] == [entry]


async def test_a_watcher_that_falls_behind_is_ended_and_slows_nobody(store: Store) -> None:
    async with store.watch("/", after=REVISION_FIRST, events_max=5) as slow, store.watch("/", after=0) as quick:
        entries = [await store.create(f"/{n}", b"") for n in range(6)]
        with pytest.raises(Lagged) as caught:
            await anext(slow)
        assert (caught.value.revision, caught.value.events_max) == (REVISION_FIRST, 5)
        assert [event.entry for event in await _until(quick, store.revision)] == entries


async def test_a_watcher_that_lagged_resumes_from_the_revision_it_is_told(store: Store) -> None:
    async with store.watch("/", after=REVISION_FIRST, events_max=3) as slow:
        await store.create("/read", b"")
        await anext(slow)
        for n in range(4):
            await store.create(f"/{n}", b"")
        with pytest.raises(Lagged) as caught:
            await anext(slow)
    async with store.watch("/", after=caught.value.revision) as again:
        assert [event.entry.key for event in await _until(again, store.revision)] == ["/0", "/1", "/2", "/3"]


async def test_a_watch_from_revision_zero_sees_all_there_was(store: Store) -> None:
    async with store.watch("/", after=0) as early:
        entry = await store.create("/a", b"")
        assert [event.entry for event in await anext(early)] == [entry]
    async with store.watch("/", after=0) as late:
        assert [event.entry for event in await anext(late)] == [entry]


async def test_history_longer_than_the_bound_is_no_lag(store: Store) -> None:
    for n in range(20):
        await store.create(f"/{n}", b"")
    async with store.watch("/", after=REVISION_FIRST, events_max=5) as watch:
        assert len(await _until_sentinel(store, watch)) == 21


async def test_closing_a_watch_ends_the_read_that_waits(store: Store) -> None:
    watch = store.watch("/", after=REVISION_FIRST)
    reading = asyncio.create_task(_collect(watch))
    await asyncio.sleep(0)
    await watch.aclose()
    assert await reading == []


async def test_a_closed_watch_stays_closed(store: Store) -> None:
    watch = store.watch("/", after=REVISION_FIRST)
    await store.create("/a", b"")
    await watch.aclose()
    assert await _collect(watch) == []


async def test_closing_the_store_ends_its_watches_after_what_they_hold(store: Store) -> None:
    watch = store.watch("/", after=REVISION_FIRST)
    entry = await store.create("/a", b"")
    await store.close()
    assert [event.entry for event in await anext(watch)] == [entry]
    with pytest.raises(Unavailable):
        await anext(watch)


async def test_a_waiting_watch_learns_that_the_store_closes(store: Store) -> None:
    reading = asyncio.create_task(_collect(store.watch("/", after=REVISION_FIRST)))
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises(Unavailable):
        await reading


async def test_many_watchers_see_the_same_events(store: Store) -> None:
    watches = [store.watch("/", after=REVISION_FIRST) for _ in range(50)]
    entries: list[Entry] = await asyncio.gather(*[store.create(f"/{n}", b"") for n in range(20)])
    entries.sort(key=lambda entry: entry.revision)
    for watch in watches:
        async with watch:
            assert [event.entry for event in await _until(watch, store.revision)] == entries


async def _until(watch: Watch, revision: int) -> list[Event]:
    """Read until an event of at least this revision has come."""
    seen: list[Event] = []
    while not seen or seen[-1].revision < revision:
        seen += await anext(watch)
    return seen


async def _until_sentinel(store: Store, watch: Watch) -> list[Event]:
    """Read up to and including an event written now."""
    return await _until(watch, (await store.create(SENTINEL, b"")).revision)


async def _collect(watch: Watch) -> list[tuple[Event, ...]]:
    return [commit async for commit in watch]
