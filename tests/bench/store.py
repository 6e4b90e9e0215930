"""What the store does in a second, per engine: `python tests/bench/store.py [URL...]`.

Without a URL it measures memory, SQLite and a log in a temporary folder, and, when MOCKKUBE_TEST_POSTGRES is set,
PostgreSQL. The database named must be empty. For a shared store, start an `etcd` and name it: mockkube-store://HOST:PORT.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.model import REVISION_FIRST
from mockkube_storage.store import Store

VALUE = b"v" * 2048
WRITES = {1: 2_000, 16: 20_000, 256: 20_000}
LISTS = 20
WATCHERS = 100


async def main(urls: list[str]) -> None:
    """Measure each engine."""
    for url in urls:
        print(f"{url.partition(':')[0]}: values of {len(VALUE)} bytes")
        store = open_store(url)
        async with store:
            for writers, writes in WRITES.items():
                await bench_writes(store, writers, writes)
            await bench_lists(store)
            await bench_history(store)
            await bench_watchers(store)
            await bench_compaction(store)
        with measured() as seconds:
            await store.start()
        print(f"  start with {len((await store.list('')).entries)} entries: {seconds() * 1e3:.0f} ms")
        await store.close()


async def bench_writes(store: Store, writers: int, writes: int) -> None:
    """Closed-loop writers, each waiting for its acknowledgement."""

    async def write(writer: int) -> None:
        for n in range(writes // writers):
            await store.create(f"/{writers}/{writer:03}/{n:06}", VALUE)

    with measured() as seconds:
        await together(writers, write)
    rate = writes / seconds()
    print(f"  {writers:3} writers: {rate:8,.0f} writes/s, {writers / rate * 1e3:.2f} ms each")


async def bench_lists(store: Store) -> None:
    """Lists of one prefix, now and in the past."""
    page = await store.list("/16/")
    for name, revision in (("now", 0), ("past", page.revision - 1)):
        with measured() as seconds:
            for _ in range(LISTS):
                await store.list("/16/", revision=revision)
        rate = LISTS * len(page.entries) / seconds()
        print(f"  list of {len(page.entries)}, {name:4}: {seconds() / LISTS * 1e3:8.1f} ms, {rate:12,.0f} entries/s")


async def bench_history(store: Store) -> None:
    """One watcher that starts at the beginning."""
    seen, revision = 0, REVISION_FIRST
    with measured() as seconds:
        async with store.watch("", after=REVISION_FIRST) as watch:
            while revision < store.revision:
                events = await anext(watch)
                seen, revision = seen + len(events), events[-1].revision
    print(f"  watch, history: {seen / seconds():12,.0f} events/s")


async def bench_watchers(store: Store) -> None:
    """Many watchers of what 16 writers write."""
    writes = 8_000
    last = store.revision + writes
    watches = [store.watch("/live/", after=store.revision) for _ in range(WATCHERS)]

    async def follow(number: int) -> None:
        async with watches[number] as watch:
            async for events in watch:
                if events[-1].revision >= last:
                    return

    async def write(writer: int) -> None:
        for n in range(writes // 16):
            await store.create(f"/live/{writer}/{n}", VALUE)

    with measured() as seconds:
        await asyncio.gather(together(WATCHERS, follow), together(16, write))
    rate = writes / seconds()
    print(f"  watch, {WATCHERS} watchers: {rate:8,.0f} writes/s, {rate * WATCHERS:12,.0f} events/s delivered")


async def bench_compaction(store: Store) -> None:
    """The longest between two writes of one writer while everything there was is swept."""
    slowest = 0.0
    done = False

    async def write() -> None:
        nonlocal slowest
        n, before = 0, time.perf_counter()
        while not done:
            await store.create(f"/beside/{n}", VALUE)
            await asyncio.sleep(0)  # also to see a loop that is held up
            n, now = n + 1, time.perf_counter()
            slowest, before = max(slowest, now - before), now

    for entry in (await store.list("/256/")).entries:
        await store.delete(entry.key, expected=entry.revision)
    writing = asyncio.create_task(write())
    with measured() as seconds:
        await asyncio.sleep(0)
        await store.compact(store.revision)
    done = True
    await writing
    print(f"  compaction: {seconds() * 1e3:.0f} ms, slowest write beside it {slowest * 1e3:.1f} ms")


async def together(count: int, work: Callable[[int], Awaitable[None]]) -> None:
    """Run so many at once."""
    await asyncio.gather(*[work(number) for number in range(count)])


@contextmanager
def measured() -> Iterator[Callable[[], float]]:
    """Measure the block; the function yielded returns its seconds afterwards."""
    started = time.perf_counter()
    ended = started
    yield lambda: ended - started
    ended = time.perf_counter()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        postgres = [url for url in [os.environ.get("MOCKKUBE_TEST_POSTGRES")] if url]
        local = ["memory:", f"sqlite:///{folder}/store.db", f"log:///{folder}/store"]
        asyncio.run(main(sys.argv[1:] or [*local, *postgres]))
