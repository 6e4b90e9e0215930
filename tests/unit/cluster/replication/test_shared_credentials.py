"""The first process of a control plane writes its credentials to the store; the others take them over."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.store import Store

from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.replication.shared_credentials import KEY, ClusterKey, SharedCredentials
from mockkube.cluster.state.certificates import Authorities
from mockkube.runtime.random import Random

SECRET = ClusterKey("0123456789abcdef")


def credentials(name: str) -> SharedCredentials:
    return SharedCredentials(Authorities(f"{name} ca", f"{name} key", "front", "front key"), f"{name} token", "sign")


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    async with MemoryStore() as store:
        yield store


async def test_the_first_keeps_its_own_and_the_others_take_them_over(store: Store) -> None:
    first = await credentials("first").share(store, "", SECRET)
    assert first == credentials("first")
    assert await credentials("second").share(store, "", SECRET) == first


async def test_of_three_at_once_one_is_the_first(store: Store) -> None:
    shared = await asyncio.gather(*[credentials(name).share(store, "", SECRET) for name in "abc"])
    assert len({one.token for one in shared}) == 1
    assert len((await store.list("/")).entries) == 1


async def test_nothing_secret_is_readable_in_the_store(store: Store) -> None:
    await credentials("first").share(store, "blue", SECRET)
    entry = await store.get(KEY)
    assert entry is not None
    assert b"first" not in entry.value
    assert json.loads(entry.value)["clusterId"] == "blue"


async def test_another_key_is_refused_and_changes_nothing(store: Store) -> None:
    await credentials("first").share(store, "blue", SECRET)
    before = await store.list("/")
    with pytest.raises(StartError, match="control plane 'blue' in the database are encrypted with another key: give"):
        await credentials("second").share(store, "", ClusterKey("fedcba9876543210"))
    assert (await store.list("/")).entries == before.entries


async def test_another_control_plane_is_refused(store: Store) -> None:
    await credentials("first").share(store, "blue", SECRET)
    with pytest.raises(StartError, match="--cluster-id: the database is that of control plane 'blue', not 'green'"):
        await credentials("second").share(store, "green", SECRET)


@pytest.mark.parametrize("value", [b"", b"{}", b"[]", b'{"format": 1, "clusterId": "a", "sealed": {}}'])
async def test_a_damaged_record_is_refused(store: Store, value: bytes) -> None:
    await store.create(KEY, value)
    with pytest.raises(StartError, match="the credentials in the database are damaged"):
        await credentials("second").share(store, "", SECRET)


async def test_a_record_of_a_newer_version_is_refused(store: Store) -> None:
    await store.create(KEY, b'{"format": 2, "clusterId": "a"}')
    with pytest.raises(StartError, match="those of a newer mockkube"):
        await credentials("second").share(store, "", SECRET)


def test_without_a_key_one_is_created_for_all_clusters_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "state" / "cluster.key"
    first = ClusterKey.load_or_create(path, Random())
    assert ClusterKey.load_or_create(path, Random()) == first
    assert len(first.secret) == 64
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_key_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(StartError, match=r"state directory .*state: .*make it writable"):
        ClusterKey.load_or_create(tmp_path / "state" / "cluster.key", Random())
