"""Components beside the API servers: started, stopped and built anew as they are asked, in whatever state they are."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
import pytest_asyncio

CONTROL = "/apis/control.mockkube.dev/v1alpha1"
COMPONENTS = f"{CONTROL}/components"
PODS = "/api/v1/namespaces/default/pods"
Start = Callable[..., AbstractAsyncContextManager[Any]]


def condition(obj: dict[str, Any], kind: str) -> tuple[str, str]:
    found = next(one for one in obj["status"]["conditions"] if one["type"] == kind)
    return found["status"], found["message"]


def pod(name: str, node: str = "node-1") -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}}


@pytest_asyncio.fixture
async def lab(start: Start) -> AsyncIterator[Any]:
    """Two nodes with kubelets, in virtual time: whether something happens can be told from whether it is late."""
    async with start(clock="Virtual", nodes=2, without=("scheduler", "controllers")) as control:
        yield control


async def wait(control: Any, duration: str = "30s") -> None:
    """Let time pass, and all that happens until then happen."""
    answer = await control.patch(f"{CONTROL}/clocks/cluster", {"spec": {"advance": duration}})
    assert answer.status == 200, answer.body
    async for obj in control.seen("cluster", "clocks"):
        if obj["status"].get("observedGeneration", 0) >= answer.body["metadata"]["generation"]:
            return


async def phase(control: Any, name: str) -> str:
    return str((await control.get(f"{PODS}/{name}"))["status"]["phase"])


async def test_one_that_is_to_run_runs(lab: Any) -> None:
    kubelet = await lab.settled("kubelet")
    assert condition(kubelet, "Running") == ("True", "works with kube-apiserver")
    await lab.create(PODS, pod("p"))
    await wait(lab)
    assert await phase(lab, "p") == "Running"


async def test_one_that_is_not_to_run_does_nothing(lab: Any) -> None:
    stopped = await lab.tell("kubelet", running=False)
    assert (stopped["status"]["phase"], condition(stopped, "Running")[1]) == ("Stopped", "spec.running is false")
    await lab.create(PODS, pod("p"))
    await wait(lab)
    assert await phase(lab, "p") == "Pending"
    await lab.tell("kubelet", running=True)
    await wait(lab)
    assert await phase(lab, "p") == "Running"


async def test_it_comes_back_when_its_server_does(lab: Any) -> None:
    await lab.tell("kube-apiserver", version="1.35")
    await lab.create(PODS, pod("p"))
    await wait(lab)
    assert await phase(lab, "p") == "Running"


async def test_it_talks_to_the_server_it_is_told_to(lab: Any) -> None:
    assert (
        condition(await lab.tell("kubelet", server="kube-apiserver.1"), "Running")[1] == "works with kube-apiserver.1"
    )
    await lab.create(PODS, pod("p"))
    await wait(lab)
    assert await phase(lab, "p") == "Pending"
    await lab.create(COMPONENTS, {"metadata": {"name": "kube-apiserver.1"}})
    await lab.settled("kube-apiserver.1")
    await wait(lab)
    assert await phase(lab, "p") == "Running"


async def server_ready(control: Any, **changed: str) -> tuple[str, str]:
    """What the kubelet says of its server, once anything of that has changed."""
    async for obj in control.seen("kubelet"):
        found = next(one for one in obj["status"]["conditions"] if one["type"] == "ServerReady")
        if found["reason"] == changed["reason"]:
            return found["status"], found["message"]
    raise AssertionError("the watch has ended")


async def test_it_says_whether_its_server_is_there(lab: Any) -> None:
    assert await server_ready(lab, reason="Ready") == ("True", "kube-apiserver answers requests")
    answer = await lab.patch(f"{COMPONENTS}/kubelet", {"spec": {"server": "kube-apiserver.1"}})
    assert answer.warnings == ["spec.server: there is no kube-apiserver.1 yet"]
    message = "there is no kube-apiserver.1: create it, or give another spec.server"
    assert await server_ready(lab, reason="NotFound") == ("False", message)
    await lab.create(COMPONENTS, {"metadata": {"name": "kube-apiserver.1"}})
    assert (await server_ready(lab, reason="Ready"))[0] == "True"
    await lab.tell("kube-apiserver.1", running=False)
    message = "kube-apiserver.1 does not run: spec.running is false"
    assert await server_ready(lab, reason="Stopped") == ("False", message)
    table = (await lab.ask("GET", f"{COMPONENTS}/kubelet", accept="application/json;as=Table;v=v1;g=meta.k8s.io")).body
    assert "ServerStopped" in table["rows"][0]["cells"]


async def test_a_server_that_others_talk_to_cannot_be_deleted(lab: Any) -> None:
    await lab.create(COMPONENTS, {"metadata": {"name": "kube-apiserver.1"}})
    for name in ("kubelet", "kube-scheduler"):
        await lab.tell(name, server="kube-apiserver.1")
    answer = await lab.ask("DELETE", f"{COMPONENTS}/kube-apiserver.1")
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert answer.message.endswith(
        '"kube-apiserver.1": kube-scheduler, kubelet would have no API server: change spec.server there first'
    )
    for name in ("kubelet", "kube-scheduler"):
        await lab.tell(name, server="kube-apiserver")
    assert (await lab.ask("DELETE", f"{COMPONENTS}/kube-apiserver.1")).status == 200


async def looping(control: Any, component: str, status: str) -> dict[str, Any]:
    """The condition, once it has this status."""
    async for obj in control.seen(component):
        found = next(one for one in obj["status"]["conditions"] if one["type"] == "Looping")
        if found["status"] == status:
            return dict(found)
    raise AssertionError("the watch has ended")


async def test_what_it_gets_nowhere_with_is_a_condition(start: Start) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    wanted = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    match = {"component": "kube-controller-manager", "verbs": ["create"], "resources": ["pods"]}
    inject = {"status": {"code": 403, "message": "not today"}}
    async with start(clock="Virtual", without=("scheduler", "kubelets")) as control:
        assert (await looping(control, "kube-controller-manager", "False"))["reason"] == "NoLoops"
        await control.create(
            f"{CONTROL}/faults", {"metadata": {"name": "f"}, "spec": {"match": match, "inject": inject}}
        )
        await control.create("/apis/apps/v1/namespaces/default/replicasets", wanted)
        await wait(control)
        found = await looping(control, "kube-controller-manager", "True")
        assert found["message"].startswith("replicaset-controller default/web: failing, ")
        assert found["message"].endswith(" a minute: not today")
        assert (await control.ask("DELETE", f"{CONTROL}/faults/f")).status == 200
        await wait(control, "20m")
        assert (await looping(control, "kube-controller-manager", "False"))["reason"] == "NoLoops"


async def test_a_node_with_a_kubelet_of_its_own_is_not_the_fleets(lab: Any) -> None:
    await lab.create(COMPONENTS, {"metadata": {"name": "kubelet.node-1"}, "spec": {"running": False}})
    await lab.settled("kubelet.node-1")
    for name, node in (("p", "node-1"), ("q", "node-2")):
        await lab.create(PODS, pod(name, node))
    await wait(lab)
    assert (await phase(lab, "p"), await phase(lab, "q")) == ("Pending", "Running")
    await lab.tell("kubelet.node-1", running=True)
    await wait(lab)
    assert await phase(lab, "p") == "Running"


async def test_a_snapshot_brings_back_what_they_had_done(lab: Any) -> None:
    await lab.create(PODS, pod("p"))
    await lab.create(f"{CONTROL}/snapshots", {"metadata": {"name": "s"}})
    await wait(lab)
    await lab.patch(f"{CONTROL}/snapshots/s", {"spec": {"restore": 1}})
    async for obj in lab.seen("s", "snapshots"):
        if obj["status"].get("restored"):
            break
    await wait(lab)
    assert await phase(lab, "p") == "Running"
    assert (await lab.settled("kubelet"))["status"]["running"]


@pytest.mark.parametrize(
    ("name", "server", "message"),
    [
        pytest.param("kubelet", "etcd", 'spec.server: Invalid value: "etcd": is no API server', id="no API server"),
        pytest.param(
            "kube-apiserver", "kube-apiserver.1", "spec.server: Forbidden: an API server talks to no other", id="of one"
        ),
    ],
)
async def test_what_is_no_server_is_refused(control: Any, name: str, server: str, message: str) -> None:
    answer = await control.patch(f"{COMPONENTS}/{name}", {"spec": {"server": server}})
    assert answer.status == 422
    assert message in answer.message


async def test_the_controller_manager_does_as_it_was_told(start: Start) -> None:
    told = {"default-storage-class": "standard"}
    async with start(clock="Virtual", without=("scheduler", "kubelets"), controller_manager=told) as control:
        await wait(control)
        [made] = (await control.get("/apis/storage.k8s.io/v1/storageclasses"))["items"]
        assert made["metadata"]["name"] == "standard"


async def test_a_controller_that_is_left_out_does_nothing(start: Start) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    wanted = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    without = ("scheduler", "kubelets")
    async with start(clock="Virtual", without=without, controllers=("*", "-replicaset")) as control:
        await control.create("/apis/apps/v1/namespaces/default/deployments", wanted)
        await wait(control)
        assert len((await control.get("/apis/apps/v1/namespaces/default/replicasets"))["items"]) == 1
        assert (await control.get(PODS))["items"] == []
