"""What every client promises about watches, and what a cache makes of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mockkube.api.errors import Expired, Unavailable
from mockkube.client.protocol import EVERYTHING, Client, Key, Selection, Watch, WatchEnded, WatchEvent, WatchEventType

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
    assert not watch.is_ready()
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
    with pytest.raises(WatchEnded):
        await seen(watch, 1)


async def test_an_older_component_watches_what_it_knows(client: Client, older: Client, seen: Seen) -> None:
    after = (await older.list("Pod")).resource_version
    watch = await older.watch("Pod", EVERYTHING, after)
    spec = {"containers": [{"name": "c", "image": "i"}], "hostnameOverride": "other"}
    await client.create("Pod", {"metadata": {"name": "p", "namespace": "default"}, "spec": spec})
    [event] = await seen(watch, 1)
    assert (event.type, "hostnameOverride" in event.object["spec"]) == (WatchEventType.ADDED, False)
    await watch.close()


async def test_a_server_that_is_away_is_unavailable(client: Client, reach: Any) -> None:
    await client.list("ConfigMap")
    await reach.away()
    with pytest.raises(Unavailable):
        await client.list("ConfigMap")


async def test_a_large_object_arrives_whole(client: Client, seen: Seen) -> None:
    after = (await client.list("ConfigMap")).resource_version
    watch = await client.watch("ConfigMap", Selection("default"), after)
    await write(client, "a", large="x" * 900_000)
    [event] = await seen(watch, 1)
    assert len(event.object["data"]["large"]) == 900_000
    await watch.close()
