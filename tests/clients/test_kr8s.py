"""kr8s, as its users write it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import kr8s
import pytest
import pytest_asyncio
from kr8s.asyncio.objects import ConfigMap, Deployment, Namespace, Pod

if TYPE_CHECKING:
    from tests.clients.conftest import RunningCluster

NAMESPACE = "kr8s"
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),  # it does not know this one yet
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(cluster: RunningCluster) -> Any:
    """A client that read the kubeconfig, and a namespace."""
    made = await kr8s.asyncio.api(kubeconfig=cluster.kubeconfig, namespace=NAMESPACE)
    await (await Namespace({"metadata": {"name": NAMESPACE}}, api=made)).create()
    return made


def resource(name: str, **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "image:1"}]},
    }


async def made(api: Any, name: str, **labels: str) -> Any:
    """A pod that exists."""
    pod = await Pod(resource(name, **labels), api=api)
    await pod.create()
    return pod


async def test_what_was_created_is_found(api: Any) -> None:
    pod = await made(api, "created", app="created")
    found = [one async for one in api.get("pods", namespace=NAMESPACE, label_selector={"app": "created"})]
    assert [one.name for one in found] == ["created"]
    assert found[0].raw == pod.raw
    assert await pod.exists()


async def test_what_is_not_there_is_not_found(api: Any) -> None:
    with pytest.raises(kr8s.NotFoundError):
        await Pod.get("nobody", namespace=NAMESPACE, api=api, timeout=0)  # by default it asks for two seconds


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        pytest.param(None, {"metadata": {"labels": {"side": "left"}}}, id="merge"),
        pytest.param("json", [{"op": "add", "path": "/metadata/labels/side", "value": "left"}], id="json"),
    ],
)
async def test_each_type_of_patch_labels(api: Any, kind: str | None, patch: Any) -> None:
    pod = await made(api, f"patched-{kind or 'merge'}", app="a")
    await pod.patch(patch, type=kind)
    assert pod.labels == {"app": "a", "side": "left"}


async def test_labels_and_annotations_are_added(api: Any) -> None:
    pod = await made(api, "marked", app="a")
    await pod.label(side="left")
    await pod.annotate(note="said")
    await pod.refresh()
    assert (pod.labels, pod.annotations["note"]) == ({"app": "a", "side": "left"}, "said")


async def test_a_deployment_is_scaled_through_its_subresource(api: Any) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "main", "image": "image:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    deployment = await Deployment({"metadata": {"name": "scaled", "namespace": NAMESPACE}, "spec": spec}, api=api)
    await deployment.create()
    await deployment.patch({"spec": {"replicas": 3}}, subresource="scale")
    await deployment.refresh()
    assert deployment.spec.replicas == 3


async def test_a_condition_is_waited_for(api: Any) -> None:
    pod = await made(api, "awaited")
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        waiting = group.create_task(pod.wait("condition=Ready"))
        other = await Pod.get("awaited", namespace=NAMESPACE, api=api)
        await other.patch(status, subresource="status")
        await waiting


async def test_a_watch_sees_a_pod_come_change_and_go(api: Any) -> None:
    pod = await made(api, "watched", app="watched")
    seen = []
    async with asyncio.timeout(20):
        async for event, _ in api.watch("pods", namespace=NAMESPACE, label_selector={"app": "watched"}):
            seen.append(event)
            if event == "ADDED":
                await pod.label(side="left")
                await pod.delete()
            if event == "DELETED":
                break
    assert seen == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]  # the label, then the mark of the deletion


async def test_what_was_deleted_is_gone(api: Any) -> None:
    config = await ConfigMap({"metadata": {"name": "deleted", "namespace": NAMESPACE}, "data": {"a": "1"}}, api=api)
    await config.create()
    await config.delete()
    async with asyncio.timeout(20):
        await config.wait("delete")
    assert not await config.exists()


async def test_what_is_served_is_known(api: Any) -> None:
    kinds = {one["kind"] for one in await api.api_resources()}
    assert {"Pod", "Deployment", "CronJob", "NetworkPolicy"} <= kinds
    assert (await api.version())["minor"] == "36"
