"""The official Python client, as its users write it.

Its objects are `Any` here: it types every field as one that may be missing, as no user reads them.
"""

# mypy: disable-error-code="no-untyped-call"
# most of the client has no types

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException

if TYPE_CHECKING:
    from tests.clients.conftest import RunningCluster

NAMESPACE = "official"
pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning")  # its own


@pytest.fixture(scope="module")
def api(cluster: RunningCluster) -> Iterator[Any]:
    """A client that read the kubeconfig, and a namespace."""
    with config.new_client_from_config(cluster.kubeconfig) as made:
        metadata = client.V1ObjectMeta(name=NAMESPACE)
        client.CoreV1Api(made).create_namespace(client.V1Namespace(metadata=metadata))
        yield made


@pytest.fixture
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


@pytest.fixture
def apps(api: Any) -> Any:
    return client.AppsV1Api(api)


def pod(name: str, **labels: str) -> Any:
    spec = client.V1PodSpec(containers=[client.V1Container(name="main", image="image:1")])
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name, labels=labels), spec=spec)


def deployment(name: str) -> Any:
    template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels={"app": name}), spec=pod(name).spec)
    selector = client.V1LabelSelector(match_labels={"app": name})
    spec = client.V1DeploymentSpec(replicas=1, selector=selector, template=template)
    return client.V1Deployment(metadata=client.V1ObjectMeta(name=name), spec=spec)


def test_what_was_created_is_read_and_listed(core: Any) -> None:
    created = core.create_namespaced_pod(NAMESPACE, pod("created", app="created"))
    read = core.read_namespaced_pod("created", NAMESPACE)
    listed = core.list_namespaced_pod(NAMESPACE, label_selector="app=created")
    assert created.to_dict() == read.to_dict()
    assert [item.metadata.name for item in listed.items] == ["created"]
    assert (created.spec.restart_policy, created.status.phase) == ("Always", "Pending")


def test_errors_carry_their_status(core: Any) -> None:
    with pytest.raises(ApiException) as caught:
        core.read_namespaced_pod("nobody", NAMESPACE)
    assert (caught.value.status, caught.value.reason) == (404, "Not Found")
    assert 'pods \\"nobody\\" not found' in str(caught.value.body)


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"metadata": {"labels": {"side": "left"}}}, id="strategic"),
        pytest.param([{"op": "add", "path": "/metadata/labels/side", "value": "left"}], id="json"),
    ],
)
def test_a_patch_is_sent_in_the_form_it_has(core: Any, patch: Any) -> None:
    patched = core.patch_namespaced_pod(_new(core), NAMESPACE, patch)
    assert patched.metadata.labels == {"app": "patched", "side": "left"}


def _new(core: Any) -> str:
    made = pod("", app="patched")
    made.metadata.generate_name, made.metadata.name = "patched-", None
    return str(core.create_namespaced_pod(NAMESPACE, made).metadata.name)


def test_a_merge_patch_is_sent_when_asked_for(api: Any, core: Any) -> None:
    name = _new(core)
    dyn = dynamic.DynamicClient(api)
    pods = dyn.resources.get(api_version="v1", kind="Pod")
    body = {"metadata": {"labels": {"app": None, "side": "left"}}}
    patched = pods.patch(name=name, namespace=NAMESPACE, body=body, content_type="application/merge-patch+json")
    assert patched.metadata.labels.to_dict() == {"side": "left"}


def test_an_update_of_an_old_version_is_a_conflict(core: Any) -> None:
    read = core.read_namespaced_pod(_new(core), NAMESPACE)
    read.metadata.labels = {"app": "first"}
    core.replace_namespaced_pod(read.metadata.name, NAMESPACE, read)
    with pytest.raises(ApiException) as caught:
        core.replace_namespaced_pod(read.metadata.name, NAMESPACE, read)
    assert caught.value.status == 409


def test_scale_and_status_are_written(apps: Any) -> None:
    apps.create_namespaced_deployment(NAMESPACE, deployment("scaled"))
    apps.patch_namespaced_deployment_scale("scaled", NAMESPACE, {"spec": {"replicas": 3}})
    apps.patch_namespaced_deployment_status("scaled", NAMESPACE, {"status": {"replicas": 2}})
    read = apps.read_namespaced_deployment("scaled", NAMESPACE)
    assert (read.spec.replicas, read.status.replicas) == (3, 2)


def test_a_watch_sees_a_pod_come_change_and_go(core: Any) -> None:
    start = core.list_namespaced_pod(NAMESPACE).metadata.resource_version

    def write() -> None:
        core.create_namespaced_pod(NAMESPACE, pod("watched"))
        core.patch_namespaced_pod("watched", NAMESPACE, {"metadata": {"labels": {"side": "left"}}})
        core.delete_namespaced_pod("watched", NAMESPACE)

    writing = threading.Thread(target=write)
    writing.start()
    seen = []
    watching = watch.Watch()
    for event in watching.stream(
        core.list_namespaced_pod,
        NAMESPACE,
        field_selector="metadata.name=watched",
        resource_version=start,
        timeout_seconds=20,
    ):
        seen.append(event["type"])
        if event["type"] == "DELETED":
            watching.stop()
    writing.join()
    assert seen == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]  # the label, then the mark of the deletion


def test_a_watch_ends_with_its_time(core: Any) -> None:
    stream = watch.Watch().stream(core.list_namespaced_service, NAMESPACE, timeout_seconds=1)
    assert list(stream) == []


def test_pages_are_followed(core: Any) -> None:
    for index in range(3):
        core.create_namespaced_secret(NAMESPACE, client.V1Secret(metadata=client.V1ObjectMeta(name=f"s{index}")))
    names, token = [], None
    while True:
        page = core.list_namespaced_secret(NAMESPACE, limit=2, _continue=token)
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == ["s0", "s1", "s2"]


def test_objects_from_yaml_are_created(api: Any, core: Any) -> None:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yaml"}, "data": {"a": "1"}}
    utils.create_from_dict(api, made, namespace=NAMESPACE)
    assert core.read_namespaced_config_map("yaml", NAMESPACE).data == {"a": "1"}


def test_the_dynamic_client_discovers_and_works(api: Any) -> None:
    configs = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
    body = {"metadata": {"name": "dynamic"}, "data": {"a": "1"}}
    assert configs.create(body=body, namespace=NAMESPACE).data.a == "1"
    assert configs.get(name="dynamic", namespace=NAMESPACE).metadata.name == "dynamic"
    assert configs.delete(name="dynamic", namespace=NAMESPACE).status == "Success"


def test_a_collection_is_deleted(core: Any) -> None:
    for name in ("one", "two"):
        core.create_namespaced_pod(NAMESPACE, pod(f"many-{name}", set="many"))
    core.delete_collection_namespaced_pod(NAMESPACE, label_selector="set=many")
    assert core.list_namespaced_pod(NAMESPACE, label_selector="set=many").items == []


def test_an_eviction_removes_the_pod(core: Any) -> None:
    core.create_namespaced_pod(NAMESPACE, pod("evicted"))
    body = client.V1Eviction(metadata=client.V1ObjectMeta(name="evicted", namespace=NAMESPACE))
    core.create_namespaced_pod_eviction("evicted", NAMESPACE, body)
    with pytest.raises(ApiException):
        core.read_namespaced_pod("evicted", NAMESPACE)


def test_versions_and_groups_are_told(api: Any) -> None:
    assert client.VersionApi(api).get_code().git_version.startswith("v1.36")
    groups = {group.name for group in client.ApisApi(api).get_api_versions().groups}
    assert {"apps", "batch", "networking.k8s.io"} <= groups
