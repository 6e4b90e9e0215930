"""A cluster on a real etcd: keys as people expect them, and restarts."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from mockkube_storage.engines.catalogue import open_store

from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.cluster.state.cluster_store import start_cluster_store
from mockkube.features.capabilities import Capabilities
from mockkube.proposals.component_extensions import make_schema
from mockkube.proposals.loading import default_trains
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


PROTOBUF = ProtobufSerializer(make_schema(Capabilities().version, default_trains()))
METADATA = {"name": "a", "namespace": "shop", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
POD_SPEC = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]}
DEPLOYMENT_SPEC = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {"spec": POD_SPEC}}
NAMES = {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"}
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
CRD_SPEC = {
    "group": "example.com",
    "names": NAMES,
    "scope": "Namespaced",
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": SCHEMA}],
}
CRD_STATUS = {
    "acceptedNames": NAMES,
    "conditions": [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}],
    "storedVersions": ["v1"],
}
CORE, APPS, EXTENSIONS = "/api/v1", "/apis/apps/v1", "/apis/apiextensions.k8s.io/v1"
WIDGET = "/apis/example.com/v1/namespaces/shop/widgets/a"


def stored(key: str, path: str, version: str, kind: str, **content: Any) -> Any:
    """Row of the key below the prefix, the path in the API, and the object."""
    return (key, path, {"apiVersion": version, "kind": kind, **content})


PROTOBUF_ROWS = [
    stored("namespaces/shop", f"{CORE}/namespaces/shop", "v1", "Namespace", metadata={"name": "shop", "uid": "2"}),
    stored("minions/a", f"{CORE}/nodes/a", "v1", "Node", metadata={"name": "a"}, status={"capacity": {"cpu": "4"}}),
    stored("pods/shop/a", f"{CORE}/namespaces/shop/pods/a", "v1", "Pod", metadata=METADATA, spec=POD_SPEC),
    stored(
        "configmaps/shop/a",
        f"{CORE}/namespaces/shop/configmaps/a",
        "v1",
        "ConfigMap",
        metadata=METADATA,
        data={"k": "v"},
        binaryData={"b": "AAEC"},
    ),
    stored(
        "services/specs/shop/a",
        f"{CORE}/namespaces/shop/services/a",
        "v1",
        "Service",
        metadata=METADATA,
        spec={"ports": [{"port": 80}]},
    ),
    stored(
        "deployments/shop/a",
        f"{APPS}/namespaces/shop/deployments/a",
        "apps/v1",
        "Deployment",
        metadata=METADATA,
        spec=DEPLOYMENT_SPEC,
    ),
]
JSON_ROWS = [
    stored(
        "apiextensions.k8s.io/customresourcedefinitions/widgets.example.com",
        f"{EXTENSIONS}/customresourcedefinitions/widgets.example.com",
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        metadata={"name": "widgets.example.com", "uid": "3"},
        spec=CRD_SPEC,
        status=CRD_STATUS,
    ),
    stored("example.com/widgets/shop/a", WIDGET, "example.com/v1", "Widget", metadata=METADATA, spec={"size": 3}),
]


async def test_what_a_real_api_server_stored_in_etcd_is_served_beside_what_is_created(
    start: Start, tmp_path: Path
) -> None:
    skip_without_etcd()
    async with run_etcd(tmp_path / "etcd") as etcd, open_store(etcd.url) as raw:
        revisions = {}
        for key, path, obj in PROTOBUF_ROWS:
            revisions[path] = (await raw.create(f"/registry/{key}", PROTOBUF.encode(obj))).revision
        for key, path, obj in JSON_ROWS:
            revisions[path] = (await raw.create(f"/registry/{key}", orjson.dumps(obj))).revision
        async with start(db=f"{etcd.url}?layout=kubernetes") as control:
            for _, path, obj in [*PROTOBUF_ROWS, *JSON_ROWS]:
                found = await control.get(path)
                assert contains(found, obj)
                assert found["metadata"]["resourceVersion"] == str(revisions[path])
            pods = await control.get("/api/v1/namespaces/shop/pods")
            assert [pod["metadata"]["name"] for pod in pods["items"]] == ["a"]
            changed = await control.patch(WIDGET, {"spec": {"size": 4}})
            assert changed.body["metadata"]["uid"] == "1"
            await control.create("/api/v1/namespaces/shop/pods", {"metadata": {"name": "b"}, "spec": POD_SPEC})
        keys = [entry.key for entry in (await raw.list("/registry/pods/")).entries]
        assert keys == ["/registry/pods/shop/a", "/registry/pods/shop/b"]


def contains(found: Any, expected: Any) -> bool:
    """Return whether an object has all fields of another one with their values."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(contains(found.get(name), value) for name, value in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(contains, found, expected))
    return bool(found == expected)
