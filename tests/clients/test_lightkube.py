"""lightkube, as its users write it.

Its objects are `Any` here: it types every field as one that may be missing, as no user reads them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod
from lightkube.types import PatchType

if TYPE_CHECKING:
    from tests.clients.conftest import RunningCluster

NAMESPACE = "light"


@pytest.fixture(scope="module")
def client(cluster: RunningCluster) -> Iterator[Any]:
    """A client that read the kubeconfig, and a namespace."""
    made = Client(config=KubeConfig.from_file(cluster.kubeconfig), namespace=NAMESPACE)
    made.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
    yield made
    made._client._client.close()  # it offers no way of its own, and a connection that is left open is a warning


def pod(name: str, **labels: str) -> Any:
    spec = PodSpec(containers=[Container(name="main", image="image:1")])
    return Pod(metadata=ObjectMeta(name=name, labels=labels), spec=spec)


def test_what_was_created_is_read_and_listed(client: Any) -> None:
    created = client.create(pod("created", app="created"))
    assert client.get(Pod, "created") == created
    assert [one.metadata.name for one in client.list(Pod, labels={"app": "created"})] == ["created"]


def test_errors_carry_their_status(client: Any) -> None:
    with pytest.raises(ApiError) as caught:
        client.get(Pod, "nobody")
    assert (caught.value.status.code, caught.value.status.reason) == (404, "NotFound")


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        pytest.param(PatchType.STRATEGIC, {"metadata": {"labels": {"side": "left"}}}, id="strategic"),
        pytest.param(PatchType.MERGE, {"metadata": {"labels": {"side": "left"}}}, id="merge"),
        pytest.param(PatchType.JSON, [{"op": "add", "path": "/metadata/labels/side", "value": "left"}], id="json"),
    ],
)
def test_each_type_of_patch_labels(client: Any, kind: PatchType, patch: Any) -> None:
    client.create(pod(f"patched-{kind.name.lower()}", app="a"))
    patched = client.patch(Pod, f"patched-{kind.name.lower()}", patch, patch_type=kind)
    assert patched.metadata.labels == {"app": "a", "side": "left"}


def test_pages_are_followed_without_a_word(client: Any) -> None:
    for index in range(5):
        client.create(pod(f"paged-{index}", app="paged"))
    names = [one.metadata.name for one in client.list(Pod, labels={"app": "paged"}, chunk_size=2)]
    assert names == [f"paged-{index}" for index in range(5)]


def test_scale_and_status_are_written(client: Any) -> None:
    template = PodTemplateSpec(metadata=ObjectMeta(labels={"app": "a"}), spec=pod("a").spec)
    spec = DeploymentSpec(replicas=1, selector=LabelSelector(matchLabels={"app": "a"}), template=template)
    client.create(Deployment(metadata=ObjectMeta(name="scaled"), spec=spec))
    client.patch(Deployment.Scale, "scaled", {"spec": {"replicas": 3}}, patch_type=PatchType.MERGE)
    client.patch(Deployment.Status, "scaled", {"status": {"replicas": 2}}, patch_type=PatchType.MERGE)
    read = client.get(Deployment, "scaled")
    assert (read.spec.replicas, read.status.replicas) == (3, 2)


def test_a_watch_sees_a_pod_come_change_and_go(client: Any) -> None:
    listed = client.list(Pod)
    assert "watched" not in [one.metadata.name for one in listed]
    start = listed.resourceVersion  # known once the list was read

    def write() -> None:
        client.create(pod("watched", app="watched"))
        client.patch(Pod, "watched", {"metadata": {"labels": {"side": "left"}}})
        client.delete(Pod, "watched")

    writing = threading.Thread(target=write)
    writing.start()
    seen = []
    for event, _ in client.watch(Pod, labels={"app": "watched"}, resource_version=start, server_timeout=20):
        seen.append(event)
        if event == "DELETED":
            break
    writing.join()
    assert seen == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]  # the label, then the mark of the deletion


def test_a_condition_is_waited_for(client: Any) -> None:
    client.create(pod("awaited"))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    patching = threading.Thread(target=lambda: client.patch(Pod.Status, "awaited", ready))
    patching.start()
    assert client.wait(Pod, "awaited", for_conditions=["Ready"]).metadata.name == "awaited"
    patching.join()


def test_an_update_of_an_old_version_is_a_conflict(client: Any) -> None:
    created = client.create(ConfigMap(metadata=ObjectMeta(name="updated"), data={"a": "1"}))
    created.data = {"a": "2"}
    client.replace(created)
    with pytest.raises(ApiError) as caught:
        client.replace(created)
    assert caught.value.status.code == 409


def test_what_was_deleted_is_gone(client: Any) -> None:
    client.create(pod("deleted"))
    client.delete(Pod, "deleted")
    with pytest.raises(ApiError):
        client.get(Pod, "deleted")
