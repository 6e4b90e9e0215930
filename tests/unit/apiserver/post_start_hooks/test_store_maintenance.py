"""The store's past is forgotten after five minutes, by a clock that is given."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.errors import Compacted, Unavailable

from mockkube.apiserver.post_start_hooks.store_maintenance import COMPACT_BYTES, COMPACT_SECONDS, StoreMaintenance


class StoppedClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.seconds + seconds, future))
        await future

    async def move(self, seconds: float) -> None:
        self.seconds += seconds
        for until, future in self._sleepers:
            if until <= self.seconds and not future.done():
                future.set_result(None)
        for _ in range(10):
            await asyncio.sleep(0)


async def test_what_was_replaced_before_the_last_round_is_forgotten() -> None:
    async with MemoryStore() as store:
        first = await store.create("/a", b"1")
        keeper = StoreMaintenance(store, StoppedClock())
        second = await store.update("/a", b"2", expected=first.revision)
        await keeper.compact()
        assert await store.get("/a", revision=first.revision) == first
        third = await store.update("/a", b"3", expected=second.revision)
        await keeper.compact()
        with pytest.raises(Compacted):
            await store.get("/a", revision=first.revision)
        assert await store.get("/a", revision=third.revision) == third


async def test_a_store_that_grows_fast_forgets_sooner() -> None:
    async with MemoryStore() as store:
        first = await store.create("/a", b"1")
        keeper = StoreMaintenance(store, StoppedClock())
        second = await store.update("/a", b"2", expected=first.revision)
        work = [asyncio.ensure_future(one) for one in keeper.coroutines()]
        for _ in range(2):  # what was replaced before the last time is forgotten
            keeper.count_written(COMPACT_BYTES - 1)
            await asyncio.sleep(0)
            assert await store.get("/a", revision=first.revision) == first
            keeper.count_written(1)
            for _ in range(5):
                await asyncio.sleep(0)
        with pytest.raises(Compacted):
            await store.get("/a", revision=first.revision)
        assert await store.get("/a") == second
        for one in work:
            one.cancel()
        await asyncio.gather(*work, return_exceptions=True)


class Grown(MemoryStore):
    """Says that it has kept a lot when it was started."""

    past_bytes = COMPACT_BYTES


async def test_what_ended_processes_have_left_is_forgotten_at_once() -> None:
    async with Grown() as store:
        first = await store.create("/a", b"1")
        await store.update("/a", b"2", expected=first.revision)
        work = [asyncio.ensure_future(one) for one in StoreMaintenance(store, StoppedClock()).coroutines()]
        for _ in range(5):
            await asyncio.sleep(0)
        with pytest.raises(Compacted):
            await store.get("/a", revision=first.revision)
        for one in work:
            one.cancel()
        await asyncio.gather(*work, return_exceptions=True)


class Broken(MemoryStore):
    """Counts what it is asked to forget, and fails."""

    asked = 0

    async def compact(self, revision: int) -> None:
        type(self).asked += 1
        raise Unavailable("lab", "gone")


async def test_a_store_that_fails_is_asked_again_in_the_next_round() -> None:
    clock = StoppedClock()
    async with Broken() as store:
        work = [asyncio.ensure_future(one) for one in StoreMaintenance(store, clock).coroutines()]
        for _ in range(3):
            await clock.move(0)
            await clock.move(COMPACT_SECONDS)
        assert Broken.asked == 3
        for task in work:
            task.cancel()
        await asyncio.wait(work)
