"""What a cache makes of the list and the watches of any client."""

import logging
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from mockkube.api.errors import Expired
from mockkube.client.informer import Indexer, Informer, InformerFactory, ObjectChange
from mockkube.client.protocol import DELETE_NOW, Client, Key, Selection, Watch, key_of
from mockkube.runtime.steps import Signal
from mockkube.runtime.virtual_time import VirtualClock

DEFAULT = Selection("default", labels="cached=yes")


async def write(client: Client, name: str, **data: str) -> None:
    metadata = {"name": name, "namespace": "default", "labels": {"cached": "yes"}}
    await client.create("ConfigMap", {"metadata": metadata, "data": data})


async def change(client: Client, name: str, **data: str) -> None:
    await client.patch("ConfigMap", Key("default", name), {"data": data})


async def remove(client: Client, name: str) -> None:
    await client.delete("ConfigMap", Key("default", name), DELETE_NOW)


class Follower:
    """A cache that is stepped by hand."""

    def __init__(self, client: Client, batch_max: int = 0) -> None:
        self.clock = VirtualClock()
        self.cache = Informer(client, "ConfigMap", self.clock, selection=DEFAULT, batch_max=batch_max)
        self.changes: list[tuple[str, str]] = []
        self.cache.add_event_handler(self._note)

    def _note(self, change: ObjectChange) -> None:
        self.changes.append((change.type.value, change.object["metadata"]["name"]))

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            if self.cache.is_ready():
                await self.cache.step()
            elif (moment := self.cache.wake_at()) is not None:
                self.clock.move_to(moment)
            else:
                await self.cache.signal.wait()

    def holds(self, *names: str) -> Callable[[], bool]:
        return lambda: self.cache.has_synced and sorted(key.name for key in self.cache.objects) == sorted(names)


async def test_a_cache_lists_then_follows(client: Client) -> None:
    await write(client, "a")
    follower = Follower(client)
    await follower.until(follower.holds("a"))
    await write(client, "b")
    await remove(client, "a")
    await follower.until(follower.holds("b"))
    assert follower.changes == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    await follower.cache.close()


async def test_a_cache_goes_on_where_an_ended_watch_was(client: Client, reach: Any) -> None:
    follower = Follower(client)
    await follower.until(follower.holds())
    await follower.cache.step()
    await reach.end_watches()
    await write(client, "a")
    await follower.until(follower.holds("a"))
    assert follower.changes == [("ADDED", "a")]
    await follower.cache.close()


async def test_a_cache_comes_back_after_its_server_was_away(client: Client, reach: Any) -> None:
    await write(client, "a")
    follower = Follower(client)
    await follower.until(follower.holds("a"))
    await reach.away()
    await follower.until(lambda: follower.cache.wake_at() is not None)
    await reach.back()
    await write(client, "b")
    await follower.until(follower.holds("a", "b"))
    assert follower.changes == [("ADDED", "a"), ("ADDED", "b")]
    await follower.cache.close()


class Forgetful:
    """A client whose watches have expired as often as it is told."""

    def __init__(self, client: Client) -> None:
        self._client, self.expired = client, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def watch(self, kind: str, selection: Selection, after: str) -> Watch:
        if self.expired:
            self.expired -= 1
            raise Expired("too old")
        return await self._client.watch(kind, selection, after)


async def test_a_cache_lists_anew_when_it_missed_changes(client: Client, reach: Any) -> None:
    await write(client, "a")
    forgetful = Forgetful(client)
    follower = Follower(forgetful)
    await follower.until(follower.holds("a"))
    await follower.cache.step()
    await reach.end_watches()
    await remove(client, "a")
    await write(client, "b")
    forgetful.expired = 1
    await follower.until(follower.holds("b"))
    assert follower.changes == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    await follower.cache.close()


async def test_a_cache_waits_longer_each_time_its_server_is_away(
    client: Client, reach: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    follower = Follower(client)
    await reach.away()
    waits = []
    for _ in range(7):
        await follower.cache.step()
        moment = follower.cache.wake_at()
        assert moment is not None
        waits.append(round(moment - follower.clock.monotonic(), 1))
        follower.clock.move_to(moment)
    assert waits == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]


async def test_who_waits_for_a_cache_is_told_once_it_holds_everything(client: Client) -> None:
    follower, bell = Follower(client), Signal()
    follower.cache.notify_when_synced(bell)
    await follower.until(follower.holds())
    await bell.wait()
    await follower.cache.close()


async def test_a_step_takes_in_no_more_than_it_may(client: Client) -> None:
    follower = Follower(client, batch_max=1)
    await follower.until(follower.holds())
    for name in ("a", "b"):
        await write(client, name)
    await follower.until(lambda: len(follower.changes) == 1)
    assert follower.holds("a")()
    await follower.until(follower.holds("a", "b"))
    await follower.cache.close()


async def test_an_index_follows_its_cache(client: Client) -> None:
    follower = Follower(client)
    await write(client, "a", colour="red")
    await follower.until(follower.holds("a"))
    index = follower.cache.index("colour", lambda obj: [obj["data"]["colour"]])

    def named(colour: str) -> list[str]:
        return [key_of(obj).name for obj in index.get(colour)]

    await write(client, "b", colour="red")
    await follower.until(follower.holds("a", "b"))
    assert (named("red"), named("blue")) == (["a", "b"], [])
    await change(client, "a", colour="blue")
    await follower.until(lambda: named("blue") == ["a"])
    assert named("red") == ["b"]
    await remove(client, "b")
    await follower.until(follower.holds("a"))
    assert named("red") == []
    assert follower.cache.index("colour", lambda obj: []) is index
    assert [key_of(obj).name for obj in follower.cache.list("default")] == ["a"]
    await follower.cache.close()


async def test_who_comes_late_is_told_of_what_is_there(client: Client) -> None:
    follower = Follower(client)
    await write(client, "a")
    await follower.until(follower.holds("a"))
    late: list[tuple[str, bool]] = []
    follower.cache.add_event_handler(lambda change: late.append((change.type.value, change.old is None)))
    assert late == [("ADDED", True)]
    await follower.cache.close()


async def test_a_component_has_one_cache_for_each_selection(client: Client) -> None:
    caches = InformerFactory(client, VirtualClock(), owner="component")
    assert caches.informer_for("ConfigMap") is caches.informer_for("ConfigMap")
    assert caches.informer_for("ConfigMap") is not caches.informer_for("ConfigMap", DEFAULT)
    assert [worker.name for worker in caches.workers] == ["component/cache/ConfigMap"] * 2
    assert not caches.has_synced()
    for worker in caches.workers:
        await worker.step()
    assert caches.has_synced()
    await caches.close()


@pytest.mark.parametrize("seed", range(4))
async def test_a_cache_ends_where_the_server_is_whatever_happens(client: Client, reach: Any, seed: int) -> None:
    random, forgetful, there = Random(seed), Forgetful(client), set[str]()
    follower = Follower(forgetful)
    known: dict[str, Any] = {}

    def follow(change: ObjectChange) -> None:
        name = change.object["metadata"]["name"]
        assert (change.type.value == "ADDED") is (name not in known)
        known[name] = change.object
        if change.type.value == "DELETED":
            del known[name]

    follower.cache.add_event_handler(follow)
    for _ in range(40):
        name = random.choice("abcd")
        match random.randrange(6):
            case 0 | 1 if name not in there:
                await write(client, name)
                there.add(name)
            case 2 if name in there:
                await change(client, name, value=str(random.random()))
            case 3 if name in there:
                await remove(client, name)
                there.remove(name)
            case 4:
                await reach.end_watches()
                forgetful.expired = random.randrange(2)
            case _:
                if follower.cache.is_ready():
                    await follower.cache.step()
    listed = {item["metadata"]["name"]: item for item in (await client.list("ConfigMap", DEFAULT)).items}
    await follower.until(lambda: follower.cache.has_synced and known == listed)
    assert {key.name: obj for key, obj in follower.cache.objects.items()} == listed
    await follower.cache.close()


def test_an_index_of_one_object_under_many_values_is_as_fast_as_of_few() -> None:
    def seconds(count: int) -> float:
        index = Indexer(lambda obj: obj["values"])
        old = {"values": [str(number) for number in range(count)]}
        new = {"values": [str(number) for number in range(1, count + 1)]}
        index.replace(Key("", "x"), None, old)
        began = time.process_time()
        index.replace(Key("", "x"), old, new)
        assert index.get("0") == []
        assert index.get(str(count)) == [new]
        return time.process_time() - began

    assert seconds(50_000) < 100 * max(seconds(5_000), 0.001)
