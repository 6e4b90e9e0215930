"""What a watch guarantees: ordered, unique, reliable, resumable, with bookmarks, and honest about what it has lost."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")


def config(name: str, **labels: str) -> Object:
    return {"metadata": {"name": name, "labels": labels}}


def version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


@pytest_asyncio.fixture(loop_scope="module")
async def secrets(api: "Api", lab: str) -> str:
    """The path of an empty collection (a namespace has a ConfigMap from its beginning, but no Secret)."""
    return f"{lab}/secrets"


async def now(api: "Api", path: str) -> str:
    """The query of a watch that sees what comes after this moment."""
    return f"resourceVersion={version(await api.get(path))}"


async def test_a_change_of_each_kind_is_seen_as_it_was(api: "Api", secrets: str) -> None:
    async with api.watch(secrets, await now(api, secrets)) as watch:
        created = await api.create(secrets, config("a"))
        patched = await api.patch(f"{secrets}/a", {"metadata": {"labels": {"k": "v"}}})
        await api.delete(f"{secrets}/a")
        assert await watch.next() == ("ADDED", created)
        assert await watch.next() == ("MODIFIED", patched)
        kind, last = await watch.next()
    assert kind == "DELETED"
    assert version(last) > version(patched)
    assert last["metadata"]["labels"] == {"k": "v"}


async def test_ordered_events_come_in_the_order_of_the_writes(api: "Api", secrets: str) -> None:
    async with api.watch(secrets, await now(api, secrets)) as watch:
        async with asyncio.TaskGroup() as group:
            for index in range(50):
                group.create_task(api.create(secrets, config(f"s{index}")))
        versions = [version((await watch.next())[1]) for _ in range(50)]
    assert versions == sorted(versions)


async def test_unique_and_reliable_every_write_is_seen_once(api: "Api", secrets: str) -> None:
    start = await now(api, secrets)
    async with api.watch(secrets, start) as early:
        async with asyncio.TaskGroup() as group:
            for index in range(50):
                group.create_task(api.create(secrets, config(f"s{index}")))
        live = await early.take(50)
        async with api.watch(secrets, start) as late:
            replayed = await late.take(50)
        await api.create(secrets, config("last"))
        assert await early.take(1) == [("ADDED", "last")]
    assert sorted(live) == sorted([("ADDED", f"s{index}") for index in range(50)])
    assert replayed == live


async def test_resumable_a_watch_goes_on_after_the_last_version_seen(api: "Api", secrets: str) -> None:
    start = await now(api, secrets)
    for name in "abcd":
        await api.create(secrets, config(name))
    async with api.watch(secrets, start) as watch:
        await watch.next()
        _, second = await watch.next()
    async with api.watch(secrets, f"resourceVersion={version(second)}") as watch:
        assert await watch.take(2) == [("ADDED", "c"), ("ADDED", "d")]


async def test_a_list_and_the_watch_after_it_have_no_gap(api: "Api", secrets: str) -> None:
    stop = asyncio.Event()

    async def write() -> int:
        index = 0
        while not stop.is_set():
            await api.create(secrets, config(f"s{index:03}"))
            index += 1
        return index

    async with asyncio.TaskGroup() as group:
        writing = group.create_task(write())
        while len(listed := (await api.get(secrets))["items"]) < 20:
            pass
        async with api.watch(secrets, f"resourceVersion={max(version(item) for item in listed)}") as watch:
            seen = [(await watch.next())[1] for _ in range(20)]
            stop.set()
            total = await writing
    known = [item["metadata"]["name"] for item in [*listed, *seen]]
    assert known == [f"s{index:03}" for index in range(len(known))]
    assert total >= len(known)


@pytest.mark.parametrize("query", ["", "resourceVersion=0"], ids=["no version", "any version"])
async def test_without_a_version_a_watch_begins_with_what_is_there(api: "Api", secrets: str, query: str) -> None:
    await api.create(secrets, config("a"))
    await api.create(secrets, config("b"))
    async with api.watch(secrets, query) as watch:
        await api.create(secrets, config("c"))
        assert await watch.take(3) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


async def test_initial_events_end_with_a_bookmark_that_says_so(api: "Api", secrets: str) -> None:
    await api.create(secrets, config("a"))
    last = await api.create(secrets, config("b"))
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with api.watch(secrets, query) as watch:
        assert await watch.take(2) == [("ADDED", "a"), ("ADDED", "b")]
        kind, bookmark = await watch.next()
        created = await api.create(secrets, config("c"))
        assert await watch.next() == ("ADDED", created)
    assert (kind, bookmark["kind"], bookmark["apiVersion"]) == ("BOOKMARK", "Secret", "v1")
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert version(last) <= version(bookmark) < version(created)


async def test_a_watch_tells_how_far_it_has_come_shortly_before_its_end(api: "Api", secrets: str) -> None:
    query = f"{await now(api, secrets)}&allowWatchBookmarks=true&timeoutSeconds=3&labelSelector=none"
    async with api.watch(secrets, query) as watch:
        created = await api.create(secrets, config("a"))
        kind, bookmark = await watch.next()
    assert kind == "BOOKMARK"
    assert version(bookmark) >= version(created)


async def test_a_watch_resumes_from_a_bookmark(api: "Api", secrets: str) -> None:
    await api.create(secrets, config("a"))
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with api.watch(secrets, query) as watch:
        await watch.next()
        _, bookmark = await watch.next()
    await api.create(secrets, config("b"))
    async with api.watch(secrets, f"resourceVersion={version(bookmark)}") as watch:
        assert await watch.take(1) == [("ADDED", "b")]


async def test_initial_events_may_be_left_out(api: "Api", secrets: str) -> None:
    await api.create(secrets, config("a"))
    async with api.watch(secrets, "sendInitialEvents=false&resourceVersionMatch=NotOlderThan") as watch:
        await api.create(secrets, config("b"))
        assert await watch.take(1) == [("ADDED", "b")]


async def test_what_enters_or_leaves_a_selection_is_added_or_deleted(api: "Api", secrets: str) -> None:
    async with api.watch(secrets, f"{await now(api, secrets)}&labelSelector=side%3Dleft") as watch:
        await api.create(secrets, config("a", side="right"))
        for side in ("left", "left", "right", "left"):
            await api.patch(f"{secrets}/a", {"metadata": {"labels": {"side": side, "again": side}}})
        await api.patch(f"{secrets}/a", {"metadata": {"labels": {"more": "1"}}})
        await api.delete(f"{secrets}/a")
        events = [await watch.next() for _ in range(5)]
    kinds = [kind for kind, _ in events]
    assert kinds == ["ADDED", "DELETED", "ADDED", "MODIFIED", "DELETED"]
    left = events[1][1]
    assert left["metadata"]["labels"]["side"] == "left"  # the last state that was selected
    assert version(events[0][1]) < version(left) < version(events[2][1])  # at the revision of the change


async def test_a_field_selection_follows_its_field(api: "Api", lab: str) -> None:
    spec = {"containers": [{"name": "main", "image": "image:1"}]}
    async with api.watch(f"{lab}/pods", f"{await now(api, f'{lab}/pods')}&fieldSelector=spec.nodeName%3Dn1") as watch:
        await api.create(f"{lab}/pods", {"metadata": {"name": "a"}, "spec": spec})
        binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}}
        assert (await api.ask("POST", f"{lab}/pods/a/binding", binding)).status == 201
        assert await watch.take(1) == [("ADDED", "a")]


async def test_a_watch_of_one_name_sees_that_object_alone(api: "Api", secrets: str) -> None:
    async with api.watch(secrets, f"{await now(api, secrets)}&fieldSelector=metadata.name%3Db") as watch:
        for name in "abc":
            await api.create(secrets, config(name))
        await api.delete(f"{secrets}/b")
        assert await watch.take(2) == [("ADDED", "b"), ("DELETED", "b")]


async def test_a_watch_of_all_namespaces_sees_each(api: "Api", secrets: str) -> None:
    async with api.watch("/api/v1/secrets", await now(api, "/api/v1/secrets")) as watch:
        await api.create(secrets, config("a"))
        other = await api.create("/api/v1/namespaces/default/secrets", {"metadata": {"generateName": "b-"}})
        assert await watch.take(2) == [("ADDED", "a"), ("ADDED", other["metadata"]["name"])]


async def test_a_watch_of_a_namespace_sees_no_other(api: "Api", secrets: str) -> None:
    async with api.watch(secrets, await now(api, secrets)) as watch:
        await api.create("/api/v1/namespaces/default/secrets", {"metadata": {"generateName": "b-"}})
        await api.create(secrets, config("a"))
        assert await watch.take(1) == [("ADDED", "a")]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/api/v1/watch/namespaces/{}/secrets", id="a collection"),
        pytest.param("/api/v1/watch/namespaces/{}/secrets/a", id="one object"),
    ],
)
async def test_the_paths_of_old_watches_still_work(api: "Api", secrets: str, path: str) -> None:
    await api.create(secrets, config("a"))
    async with api.watch(path.format(secrets.split("/")[-2])) as watch:
        assert await watch.take(1) == [("ADDED", "a")]


async def test_a_watch_ends_when_its_time_is_over(api: "Api", secrets: str) -> None:
    async with api.watch(secrets, "timeoutSeconds=1") as watch:
        assert await watch.ended()


async def test_the_last_finalizer_that_goes_is_a_deletion(api: "Api", secrets: str) -> None:
    held = {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}
    async with api.watch(secrets, await now(api, secrets)) as watch:
        await api.create(secrets, held)
        await api.delete(f"{secrets}/a")
        await api.patch(f"{secrets}/a", {"metadata": {"finalizers": None}})
        assert await watch.take(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_watch_in_the_form_of_a_table_describes_its_columns_once(api: "Api", secrets: str) -> None:
    await api.create(secrets, config("a"))
    await api.create(secrets, config("b"))
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    async with api.session.get(f"{api.url}{secrets}?watch=1&timeoutSeconds=1", headers=accept) as response:
        tables = [orjson.loads(line)["object"] for line in (await response.read()).splitlines()]
    assert [table["kind"] for table in tables] == ["Table", "Table"]
    assert [bool(table["columnDefinitions"]) for table in tables] == [True, False]
    assert [table["rows"][0]["cells"][0] for table in tables] == ["a", "b"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        pytest.param("sendInitialEvents=true", 422, id="initial events of no age"),
        pytest.param("resourceVersionMatch=NotOlderThan", 422, id="a match without initial events"),
        pytest.param("labelSelector=%3D%3D", 400, id="no selector"),
        pytest.param(
            "resourceVersion=1000000000&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", 504, id="future"
        ),
    ],
)
async def test_a_watch_that_makes_no_sense_is_refused(api: "Api", secrets: str, query: str, status: int) -> None:
    answer = await api.ask("GET", f"{secrets}?watch=true&{query}")
    assert answer.status == status, answer.body


@pytest_asyncio.fixture(loop_scope="module")
async def restarted(api: "Api", tmp_path: Path) -> AsyncIterator[tuple["Api", int]]:
    """A server that found three ConfigMaps (a, b, c) in its store, and the revision before the first of them."""
    database, path = f"sqlite:///{tmp_path}/cluster.db", "/api/v1/namespaces/default/secrets"
    async with api.of_new_cluster(tmp_path / "state", db=database) as before:
        first = version(await before.get(path))
        for name in "abc":
            await before.create(path, config(name))
    async with api.of_new_cluster(tmp_path / "state", db=database) as after:
        yield after, first


SECRETS = "/api/v1/namespaces/default/secrets"


async def test_resumable_across_a_restart_of_the_server(restarted: tuple["Api", int]) -> None:
    api, before = restarted
    async with api.watch(SECRETS, f"resourceVersion={before}") as watch:
        await api.create(SECRETS, config("d"))
        assert await watch.take(4) == [("ADDED", name) for name in "abcd"]


async def test_after_a_restart_a_quiet_collection_is_watched_from_before_it(restarted: tuple["Api", int]) -> None:
    api, before = restarted
    async with asyncio.timeout(2), api.watch("/api/v1/pods", f"resourceVersion={before}&timeoutSeconds=1") as watch:
        assert await watch.ended()


async def test_after_compaction_a_watch_from_before_it_has_expired(restarted: tuple["Api", int]) -> None:
    api, before = restarted
    await api.store.compact(await api.store.current_revision())
    answer = await api.ask("GET", f"{SECRETS}?watch=true&resourceVersion={before}")
    assert (answer.status, answer.json["reason"]) == (410, "Expired")
    assert answer.message.startswith(f"too old resource version: {before} (")
