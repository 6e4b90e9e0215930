"""What every client promises about watches, and what a cache makes of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mockkube.api.errors import Expired, Unavailable
from mockkube.client.cache import Change, ListWatch
from mockkube.client.protocol import EVERYTHING, NOW, Client, Ended, EventType, Key, Selection, Watch, WatchEvent
from mockkube.runtime.virtual import VirtualClock

Seen = Callable[[Watch, int], Awaitable[list[WatchEvent]]]


async def write(client: Client, name: str, **data: str) -> str:
    """Create a config map; return its resourceVersion."""
    made = await client.create("ConfigMap", {"metadata": {"name": name, "namespace": "default"}, "data": data})
    return str(made["metadata"]["resourceVersion"])


async def change(client: Client, name: str, **data: str) -> str:
    patched = await client.patch("ConfigMap", Key("default", name), {"data": data})
    return str(patched["metadata"]["resourceVersion"])


def told(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type.value, event.object["metadata"]["name"]) for event in events]


async def test_a_watch_tells_each_change_once_in_order(client: Client, seen: Seen) -> None:
    listed = await client.list("ConfigMap")
    watch = await client.watch("ConfigMap", Selection("default"), listed.resource_version)
    revisions = [await write(client, "a"), await write(client, "b"), await change(client, "a", x="1")]
    await client.delete("ConfigMap", Key("default", "b"))
    events = await seen(watch, 4)
    assert told(events) == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
    versions = [event.object["metadata"]["resourceVersion"] for event in events]
    assert versions[:3] == revisions
    assert int(versions[3]) > int(versions[2])
    assert not watch.ready()
    await watch.close()


async def test_a_watch_resumes_after_the_last_revision_seen(client: Client, seen: Seen) -> None:
    first = await write(client, "a")
    await write(client, "b")
    await write(client, "c")
    watch = await client.watch("ConfigMap", Selection("default"), first)
    assert told(await seen(watch, 2)) == [("ADDED", "b"), ("ADDED", "c")]
    await watch.close()


async def test_a_watch_is_taken_in_parts(client: Client, seen: Seen) -> None:
    after = await write(client, "a")
    for name in ("b", "c", "d"):
        await write(client, name)
    watch = await client.watch("ConfigMap", Selection("default"), after)
    assert told(await seen(watch, 1)) == [("ADDED", "b")]
    assert told(await seen(watch, 2)) == [("ADDED", "c"), ("ADDED", "d")]
    await watch.close()


async def test_what_enters_and_leaves_a_selection_is_added_and_deleted(client: Client, seen: Seen) -> None:
    after = await write(client, "a")
    watch = await client.watch("ConfigMap", Selection("default", labels="in=yes"), after)
    key = Key("default", "a")
    await client.patch("ConfigMap", key, {"metadata": {"labels": {"in": "yes"}}})
    await client.patch("ConfigMap", key, {"metadata": {"labels": {"in": "no"}}})
    assert told(await seen(watch, 2)) == [("ADDED", "a"), ("DELETED", "a")]
    await watch.close()


async def test_a_watch_from_too_long_ago_has_expired(client: Client, seen: Seen) -> None:
    with pytest.raises(Expired):
        await seen(await client.watch("ConfigMap", EVERYTHING, "2"), 1)


async def test_a_watch_that_ends_gives_first_what_it_has(client: Client, reach: Any, seen: Seen) -> None:
    after = await write(client, "a")
    watch = await client.watch("ConfigMap", Selection("default"), after)
    await write(client, "b")
    event = await seen(watch, 1)
    await reach.end_watches()
    assert told(event) == [("ADDED", "b")]
    with pytest.raises(Ended):
        await seen(watch, 1)


async def test_an_older_component_watches_what_it_knows(client: Client, older: Client, seen: Seen) -> None:
    after = (await older.list("Pod")).resource_version
    watch = await older.watch("Pod", EVERYTHING, after)
    spec = {"containers": [{"name": "c", "image": "i"}], "hostnameOverride": "other"}
    await client.create("Pod", {"metadata": {"name": "p", "namespace": "default"}, "spec": spec})
    [event] = await seen(watch, 1)
    assert (event.type, "hostnameOverride" in event.object["spec"]) == (EventType.ADDED, False)
    await watch.close()


async def test_a_server_that_is_away_is_unavailable(client: Client, reach: Any) -> None:
    await client.list("ConfigMap")
    await reach.away()
    with pytest.raises(Unavailable):
        await client.list("ConfigMap")


class Follower:
    """A cache that is stepped by hand."""

    def __init__(self, client: Client) -> None:
        self.clock = VirtualClock()
        self.cache = ListWatch(client, "ConfigMap", self.clock, selection=Selection("default"))
        self.changes: list[tuple[str, str]] = []
        self.cache.subscribe(self._note)

    def _note(self, change: Change) -> None:
        self.changes.append((change.type.value, change.object["metadata"]["name"]))

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            if self.cache.ready():
                await self.cache.step()
            elif (moment := self.cache.wake_at()) is not None:
                self.clock.move_to(moment)
            else:
                await self.cache.bell.wait()

    def holds(self, *names: str) -> Callable[[], bool]:
        return lambda: self.cache.synced and sorted(key.name for key in self.cache.objects) == sorted(names)


async def test_a_cache_lists_then_follows(client: Client) -> None:
    await write(client, "a")
    follower = Follower(client)
    await follower.until(follower.holds("a"))
    await write(client, "b")
    await client.delete("ConfigMap", Key("default", "a"), NOW)
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
    await client.delete("ConfigMap", Key("default", "a"), NOW)
    await write(client, "b")
    forgetful.expired = 1
    await follower.until(follower.holds("b"))
    assert follower.changes == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    await follower.cache.close()
