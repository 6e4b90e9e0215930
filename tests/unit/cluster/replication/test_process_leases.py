"""Who may use a store at the same time, and how long a process that was killed keeps others waiting."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, replace

import pytest
from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.store import Store

from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.replication.process_leases import LEASE_SECONDS, PREFIX, ProcessLeases, ProcessRecord
from mockkube.runtime.virtual_time import EPOCH, VirtualClock

Make = Callable[..., ProcessLeases]
LOCAL = ProcessRecord.for_this_process("lab", "https://10.0.0.1:6443", joins=False)
# As a process of another machine.
REMOTE = replace(LOCAL, host="far", machine="elsewhere", started="1")


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    async with MemoryStore() as store:
        yield store


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(EPOCH)


@pytest.fixture
def make(store: Store, clock: VirtualClock) -> Make:
    def make_leases(identity: str, record: ProcessRecord = REMOTE, *, joins: bool = False) -> ProcessLeases:
        return ProcessLeases(store, clock, replace(record, joins=joins), identity)

    return make_leases


async def advance(clock: VirtualClock, seconds: float) -> None:
    """Let the time pass in steps, so that all who sleep take their turns."""
    for _ in range(int(seconds * 2)):
        clock.move_to(clock.monotonic() + 0.5)
        for _ in range(20):
            await asyncio.sleep(0)


async def identities(store: Store) -> list[str]:
    return [entry.key.removeprefix(PREFIX) for entry in (await store.list(PREFIX)).entries]


async def test_processes_that_join_share_a_store(make: Make, store: Store) -> None:
    for identity in ("a", "b", "c"):
        await make(identity, joins=True).acquire()
    assert await identities(store) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("first", "second", "remedy"),
    [
        pytest.param(False, False, "start both with --join, or", id="neither joins"),
        pytest.param(True, False, "join it with --join, or", id="the second does not join"),
        pytest.param(False, True, "start that one with --join, too, or", id="the first does not join"),
    ],
)
async def test_a_process_of_this_machine_that_lives_is_refused_at_once(
    make: Make, store: Store, first: bool, second: bool, remedy: str
) -> None:
    await make("a", LOCAL, joins=first).acquire()
    with pytest.raises(StartError, match=f"another control plane uses this database .*'lab'.: {remedy} give another"):
        await make("b", LOCAL, joins=second).acquire()
    assert await identities(store) == ["a"]


async def test_a_process_that_has_stopped_is_in_nobodys_way(make: Make) -> None:
    first = make("a", LOCAL)
    await first.acquire()
    await first.release()
    await make("b", LOCAL).acquire()


async def test_a_killed_process_of_this_machine_is_in_nobodys_way(make: Make, store: Store) -> None:
    await make("a", replace(LOCAL, pid=2**22 + 1)).acquire()
    await make("b", replace(LOCAL, started="1")).acquire()  # its number belongs to another process by now
    await make("c", LOCAL).acquire()
    assert await identities(store) == ["c"]


async def test_a_process_elsewhere_that_renews_its_lease_is_refused(make: Make, clock: VirtualClock) -> None:
    first = make("a")
    await first.acquire()
    renewing = asyncio.create_task(first.run())
    second = asyncio.create_task(make("b").acquire())
    await advance(clock, LEASE_SECONDS / 2)
    assert second.done()
    with pytest.raises(StartError, match="far, process"):
        await second
    renewing.cancel()


async def test_a_killed_process_elsewhere_is_waited_for_as_long_as_its_lease(
    make: Make, clock: VirtualClock, store: Store
) -> None:
    await make("a").acquire()
    second = asyncio.create_task(make("b").acquire())
    await advance(clock, LEASE_SECONDS - 1)
    assert not second.done()
    await advance(clock, 2)
    await second
    assert await identities(store) == ["b"]


async def test_a_record_of_long_ago_is_not_waited_for(make: Make, clock: VirtualClock) -> None:
    await make("a").acquire()
    await advance(clock, 601)
    await make("b").acquire()


async def test_of_two_that_start_at_once_one_is_refused(make: Make) -> None:
    results = await asyncio.gather(make("a", LOCAL).acquire(), make("b", LOCAL).acquire(), return_exceptions=True)
    assert {type(result) for result in results} == {StartError, type(None)}


async def test_the_living_are_those_that_renew_their_leases(make: Make, clock: VirtualClock) -> None:
    first, second = make("a", joins=True), make("b", replace(REMOTE, url="https://10.0.0.2:6443"), joins=True)
    await first.acquire()
    await second.acquire()
    renewing = asyncio.create_task(first.run())
    assert [one.url for one in await first.find_live()] == ["https://10.0.0.1:6443", "https://10.0.0.2:6443"]
    await advance(clock, LEASE_SECONDS + 1)
    assert [one.url for one in await first.find_live()] == ["https://10.0.0.1:6443"]
    renewing.cancel()


async def test_a_lease_that_somebody_deleted_is_created_again(make: Make, clock: VirtualClock, store: Store) -> None:
    leases = make("a")
    await leases.acquire()
    (entry,) = (await store.list(PREFIX)).entries
    await store.delete(entry.key, expected=entry.revision)
    renewing = asyncio.create_task(leases.run())
    await advance(clock, 6)
    assert await identities(store) == ["a"]
    renewing.cancel()


async def test_a_renewal_that_was_done_although_it_seemed_to_fail_is_continued(
    make: Make, clock: VirtualClock, store: Store
) -> None:
    leases = make("a")
    await leases.acquire()
    (entry,) = (await store.list(PREFIX)).entries
    await store.update(entry.key, entry.value, expected=entry.revision)
    renewing = asyncio.create_task(leases.run())
    await advance(clock, 12)
    assert not renewing.done()
    (renewed,) = (await store.list(PREFIX)).entries
    assert json.loads(renewed.value)["renew_time"] > json.loads(entry.value)["renew_time"]
    renewing.cancel()


async def test_a_record_that_cannot_be_read_is_in_nobodys_way(make: Make, store: Store) -> None:
    await store.create(f"{PREFIX}damaged", b"{")
    await make("a").acquire()
    assert await identities(store) == ["a"]


async def test_a_record_of_a_newer_version_counts(make: Make, store: Store) -> None:
    await store.create(f"{PREFIX}newer", json.dumps(asdict(LOCAL) | {"more": 1}).encode())
    with pytest.raises(StartError, match="another control plane uses this database"):
        await make("a").acquire()
