"""Follower of a store: it begins with the oldest revision, and goes on after gaps."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mockkube_storage.errors import Compacted
from mockkube_storage.store import Store
from mockkube_storage.watch import Watch

from mockkube.cluster.cluster import Cluster
from mockkube.cluster.temporary_cluster import make_temporary_configuration, open_temporary_cluster
from mockkube.runtime.clock import RealClock
from mockkube.ui.cluster_history import ClusterHistory, RowKey
from mockkube.ui.object_rows import make_node_row
from mockkube.ui.store_follower import RowSource, StoreFollower, find_time

NODE = RowKey("nodes", "", "node-1")


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    settings = {"without": ["scheduler", "controllers", "kubelets"], "nodes": 1, "tls": False}
    async with open_temporary_cluster(make_temporary_configuration(settings)) as cluster, cluster:
        yield cluster


def get_store(cluster: Cluster) -> Store:
    return cluster.control_plane.api_server_dependencies.store


async def set_taint(cluster: Cluster, key: str) -> None:
    """Write the node to the store as an API server would."""
    store = get_store(cluster)
    entry = await store.get("/registry/core/nodes/node-1")
    assert entry is not None
    tag, _, body = entry.value.partition(b"\n")
    node = json.loads(body)
    node["spec"]["taints"] = [{"key": key, "effect": "NoSchedule"}]
    await store.update(entry.key, tag + b"\n" + json.dumps(node).encode(), expected=entry.revision)


@asynccontextmanager
async def follow(cluster: Cluster, store: Any = None) -> AsyncIterator[ClusterHistory]:
    [server] = cluster.control_plane.component_controller.get_api_servers()
    source = RowSource("nodes", lambda: server.registry.resources["", "v1", "nodes"], make_node_row)
    history = ClusterHistory()
    follower = StoreFollower(store or get_store(cluster), [source], history, RealClock(), RealClock())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(follower.run())
        yield history
        task.cancel()


async def wait_for_taint(history: ClusterHistory, key: str) -> None:
    number = 0
    while history.current.get(NODE, [None, None, []])[2] != [[key, "", "NoSchedule"]]:
        await history.wait(number)
        number = history.next_number


async def test_it_begins_with_the_past_of_the_store(cluster: Cluster) -> None:
    for key in "ab":
        await set_taint(cluster, key)
    async with follow(cluster) as history:
        await wait_for_taint(history, "b")
        taints = [one.row[2] for one in history.changes if one.row is not None]
    assert [["a", "", "NoSchedule"]] in taints
    assert history.base == {}


async def test_what_is_compacted_is_not_part_of_the_past(cluster: Cluster) -> None:
    await set_taint(cluster, "a")
    await get_store(cluster).compact(get_store(cluster).revision)
    await set_taint(cluster, "b")
    async with follow(cluster) as history:
        await wait_for_taint(history, "b")
    assert history.base[NODE][2] == [["a", "", "NoSchedule"]]
    assert len(history.changes) == 1
    assert history.start > 0


class CompactedOnce:
    """Store whose first watch finds that what it asks for has just been compacted."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_first = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def watch(self, prefix: str, *, after: int) -> Watch:
        if self._is_first:
            self._is_first = False
            raise Compacted(after, self._store.revision)
        return self._store.watch(prefix, after=after)


async def test_it_lists_again_after_missed_changes_were_compacted(cluster: Cluster) -> None:
    for key in "ab":
        await set_taint(cluster, key)
    async with follow(cluster, CompactedOnce(get_store(cluster))) as history:
        await wait_for_taint(history, "b")
        await set_taint(cluster, "c")
        await wait_for_taint(history, "c")
    taints = [one.row[2][0][0] for one in history.changes if one.row is not None]
    assert taints == ["b", "c"]


def test_an_object_was_written_when_its_last_manager_wrote_it() -> None:
    early, late = "2030-01-01T00:00:01Z", "2030-01-01T00:00:02Z"
    metadata = {"name": "p", "creationTimestamp": early, "deletionTimestamp": "2031-01-01T00:00:00Z"}
    assert find_time({"metadata": metadata}) == 1893456001000
    assert (
        find_time({"metadata": {**metadata, "managedFields": [{"time": late}, {"time": early}, {}]}}) == 1893456002000
    )
    assert find_time({"metadata": {"name": "p"}}) == 0
