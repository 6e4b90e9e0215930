import asyncio
import re
from datetime import timedelta

from mockkube_storage.errors import Conflict
from mockkube_storage.model import EventType

from mockkube.api.times import render_time
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.post_start_hooks.event_expiry import CHECK_SECONDS, TTL_SECONDS, EventExpiry
from mockkube.apiserver.registry import creation
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope
from mockkube.runtime.virtual_time import VirtualClock


def events(registry):
    return sorted(record.name for record in registry.find_storage_resource("", "events").collection.objects.values())


async def write(registry, name):
    home, call = registry.find_storage_resource("", "events"), RequestScope(User("somebody"), "default")
    obj = {"metadata": {"name": name}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}
    return await creation.create(home, call, home.decode(obj, call, "Ignore"), WriteOptions())


class Ticks:
    """Stands in for the clock: checks are made by hand."""

    def __init__(self, registry):
        self.clock = registry.dependencies.clock = VirtualClock()
        self.expiry = EventExpiry(registry)
        self.registry = registry

    async def start(self):
        await self.expiry._read_initial_expiries()

    async def let_pass(self, seconds):
        """Let so much time pass, with a check every five minutes."""
        services = self.registry.dependencies
        for _ in range(int(seconds / CHECK_SECONDS)):
            self.expiry._revision_times.append((self.clock.monotonic(), services.store.revision))
            self.clock.move_to(self.clock.monotonic() + CHECK_SECONDS)
            await self.expiry.delete_expired()
            await services.watch_cache.wait_until_fresh()


async def test_an_event_is_deleted_an_hour_after_it_was_written(registry):
    ticks = Ticks(registry)
    await ticks.start()
    await write(registry, "first")
    await ticks.let_pass(TTL_SECONDS / 2)
    await write(registry, "second")
    await ticks.let_pass(TTL_SECONDS / 2 - CHECK_SECONDS)
    assert events(registry) == ["first", "second"]
    await ticks.let_pass(CHECK_SECONDS)
    assert events(registry) == ["second"]
    await ticks.let_pass(TTL_SECONDS / 2)
    assert events(registry) == []


async def test_watchers_keep_up_while_thousands_of_events_expire(registry):
    ticks, store = Ticks(registry), registry.dependencies.store
    await ticks.start()
    record = await write(registry, "first")
    value = (await store.get(record.key)).value
    for number in range(1000):
        await store.create(f"{record.key}-{number}", value)
    await registry.dependencies.watch_cache.wait_until_fresh()
    async with store.watch("", after=store.revision, events_max=300) as watch:

        async def read_all():
            return [event.entry.key async for event in watch.events() if event.type is EventType.DELETE]

        reading = asyncio.ensure_future(read_all())
        await ticks.let_pass(TTL_SECONDS + CHECK_SECONDS)
        await asyncio.sleep(0)
        await watch.aclose()
        assert len(await reading) == 1001
    assert events(registry) == []


async def test_an_event_that_is_written_again_stays_for_another_hour(registry):
    ticks = Ticks(registry)
    await ticks.start()
    record = await write(registry, "counted")
    await ticks.let_pass(TTL_SECONDS / 2)
    store = registry.dependencies.store
    await store.update(record.key, (await store.get(record.key)).value, expected=record.revision)
    await ticks.let_pass(TTL_SECONDS - CHECK_SECONDS)
    assert events(registry) == ["counted"]
    await ticks.let_pass(CHECK_SECONDS)
    assert events(registry) == []


async def test_events_of_an_earlier_run_expire_by_the_time_they_state(registry):
    clock = registry.dependencies.clock = VirtualClock()
    store = registry.dependencies.store
    for name, age in (("old", TTL_SECONDS * 2), ("young", TTL_SECONDS / 2)):
        record = await write(registry, name)
        written = f'"{render_time(clock.now() - timedelta(seconds=age))}"'.encode()
        value = re.sub(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"', written, (await store.get(record.key)).value)
        await store.update(record.key, value, expected=record.revision)
    broken = await write(registry, "broken")
    await store.update(broken.key, b"[]", expected=broken.revision)
    await registry.dependencies.watch_cache.wait_until_fresh()
    ticks = Ticks(registry)
    await ticks.start()
    await ticks.let_pass(CHECK_SECONDS)
    assert events(registry) == ["broken", "young"]
    await ticks.let_pass(TTL_SECONDS / 2)
    assert events(registry) == ["broken"]
    await ticks.let_pass(TTL_SECONDS / 2)
    assert events(registry) == []


async def test_an_event_that_is_written_meanwhile_is_left_to_who_wrote_it(registry, monkeypatch):
    ticks = Ticks(registry)
    record = await write(registry, "raced")

    async def delete(key, *, expected):
        raise Conflict(key, None)

    monkeypatch.setattr(registry.dependencies.store, "delete", delete)
    await ticks.expiry._delete(record)
    assert events(registry) == ["raced"]
