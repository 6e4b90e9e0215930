import asyncio
import contextlib

from mockkube.api.errors import Internal
from mockkube.apiserver.post_start_hooks.retry_queue import RETRY_SECONDS, TRIES_MAX, RetryQueue
from mockkube.runtime.virtual_time import VirtualClock


@contextlib.asynccontextmanager
async def running(rounds):
    task = asyncio.create_task(rounds.run())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def rest():
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_key_added_twice_is_seen_to_once():
    seen = []

    async def see_to(key):
        seen.append(key)

    rounds = RetryQueue(see_to, VirtualClock())
    rounds.add("a", "b", "a")
    assert not rounds.is_busy, "nobody makes the rounds yet"
    async with running(rounds):
        await rest()
        assert seen == ["a", "b"]
        assert not rounds.is_busy


async def test_it_is_busy_while_a_key_is_in_hand():
    gate = asyncio.Event()

    async def see_to(key):
        await gate.wait()

    rounds = RetryQueue(see_to, VirtualClock())
    async with running(rounds):
        rounds.add("a")
        await rest()
        assert rounds.is_busy
        gate.set()
        await rest()
        assert not rounds.is_busy


async def test_what_fails_is_seen_to_again_later():
    clock, seen = VirtualClock(), []

    async def see_to(key):
        seen.append(key)
        if len(seen) == 1:
            raise Internal("not now")

    rounds = RetryQueue(see_to, clock)
    rounds.add("a")
    async with running(rounds):
        await rest()
        assert seen == ["a"]
        clock.move_to(clock.monotonic() + RETRY_SECONDS)
        await rest()
        assert seen == ["a", "a"]


async def test_what_fails_again_and_again_is_given_up():
    clock, seen = VirtualClock(), []

    async def see_to(key):
        seen.append(key)
        raise Internal("never")

    rounds = RetryQueue(see_to, clock)
    rounds.add("a")
    async with running(rounds):
        for _ in range(2 * TRIES_MAX):
            await rest()
            clock.move_to(clock.monotonic() + RETRY_SECONDS * 2**TRIES_MAX)
        await rest()
        assert len(seen) == TRIES_MAX
        rounds.add("a")
        await rest()
        assert len(seen) == TRIES_MAX + 1


async def test_a_bug_met_with_one_key_does_not_keep_others_from_being_seen_to(caplog):
    seen = []

    async def see_to(key):
        seen.append(key)
        if key == "a":
            raise KeyError("spec")

    rounds = RetryQueue(see_to, VirtualClock())
    rounds.add("a", "b")
    async with running(rounds):
        await rest()
        assert seen == ["a", "b"]
    assert "cannot read a" in caplog.text


async def test_what_is_to_be_seen_to_later_more_than_once_is_seen_to_once_at_the_earliest_time():
    clock, seen = VirtualClock(), []

    async def see_to(key):
        seen.append(clock.monotonic())

    rounds = RetryQueue(see_to, clock)
    begun = clock.monotonic()
    async with running(rounds):
        for seconds in (5, 3, 4):
            rounds.add_after("a", seconds)
        for _ in range(6):
            await rest()
            clock.move_to(clock.monotonic() + 1)
        await rest()
        assert seen == [begun + 3]
        rounds.add_after("a", 1)
        await rest()
        clock.move_to(clock.monotonic() + 1)
        await rest()
        assert len(seen) == 2
