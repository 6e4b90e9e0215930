"""kubernetes_asyncio, as its users write it.

Its objects are `Any` here: it types every field as one that may be missing, as no user reads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client.exceptions import ApiException

if TYPE_CHECKING:
    from tests.clients.conftest import RunningCluster

NAMESPACE = "asynchronous"
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def core(cluster: RunningCluster) -> AsyncIterator[Any]:
    """A client that read the kubeconfig, and a namespace."""
    settings = client.Configuration()
    await config.load_kube_config(cluster.kubeconfig, client_configuration=settings)
    async with client.ApiClient(settings) as made:
        api: Any = client.CoreV1Api(made)
        await api.create_namespace({"metadata": {"name": NAMESPACE}})
        yield api


def pod(name: str, **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "image:1"}]},
    }


async def test_what_was_created_is_read_and_listed(core: Any) -> None:
    created = await core.create_namespaced_pod(NAMESPACE, pod("created", app="created"))
    read = await core.read_namespaced_pod("created", NAMESPACE)
    listed = await core.list_namespaced_pod(NAMESPACE, label_selector="app=created")
    assert created.to_dict() == read.to_dict()
    assert [item.metadata.name for item in listed.items] == ["created"]


async def test_errors_carry_their_status(core: Any) -> None:
    with pytest.raises(ApiException) as caught:
        await core.read_namespaced_pod("nobody", NAMESPACE)
    assert caught.value.status == 404


@pytest.mark.parametrize(
    ("media", "patch"),
    [
        pytest.param(
            "application/strategic-merge-patch+json", {"metadata": {"labels": {"side": "left"}}}, id="strategic"
        ),
        pytest.param("application/merge-patch+json", {"metadata": {"labels": {"side": "left"}}}, id="merge"),
        pytest.param(
            "application/json-patch+json",
            [{"op": "add", "path": "/metadata/labels/side", "value": "left"}],
            id="json",
        ),
    ],
)
async def test_each_type_of_patch_labels(core: Any, media: str, patch: Any) -> None:
    name = media.partition("/")[2].partition("-patch")[0]
    await core.create_namespaced_pod(NAMESPACE, pod(name, app="a"))
    patched = await core.patch_namespaced_pod(name, NAMESPACE, patch, _content_type=media)
    assert patched.metadata.labels == {"app": "a", "side": "left"}


async def test_a_watch_sees_a_pod_come_change_and_go(core: Any) -> None:
    start = (await core.list_namespaced_pod(NAMESPACE)).metadata.resource_version

    async def write() -> None:
        await core.create_namespaced_pod(NAMESPACE, pod("watched"))
        await core.patch_namespaced_pod("watched", NAMESPACE, {"metadata": {"labels": {"side": "left"}}})
        await core.delete_namespaced_pod("watched", NAMESPACE)

    seen = []
    selected = {"field_selector": "metadata.name=watched", "resource_version": start, "timeout_seconds": 20}
    async with asyncio.TaskGroup() as group, watch.Watch() as watching:
        group.create_task(write())
        async for event in watching.stream(core.list_namespaced_pod, NAMESPACE, **selected):
            seen.append(event["type"])
            if event["type"] == "DELETED":
                break
    assert seen == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]  # the label, then the mark of the deletion


async def test_an_update_of_an_old_version_is_a_conflict(core: Any) -> None:
    await core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "updated"}})
    read = await core.read_namespaced_config_map("updated", NAMESPACE)
    read.data = {"a": "1"}
    await core.replace_namespaced_config_map("updated", NAMESPACE, read)
    with pytest.raises(ApiException) as caught:
        await core.replace_namespaced_config_map("updated", NAMESPACE, read)
    assert caught.value.status == 409


async def test_what_was_deleted_is_gone(core: Any) -> None:
    await core.create_namespaced_pod(NAMESPACE, pod("deleted"))
    await core.delete_namespaced_pod("deleted", NAMESPACE)
    with pytest.raises(ApiException) as caught:
        await core.read_namespaced_pod("deleted", NAMESPACE)
    assert caught.value.status == 404
