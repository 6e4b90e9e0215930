"""What one caller may rely on: revisions, conflicts, order of keys, reading the past."""

import asyncio

import pytest
from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.errors import Conflict, FutureRevision, InvalidKey
from mockkube_storage.model import REVISION_FIRST, Entry, Page, put_event
from mockkube_storage.store import Store


async def test_an_empty_store_is_at_the_first_revision(store: Store) -> None:
    assert store.revision == await store.current_revision() == REVISION_FIRST
    assert await store.list("") == Page((), REVISION_FIRST, 0)


async def test_each_write_has_a_greater_revision_of_its_own(store: Store) -> None:
    created = await store.create("/a", b"1")
    updated = await store.update("/a", b"2", expected=created.revision)
    deleted = await store.delete("/a", expected=updated.revision)
    assert REVISION_FIRST < created.revision < updated.revision < deleted.revision
    assert store.revision == await store.current_revision() == deleted.revision


async def test_many_writes_at_once_are_all_done(store: Store) -> None:
    entries = await asyncio.gather(*[store.create(f"/many/{number:04}", b"%d" % number) for number in range(450)])
    assert len({entry.revision for entry in entries}) == 450
    assert [entry.value for entry in (await store.list("/many/", revision=store.revision)).entries] == [
        b"%d" % number for number in range(450)
    ]


async def test_an_update_keeps_the_revision_of_the_creation(store: Store) -> None:
    created = await store.create("/a", b"1")
    updated = await store.update("/a", b"2", expected=created.revision)
    assert updated == Entry("/a", b"2", created.revision, updated.revision)
    assert await store.get("/a") == updated


async def test_a_deletion_returns_the_last_value_at_its_own_revision(store: Store) -> None:
    created = await store.create("/a", b"1")
    deleted = await store.delete("/a", expected=created.revision)
    assert (deleted.value, deleted.create_revision) == (b"1", created.revision)
    assert deleted.revision == store.revision
    assert await store.get("/a") is None


async def test_a_key_created_again_has_a_new_revision_of_creation(store: Store) -> None:
    first = await store.create("/a", b"1")
    await store.delete("/a", expected=first.revision)
    second = await store.create("/a", b"2")
    assert second.create_revision == second.revision > first.revision


async def test_an_empty_value_is_a_value(store: Store) -> None:
    created = await store.create("/a", b"")
    assert (await store.list("/")).entries == (created,)
    assert await store.get("/a", revision=created.revision) == created


async def test_creating_a_key_that_exists_conflicts_with_its_current_entry(store: Store) -> None:
    created = await store.create("/a", b"1")
    with pytest.raises(Conflict) as caught:
        await store.create("/a", b"2")
    assert (caught.value.key, caught.value.current) == ("/a", created)
    assert await store.get("/a") == created


@pytest.mark.parametrize("operation", ["update", "delete"])
async def test_a_write_on_an_outdated_revision_conflicts_with_the_current_entry(store: Store, operation: str) -> None:
    created = await store.create("/a", b"1")
    current = await store.update("/a", b"2", expected=created.revision)
    with pytest.raises(Conflict) as caught:
        await _write(store, operation, expected=created.revision)
    assert caught.value.current == current


@pytest.mark.parametrize("operation", ["update", "delete"])
async def test_a_write_on_an_absent_key_conflicts_with_nothing(store: Store, operation: str) -> None:
    with pytest.raises(Conflict) as caught:
        await _write(store, operation, expected=1)
    assert caught.value.current is None


@pytest.mark.parametrize("operation", ["update", "delete"])
async def test_a_write_on_a_deleted_key_conflicts_with_nothing(store: Store, operation: str) -> None:
    created = await store.create("/a", b"1")
    deleted = await store.delete("/a", expected=created.revision)
    with pytest.raises(Conflict) as caught:
        await _write(store, operation, expected=deleted.revision)
    assert caught.value.current is None


async def test_a_conflict_uses_up_no_event(store: Store) -> None:
    created = await store.create("/a", b"1")
    with pytest.raises(Conflict):
        await store.create("/a", b"2")
    assert await store.current_revision() == created.revision


async def test_of_many_writers_on_one_revision_exactly_one_wins(store: Store) -> None:
    created = await store.create("/a", b"0")
    writes = [store.update("/a", b"%d" % n, expected=created.revision) for n in range(20)]
    answers = await asyncio.gather(*writes, return_exceptions=True)
    (winner,) = [answer for answer in answers if isinstance(answer, Entry)]
    losers = [answer for answer in answers if isinstance(answer, Conflict)]
    assert len(losers) == 19
    assert {loser.current for loser in losers} == {winner}
    assert await store.get("/a") == winner


async def test_no_increment_is_lost_among_concurrent_writers(store: Store) -> None:
    await store.create("/n", b"0")

    async def increment() -> None:
        current = await store.get("/n")
        while True:
            assert current is not None
            try:
                await store.update("/n", b"%d" % (int(current.value) + 1), expected=current.revision)
            except Conflict as conflict:
                current = conflict.current
            else:
                return

    await asyncio.gather(*[increment() for _ in range(30)])
    entry = await store.get("/n")
    assert entry is not None
    assert entry.value == b"30"


@pytest.mark.parametrize(
    "key", [pytest.param("", id="empty"), pytest.param("/a\0b", id="NUL"), pytest.param("/\ud800", id="not text")]
)
async def test_a_key_no_engine_can_hold_is_refused(store: Store, key: str) -> None:
    with pytest.raises(InvalidKey):
        await store.create(key, b"1")
    assert store.revision == REVISION_FIRST


async def test_a_list_is_in_byte_order_of_the_keys(store: Store) -> None:
    ordered = ["/", "/A", "/a", "/a-", "/a/", "/a/b", "/a0", "/é", "/\ufffd", "/\U0001f600"]
    for key in reversed(ordered):
        await store.create(key, key.encode())
    assert [entry.key for entry in (await store.list("")).entries] == ordered
    assert sorted(ordered, key=str.encode) == ordered


async def test_a_list_holds_the_keys_of_its_prefix_alone(store: Store) -> None:
    for key in ("/pods", "/pods/", "/pods/a", "/pods/b", "/pods0", "/poda"):
        await store.create(key, b"")
    assert await _keys(store, "/pods/") == ["/pods/", "/pods/a", "/pods/b"]
    assert await _keys(store, "/nodes/") == []


async def test_a_prefix_is_no_pattern(store: Store) -> None:
    for key in ("/a%b", "/a_b", "/axb", "/A%b"):
        await store.create(key, b"")
    assert await _keys(store, "/a%") == ["/a%b"]
    assert await _keys(store, "/a_") == ["/a_b"]


async def test_a_prefix_may_end_in_the_last_character_there_is(store: Store) -> None:
    last = "/\U0010ffff"
    for key in ("/", last, f"{last}a", "0"):
        await store.create(key, b"")
    assert await _keys(store, last) == [last, f"{last}a"]


async def test_pages_follow_one_another_without_gap_or_repeat(store: Store) -> None:
    for n in range(7):
        await store.create(f"/a/{n}", b"")
    first = await store.list("/a/", limit=3)
    assert ([entry.key for entry in first.entries], first.remaining, first.has_more) == (
        ["/a/0", "/a/1", "/a/2"],
        4,
        True,
    )
    second = await store.list("/a/", start="/a/2\x01", limit=3, revision=first.revision)
    assert ([entry.key for entry in second.entries], second.remaining) == (["/a/3", "/a/4", "/a/5"], 1)
    third = await store.list("/a/", start="/a/6", limit=3, revision=first.revision)
    assert ([entry.key for entry in third.entries], third.remaining, third.has_more) == (["/a/6"], 0, False)


async def test_a_start_before_the_prefix_is_the_beginning(store: Store) -> None:
    await store.create("/b/1", b"")
    assert await _keys(store, "/b/", start="/a") == ["/b/1"]


async def test_the_past_reads_as_it_was(store: Store) -> None:
    a1 = await store.create("/a", b"1")
    b1 = await store.create("/b", b"1")
    a2 = await store.update("/a", b"2", expected=a1.revision)
    b2 = await store.delete("/b", expected=b1.revision)
    b3 = await store.create("/b", b"3")
    states = {a1.revision: (a1,), b1.revision: (a1, b1), a2.revision: (a2, b1), b2.revision: (a2,)}
    for revision, entries in (states | {b3.revision: (a2, b3)}).items():
        page = await store.list("/", revision=revision)
        assert (page.entries, page.revision) == (entries, revision)
        assert await store.get("/b", revision=revision) == {entry.key: entry for entry in entries}.get("/b")


async def test_pages_of_the_past_count_what_remained_then(store: Store) -> None:
    entries = [await store.create(f"/{n}", b"") for n in range(5)]
    then = store.revision
    for entry in entries:
        await store.delete(entry.key, expected=entry.revision)
    page = await store.list("/", limit=2, revision=then)
    assert (page.entries, page.remaining, page.revision) == (tuple(entries[:2]), 3, then)


async def test_the_future_cannot_be_read(store: Store) -> None:
    created = await store.create("/a", b"")
    future = created.revision + 1
    with pytest.raises(FutureRevision) as caught:
        await store.get("/a", revision=future)
    assert (caught.value.requested, caught.value.current) == (future, created.revision)
    with pytest.raises(FutureRevision):
        await store.list("/", revision=future)


async def test_a_cancelled_write_is_done_as_a_whole_or_not_at_all(store: Store) -> None:
    for n in range(50):
        task = asyncio.create_task(store.create(f"/{n}", b"whole"))
        for _ in range(n % 7):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    last = await store.create("/last", b"whole")
    entries = (await store.list("/")).entries
    assert {entry.value for entry in entries} == {b"whole"}
    assert last.revision == store.revision == REVISION_FIRST + len(entries)


async def test_cancelled_reads_leave_nothing_behind(store: Store) -> None:
    created = await store.create("/a", b"1")
    await store.create("/b", b"1")
    for n in range(50):
        task = asyncio.create_task(store.list("/", revision=created.revision))
        for _ in range(n % 7):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert (await store.list("/", revision=created.revision)).entries == (created,)


async def _write(store: Store, operation: str, *, expected: int) -> Entry:
    if operation == "update":
        return await store.update("/a", b"3", expected=expected)
    return await store.delete("/a", expected=expected)


async def _keys(store: Store, prefix: str, *, start: str = "") -> list[str]:
    return [entry.key for entry in (await store.list(prefix, start=start)).entries]


async def test_updates_of_many_entries_are_one_commit_with_a_revision_each() -> None:
    async with MemoryStore() as store:
        made = [await store.create(f"/{number}", b"1") for number in range(4)]
        await store.delete("/3", expected=made[3].revision)
        updates = [
            ("/1", b"2", made[1].revision),
            ("/0", b"2", made[0].revision - 1),
            ("/2", b"2", made[2].revision),
            ("/1", b"3", made[1].revision),
            ("/3", b"2", made[3].revision),
            ("/none", b"2", 1),
        ]
        before = store.revision
        async with store.watch("", after=before) as watch:
            entries = await store.update_all(updates)
            first, second = (
                Entry("/1", b"2", made[1].revision, before + 1),
                Entry("/2", b"2", made[2].revision, before + 2),
            )
            assert entries == [first, None, second, None, None, None]
            assert watch.take() == (put_event(first, made[1]), put_event(second, made[2]))
            assert watch.take() is None
        assert (store.revision, (await store.list("")).entries) == (before + 2, (made[0], first, second))
        assert await store.update_all([]) == []
