"""Import of clusters: what comes in, how it is changed, and that nothing changes by itself afterwards."""

import asyncio
import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.api.times import parse_time
from mockkube.apiserver.registry import encoding
from mockkube.client.blocking_http import BlockingHttpClient
from mockkube.client.kubeconfig import RestConfig
from mockkube.client.protocol import Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents
from mockkube.cluster.temporary_cluster import make_temporary_configuration, open_temporary_cluster
from mockkube.features.versions import Version
from mockkube.importing.cluster_import import ImportedCluster, ImportOptions, import_objects
from mockkube.importing.completion import complete_contents
from mockkube.importing.dump_files import parse_dump
from mockkube.importing.errors import UnreadableDumpError
from mockkube.importing.import_text import render_import
from mockkube.importing.live_objects import LiveObjects
from mockkube.importing.movements import SnapshotCheck, check_snapshot, open_imported_cluster
from mockkube.importing.source_version import parse_minor
from mockkube.importing.webhooks import WebhookMode, is_stub
from mockkube.proposals.component_extensions import make_schema
from mockkube.proposals.loading import default_trains
from mockkube.scheduler.scheduler import Scheduler
from tests.importing import large_dump, realistic

Object = dict[str, Any]

WORKLOADS: list[Object] = [
    {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": kind.lower(), "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": kind}},
            "template": {
                "metadata": {"labels": {"app": kind}},
                "spec": {"containers": [{"name": "main", "image": "nginx"}]},
            },
            **more,
        },
    }
    for kind, more in (("Deployment", {"replicas": 3}), ("StatefulSet", {"serviceName": "s"}), ("DaemonSet", {}))
]
BUDGET: Object = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "budget", "namespace": "default"},
    "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "Deployment"}}},
}


def make_cluster() -> list[Object]:
    """Return the objects of a small real cluster at rest."""
    return [
        *realistic.make_namespace("default"),
        realistic.make_node("w1"),
        realistic.make_node("w2"),
        *realistic.make_deployment("web", "default", 3, ("w1", "w2")),
    ]


def load(imported: ImportedCluster, kind: str, name: str) -> Object:
    for value in imported.contents.entries.values():
        obj: Object = json.loads(value.partition(b"\n")[2])
        if obj["kind"] == kind and obj["metadata"]["name"] == name:
            return obj
    raise AssertionError(f"{kind} {name} was not imported")


async def dump(cluster: SimulatedCluster) -> list[Object]:
    entries = (await cluster.store.list("/registry/")).entries
    return [json.loads(encoding.decode_stored(one.value, one.revision)[1]) for one in entries]


async def test_nothing_moves_in_the_import_of_a_cluster_of_mockkube_at_rest() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=3))) as cluster:
        for workload in [*WORKLOADS, BUDGET]:
            await cluster.client().create(workload["kind"], workload)
        await cluster.advance(900)
        objects = await dump(cluster)
        running = {pod.name for pod in [Key("", one["metadata"]["name"]) for one in objects if one["kind"] == "Pod"]}
    imported = import_objects(objects)
    contents, _ = await complete_contents(imported.contents)
    assert await check_snapshot(contents) == SnapshotCheck([], {})
    async with open_imported_cluster(contents) as again:
        await again.advance(600)
        pods = [obj for obj in await dump(again) if obj["kind"] == "Pod"]
    before = {obj["metadata"]["name"]: obj for obj in objects if obj["kind"] == "Pod"}
    assert {pod["metadata"]["name"] for pod in pods} == running
    assert all(pod["status"] == before[pod["metadata"]["name"]]["status"] for pod in pods)
    assert all(pod["metadata"]["uid"] == before[pod["metadata"]["name"]]["metadata"]["uid"] for pod in pods)


async def test_nothing_moves_in_the_import_of_a_real_cluster_at_rest() -> None:
    imported = import_objects(make_cluster())
    contents, added = await complete_contents(imported.contents)
    assert added
    assert contents.time == realistic.NOW
    assert await check_snapshot(contents) == SnapshotCheck([], {})


def test_a_dump_has_the_latest_time_of_its_objects() -> None:
    node = realistic.make_node("w1")
    node["status"]["conditions"][0]["lastHeartbeatTime"] = "2031-03-31T23:59:59Z"
    assert import_objects([*make_cluster(), node]).contents.time == "2031-03-31T23:59:59Z"


async def test_what_moves_names_the_component_that_moves_it() -> None:
    objects = [obj for obj in make_cluster() if obj["metadata"]["name"] != "web-6d4cf56db6-00000"]
    contents, _ = await complete_contents(import_objects(objects).contents)
    movements = (await check_snapshot(contents)).movements
    created = [one for one in movements if one.verb == "create"]
    assert [(one.component, one.resource) for one in created] == [
        ("kube-controller-manager/replicaset-controller", "core/pods")
    ]
    assert {one.component.partition("/")[0] for one in movements} >= {"kube-scheduler", "kubelet"}


async def test_an_api_service_that_the_server_creates_for_a_crd_is_no_movement() -> None:
    contents, _ = await complete_contents(import_objects([CRD]).contents)
    assert "apiregistration.k8s.io/apiservices" not in {
        one.resource for one in (await check_snapshot(contents)).movements
    }


async def test_a_node_that_is_not_ready_stays_as_it_is() -> None:
    states = {"w1": "True", "w2": "Unknown", "w3": "False"}
    nodes = [realistic.make_node(name, ready=ready) for name, ready in states.items()]
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    nodes[1]["spec"]["taints"] = taints
    imported = import_objects([*realistic.make_namespace("default"), *nodes])
    assert imported.report.silent_nodes == ["w2"]
    async with open_imported_cluster(imported.contents) as cluster:
        await cluster.advance(600)
        found = {}
        for name in ("w1", "w2", "w3"):
            node = await cluster.client().get("Node", Key("", name))
            found[name] = next(one["status"] for one in node["status"]["conditions"] if one["type"] == "Ready")
    assert found == states


def write_forms() -> Iterable[tuple[str, bytes]]:
    listed = realistic.make_list(make_cluster())
    yield "kubectl get -o json", json.dumps(listed, indent=4).encode()
    yield "kubectl get -o yaml", yaml.safe_dump(listed, sort_keys=True).encode()
    yield "compact JSON", json.dumps(listed).encode()
    yield "documents", yaml.safe_dump_all(make_cluster()).encode()
    typed = [
        {"kind": f"{kind}List", "apiVersion": version, "items": [
            {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
            for obj in make_cluster() if (obj["kind"], obj["apiVersion"]) == (kind, version)
        ]}
        for kind, version in dict.fromkeys((obj["kind"], obj["apiVersion"]) for obj in make_cluster())
    ]  # fmt: skip
    pod = "container c of pod default/p ===="
    logs = f"==== START logs for {pod}\n{{\n==== END logs for {pod}\n"
    yield "cluster-info dump", "\n".join([*(json.dumps(one, indent=4) for one in typed), logs]).encode()
    rows = [
        {"key": base64.b64encode(b"/registry/x").decode(), "value": base64.b64encode(json.dumps(obj).encode()).decode()}
        for obj in make_cluster()
    ]
    yield "etcdctl", json.dumps({"header": {"revision": 1}, "kvs": rows, "count": len(rows)}).encode()


@pytest.mark.parametrize(("form", "content"), list(write_forms()), ids=[form for form, _ in write_forms()])
def test_every_form_of_a_dump_is_read(form: str, content: bytes) -> None:
    found = sorted(parse_dump(content, form), key=json.dumps)
    by_name = {(obj["kind"], obj["metadata"]["name"]): obj for obj in found}
    assert by_name == {(obj["kind"], obj["metadata"]["name"]): obj for obj in make_cluster()}


def test_a_text_that_is_no_dump_is_refused_with_its_name() -> None:
    with pytest.raises(UnreadableDumpError, match=r"^notes\.txt: "):
        list(parse_dump(b"a: [b", "notes.txt"))
    with pytest.raises(UnreadableDumpError, match="apiVersion and kind"):
        list(parse_dump(b"a: b", "notes.txt"))


def make_secret(**data: str) -> Object:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    last = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(encoded)}
    metadata = {"name": "s", "namespace": "default", "annotations": last}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": encoded}


def test_secrets_keep_their_keys_and_nothing_of_their_values() -> None:
    secret = make_secret(user="root", password="correct horse")
    first, again = (import_objects([secret]) for _ in range(2))
    stored = load(first, "Secret", "s")
    assert sorted(stored["data"]) == ["password", "user"]
    assert stored["data"] == load(again, "Secret", "s")["data"]
    assert stored["data"]["user"] != stored["data"]["password"]
    for value in first.contents.entries.values():
        assert base64.b64encode(b"correct horse") not in value
    assert load(import_objects([secret], ImportOptions(redacts_secrets=False)), "Secret", "s")["data"] == secret["data"]


def test_owners_are_relinked_by_name_and_dropped_if_they_do_not_exist() -> None:
    objects = list(realistic.make_deployment("web", "default", 1, ("w1",)))
    objects[1]["metadata"]["ownerReferences"][0]["uid"] = "uid-of-another-life"
    objects[2]["metadata"]["ownerReferences"].append(
        {"apiVersion": "example.dev/v1", "kind": "Rollout", "name": "gone", "uid": "uid-gone"}
    )
    imported = import_objects(objects)
    changes = {(one.owner_kind, one.is_relinked) for one in imported.report.owner_changes}
    assert changes == {("Deployment", True), ("Rollout", False)}
    owner = load(imported, "ReplicaSet", "web-6d4cf56db6")["metadata"]["ownerReferences"][0]
    assert owner["uid"] == "uid-Deployment-web"
    assert len(load(imported, "Pod", "web-6d4cf56db6-00000")["metadata"]["ownerReferences"]) == 1


CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.dev"},
    "spec": {
        "group": "example.dev",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "conversion": {
            "strategy": "Webhook",
            "webhook": {"clientConfig": {"url": "https://example.dev/"}, "conversionReviewVersions": ["v1"]},
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
WEBHOOK: Object = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "deny-all"},
    "webhooks": [
        {
            "name": "deny.example.dev",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "clientConfig": {"url": "https://example.dev/"},
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}],
        }
    ],
}


async def test_custom_resources_come_in_with_their_crd_and_stubs_of_webhooks() -> None:
    widget = {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}
    imported = import_objects([{**widget, "status": {"phase": "Ready"}}, WEBHOOK, CRD])
    async with open_imported_cluster(imported.contents) as cluster:
        client = cluster.client()
        found = await client.get("Widget", Key("default", "w"))
        assert found["status"] == {"phase": "Ready"}
        configuration = await client.get("ValidatingWebhookConfiguration", Key("", "deny-all"))
        assert all(is_stub(one) for one in configuration["webhooks"])
        await client.create("ConfigMap", {"metadata": {"name": "a", "namespace": "default"}})
    dropped = import_objects([CRD, WEBHOOK], ImportOptions(webhooks=WebhookMode.DROP))
    assert dropped.report.left_out.total() == 1
    kept = import_objects([CRD, WEBHOOK], ImportOptions(webhooks=WebhookMode.KEEP))
    assert not is_stub(load(kept, "ValidatingWebhookConfiguration", "deny-all")["webhooks"][0])


def test_versions_are_those_of_the_nodes_and_of_static_pods() -> None:
    server = realistic.make_pod("kube-apiserver-cp", "kube-system", ("v1", "Node", "cp"), {}, "cp")
    server["metadata"]["labels"] = {"component": "kube-apiserver", "tier": "control-plane"}
    server["spec"]["containers"][0]["image"] = "registry.k8s.io/kube-apiserver:v1.35.3"
    nodes = [realistic.make_node("cp", "1.35"), realistic.make_node("w1", "1.34"), realistic.make_node("w2", "1.34")]
    imported = import_objects([server, *nodes])
    components = imported.contents.components
    assert {name: spec["version"] for name, spec in components.items()} == {
        "kube-apiserver": "1.35",
        "kube-scheduler": "1.35",
        "kube-controller-manager": "1.35",
        "kubelet": "1.34",
        "kubelet.cp": "1.35",
    }
    with pytest.raises(UnreadableDumpError, match=r"version 1\.20"):
        import_objects([realistic.make_node("w1", "1.36") | {"status": {"nodeInfo": {"kubeletVersion": "v1.20.1"}}}])


def test_fields_that_the_version_does_not_have_are_reported() -> None:
    pod = realistic.make_pod("p", "default", ("v1", "Node", "w1"), {}, "w1")
    pod["spec"]["inventedField"] = 1
    assert dict(import_objects([pod]).report.unknown_fields) == {("Pod", "spec.inventedField"): 1}


def test_snapshots_keep_their_time() -> None:
    contents = import_objects(make_cluster()).contents
    assert SnapshotContents.from_bytes(contents.to_bytes()) == contents
    assert parse_time(contents.time) == parse_time(realistic.NOW)


async def test_a_cluster_with_an_address_starts_from_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "cluster.snapshot"
    path.write_bytes(import_objects(make_cluster()).contents.to_bytes())
    settings = {"snapshot": str(path), "clock": "virtual", "tls": False}
    async with (
        open_temporary_cluster(make_temporary_configuration(settings)) as cluster,
        cluster as running,
        aiohttp.ClientSession() as session,
        session.get(f"{running.url}/api/v1/pods") as answer,
    ):
        pods = (await answer.json())["items"]
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 3


async def test_a_running_cluster_comes_in_over_its_address() -> None:
    configuration = make_temporary_configuration({"clock": "virtual", "tls": False, "nodes": 2})
    async with open_temporary_cluster(configuration) as cluster, cluster as running:
        live = LiveObjects(BlockingHttpClient(RestConfig(running.url)))
        objects = await asyncio.to_thread(lambda: list(live.read()))
        version = await asyncio.to_thread(live.read_version)
    imported = import_objects(objects, ImportOptions(parse_minor(version)))
    assert imported.report.objects["Node"] == 2
    assert imported.report.objects["Namespace"] == 4
    assert live.refused == {}
    # What an API server creates is there already.
    _, added = await complete_contents(imported.contents)
    assert [key for key in added if "configmaps/kube-system/extension-apiserver-authentication" not in key] == []


async def test_node_groups_of_a_running_cluster_are_read() -> None:
    group = {"maxSize": 3, "instanceTypes": [{"name": "small", "capacity": {"cpu": "2", "memory": "4Gi"}}]}
    body = {"metadata": {"name": "web"}, "spec": group}
    configuration = make_temporary_configuration({"clock": "virtual", "tls": False, "nodes": 0})
    path = "/apis/control.mockkube.dev/v1alpha1/nodegroups"
    async with (
        open_temporary_cluster(configuration) as cluster,
        cluster as running,
        aiohttp.ClientSession() as session,
        session.post(f"{running.url}{path}", json=body) as created,
    ):
        assert created.status == 201
        live = LiveObjects(BlockingHttpClient(RestConfig(running.url)))
        [found] = await asyncio.to_thread(live.read_node_groups)
    assert (found["kind"], found["spec"]["maxSize"]) == ("NodeGroup", 3)


def test_a_large_dump_is_split_into_its_items() -> None:
    items = list(large_dump.make_objects(20, 500))
    assert [obj["kind"] for obj in items].count("Node") == 20
    imported = import_objects(parse_dump(json.dumps(realistic.make_list(items), indent=4).encode(), "large.json"))
    # The namespace of the objects is added.
    assert imported.report.total == 501


def test_values_of_etcd_are_read_in_the_versions_in_which_they_are_stored() -> None:
    old = ProtobufSerializer(make_schema(Version(1, 33), default_trains()))
    gone = {
        "apiVersion": "storage.k8s.io/v1alpha1",
        "kind": "VolumeAttributesClass",
        "metadata": {"name": "gold"},
        "driverName": "example.dev",
    }
    pod = next(obj for obj in make_cluster() if obj["kind"] == "Pod")
    version = CRD["spec"]["versions"][0]
    crd = {
        **CRD,
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "spec": {**CRD["spec"], "conversion": {"strategy": "None"}, "version": "v1", "validation": version["schema"],
                 "versions": [{"name": "v1", "served": True, "storage": True}]},
    }  # fmt: skip
    values = [old.encode(gone), old.encode(pod), json.dumps(crd).encode(), b"k8s\x00\x0a\x02xx", b"1000"]
    rows = [{"key": "eA==", "value": base64.b64encode(value).decode()} for value in values]
    found = list(parse_dump(json.dumps({"header": {}, "kvs": rows}).encode(), "etcd.json"))
    assert [(obj["kind"], obj["apiVersion"]) for obj in found] == [
        ("VolumeAttributesClass", "storage.k8s.io/v1alpha1"),
        ("Pod", "v1"),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
    ]
    assert found[0]["driverName"] == "example.dev"
    assert found[1]["metadata"]["uid"] == pod["metadata"]["uid"]
    assert found[2]["spec"]["versions"][0]["schema"] == version["schema"]


def test_values_that_are_encrypted_at_rest_are_refused() -> None:
    rows = [{"key": "eA==", "value": base64.b64encode(b"k8s:enc:aescbc:v1:key1:...").decode()}]
    with pytest.raises(UnreadableDumpError, match="encrypted at rest"):
        list(parse_dump(json.dumps({"header": {}, "kvs": rows}).encode(), "etcd.json"))


async def test_a_component_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: Scheduler) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(Scheduler, "start", fail)
    imported = import_objects(make_cluster())
    contents, _ = await complete_contents(imported.contents)
    check = await check_snapshot(contents)
    assert list(check.failed_components) == ["kube-scheduler"]
    lines = list(render_import(imported.report, check, 10))
    assert any(line.startswith("Failed, which is a bug: kube-scheduler: ") and "broken" in line for line in lines)
    assert lines[-1].endswith("as far as the other components can tell")
