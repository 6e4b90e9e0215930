"""A cluster on a real etcd: keys as people expect them, and restarts."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mockkube_storage.engines.catalogue import open_store

from mockkube.cluster.state.cluster_store import start_cluster_store
from mockkube.runtime.clock import RealClock
from tests.contract.store.etcd_cluster import Proxy, run_etcd, skip_without_etcd

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
Start = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.mark.parametrize(
    ("options", "directory"),
    [
        pytest.param("", "/registry/core", id="by group"),
        pytest.param("?prefix=/other", "/other/core", id="another prefix"),
        pytest.param("?layout=kubernetes", "/registry", id="as kubernetes"),
    ],
)
async def test_a_cluster_keeps_its_objects_in_etcd(start: Start, tmp_path: Path, options: str, directory: str) -> None:
    skip_without_etcd()
    async with run_etcd(tmp_path / "etcd") as etcd:
        url = f"{etcd.url}{options}"
        async with start(db=url) as control:
            created = await control.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
        async with open_store(etcd.url) as raw:
            (entry,) = (await raw.list(f"{directory}/configmaps/default/a")).entries
            assert str(entry.revision) == created["metadata"]["resourceVersion"]
        async with start(db=url) as control:
            assert await control.get(f"{CONFIG_MAPS}/a") == created
            first = await control.get(f"{CONFIG_MAPS}?limit=1")
            assert [item["metadata"]["name"] for item in first["items"]] == ["a"]
            await control.create(CONFIG_MAPS, {"metadata": {"name": "b"}})
            # The next page is of the revision of the first one, which only etcd still has.
            rest = await control.get(f"{CONFIG_MAPS}?continue={first['metadata']['continue']}")
            assert [item["metadata"]["name"] for item in rest["items"]] == ["kube-root-ca.crt"]
            assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_a_start_waits_until_etcd_answers(tmp_path: Path) -> None:
    skip_without_etcd()
    async with run_etcd(tmp_path / "etcd") as etcd, AsyncExitStack() as stack:
        proxy = Proxy(int(etcd.url.rpartition(":")[2]))
        proxy.cut_off = lambda source_port: True

        class Clock(RealClock):
            async def sleep(self, seconds: float) -> None:
                proxy.cut_off = lambda source_port: False

        port = await proxy.start()
        stack.push_async_callback(proxy.close)
        store = await start_cluster_store(f"etcd://127.0.0.1:{port}", stack, Clock())
        assert await store.current_revision() > 0
