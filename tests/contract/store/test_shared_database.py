"""Several stores on one database or server: what one writes, the others see, in one order."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.engines.log import LogStore
from mockkube_storage.errors import Compacted, Conflict, FormatTooNew, Unavailable
from mockkube_storage.model import REVISION_FIRST, Entry, Event
from mockkube_storage.store import Store
from mockkube_storage.watch import Watch

from tests.contract.store.etcd_cluster import Proxy, run_cluster, run_etcd, skip_without_etcd

if TYPE_CHECKING:
    from tests.contract.store.conftest import Serve


@pytest.fixture(params=["postgresql", "remote", "etcd", pytest.param("etcd of three members", marks=pytest.mark.slow)])
async def urls(request: pytest.FixtureRequest, tmp_path: Path, serve: "Serve") -> AsyncIterator[list[str]]:
    """Three URLs of one empty database or server; clients of an etcd with three members connect to different ones."""
    match request.param:
        case "postgresql":
            yield [await request.getfixturevalue("empty_postgres")()] * 3
        case "etcd":
            skip_without_etcd()
            async with run_etcd(tmp_path / "etcd") as member:
                yield [member.url] * 3
        case "etcd of three members":
            skip_without_etcd()
            async with run_cluster(tmp_path, has_proxies=False) as cluster:
                yield [cluster.url_from(number) for number in range(3)]
        case _:
            async with LogStore(str(tmp_path)) as served, serve(served) as url:
                yield [url] * 3


@pytest.fixture
async def stores(urls: list[str]) -> AsyncIterator[list[Store]]:
    """Three stores, as three processes would have them."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_store(url)) for url in urls]


@pytest.fixture
async def postgres(empty_postgres: Callable[[], Awaitable[str]]) -> str:
    return await empty_postgres()


@pytest.fixture
async def postgres_stores(postgres: str) -> AsyncIterator[list[Store]]:
    """Two stores on PostgreSQL."""
    async with open_store(postgres) as here, open_store(postgres) as there:
        yield [here, there]


async def test_stores_that_start_at_once_on_an_empty_database_lay_it_out_once(urls: list[str]) -> None:
    started = [open_store(url) for url in urls * 2]
    await asyncio.gather(*[store.start() for store in started])
    await asyncio.gather(*[store.create(f"/{n}", b"") for n, store in enumerate(started)])
    for store in started:
        assert len((await store.list("/")).entries) == 6
        await store.close()


async def test_a_read_sees_what_another_store_has_acknowledged(stores: list[Store]) -> None:
    here, there, _ = stores
    for n in range(20):
        entry = await here.create(f"/{n}", b"")
        assert await there.get(f"/{n}") == entry
        assert (await there.list(f"/{n}")).entries == (entry,)
        assert await there.current_revision() == there.revision == entry.revision


async def test_a_watch_follows_other_stores_without_being_asked(stores: list[Store]) -> None:
    here, there, _ = stores
    async with there.watch("/", after=REVISION_FIRST) as watch:
        for n in range(10):
            entry = await here.create(f"/{n}", b"")
            assert [event.entry for event in await anext(watch)] == [entry]


async def test_all_stores_see_the_events_of_all_in_one_order(stores: list[Store]) -> None:
    watches = [store.watch("/", after=REVISION_FIRST) for store in stores]
    writes = [store.create(f"/{number}/{n}", b"") for n in range(50) for number, store in enumerate(stores)]
    await asyncio.gather(*writes)
    seen = [await _until(watch, REVISION_FIRST + 150) for watch in watches]
    assert seen[0] == seen[1] == seen[2]
    assert [event.revision for event in seen[0]] == list(range(REVISION_FIRST + 1, REVISION_FIRST + 151))


async def test_of_writers_in_different_stores_one_wins(stores: list[Store]) -> None:
    entry = await stores[0].create("/a", b"")
    for n in range(20):
        writes = [store.update("/a", b"%d" % n, expected=entry.revision) for store in stores]
        answers = await asyncio.gather(*writes, return_exceptions=True)
        (entry,) = [answer for answer in answers if isinstance(answer, Entry)]
        assert [answer.current for answer in answers if isinstance(answer, Conflict)] == [entry, entry]


async def test_compaction_by_one_store_holds_for_all(stores: list[Store]) -> None:
    here, there, _ = stores
    first = await here.create("/a", b"1")
    second = await here.update("/a", b"2", expected=first.revision)
    await there.compact(second.revision)
    await here.poll()
    with pytest.raises(Compacted):
        await here.get("/a", revision=first.revision)
    async with here.watch("/", after=REVISION_FIRST) as watch:
        with pytest.raises(Compacted):
            await anext(watch)


async def test_a_store_that_missed_what_was_compacted_tells_its_watchers(postgres_stores: list[Store]) -> None:
    here, there = postgres_stores
    watch = here.watch("/", after=REVISION_FIRST)
    await _deafen(here)
    entry = await there.create("/a", b"1")
    dead = await there.delete("/a", expected=entry.revision)
    await there.compact(dead.revision)
    assert await here.current_revision() == dead.revision
    with pytest.raises(Compacted):
        await anext(watch)
    after = await here.create("/b", b"")
    assert after.revision == dead.revision + 1


async def test_a_broken_listener_is_replaced_by_the_next_poll(postgres_stores: list[Store]) -> None:
    here, there = postgres_stores
    async with here.watch("/", after=REVISION_FIRST) as watch:
        await _deafen(here)
        missed = await there.create("/missed", b"")
        await here.poll()
        assert [event.entry for event in await anext(watch)] == [missed]
        heard = await there.create("/heard", b"")
        assert [event.entry for event in await anext(watch)] == [heard]


async def test_a_store_whose_connections_were_cut_serves_again(postgres_stores: list[Store], postgres: str) -> None:
    here, there = postgres_stores
    entry = await here.create("/a", b"")
    await _cut_all_connections(postgres)
    for store in (here, there):
        for _ in range(10):  # each pooled connection may be found dead once
            try:
                await store.poll()
                await store.get("/a")
                await store.list("/")
                break
            except Unavailable:
                continue
    try:
        second = await here.create("/b", b"")
    except Unavailable:
        second = await here.create("/b", b"")
    assert (await there.list("/")).entries == (entry, second)


async def test_a_newer_format_is_refused(postgres: str) -> None:
    async with open_store(postgres):
        pass
    await _execute(postgres, "UPDATE meta SET value = 2 WHERE name = 'format'")
    with pytest.raises(FormatTooNew):
        await open_store(postgres).start()


async def test_a_database_that_does_not_exist_is_unavailable_and_no_password_is_told(postgres: str) -> None:
    absent = re.sub(r"(://[^:@/]+)[^@]*@([^/]*)/[^?]*", r"\1:secret@\2/absent", postgres)
    with pytest.raises(Unavailable, match='database "absent" does not exist') as caught:
        await open_store(absent).start()
    assert "secret" not in str(caught.value)


async def test_a_server_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        await open_store("postgresql://nobody@127.0.0.1:1/none").start()


async def _until(watch: Watch, revision: int) -> list[Event]:
    seen: list[Event] = []
    while not seen or seen[-1].revision < revision:
        seen += await anext(watch)
    return seen


async def _deafen(store: Store) -> None:
    """Close the connection on which a store listens, as a network may."""
    await store._listener_driver.close()  # type: ignore[attr-defined]  # no other way to reach the network


async def _cut_all_connections(database: str) -> None:
    await _execute(
        database,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
    )


async def _execute(database: str, statement: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(database)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def test_a_close_does_not_wait_for_a_database_that_does_not_answer(postgres: str) -> None:
    address = urlsplit(postgres)
    port = address.port or 5432
    query = dict(parse_qsl(address.query))
    folder = query.pop("host", "")
    proxy = Proxy(f"{folder}/.s.PGSQL.{port}" if folder else port)
    netloc = f"{address.username or 'postgres'}@127.0.0.1:{await proxy.start()}"
    store = open_store(address._replace(netloc=netloc, query=urlencode(query)).geturl())
    await store.start()
    await store.create("/a", b"")
    proxy.is_stalled = True
    writing = asyncio.ensure_future(store.create("/b", b""))
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises((Unavailable, asyncio.CancelledError)):
        await writing
    await proxy.close()
