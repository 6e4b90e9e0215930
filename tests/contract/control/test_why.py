"""`pods/NAME/why`: the scheduler's decision about a pod, explained by the cluster itself."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
import pytest_asyncio

from mockkube.cluster.configuration.values import ComponentConfiguration

CONTROL = "/apis/control.mockkube.dev/v1alpha1"
PODS = "/api/v1/namespaces/default/pods"
WHY = f"{CONTROL}/namespaces/default/pods/p/why"
GT = "TaintTolerationComparisonOperators"
CONFIGURATION = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
Start = Callable[..., AbstractAsyncContextManager[Any]]


async def crowd(control: Any, **spec: Any) -> None:
    """Two nodes with a taint, and a pod."""
    for name in ("node-1", "node-2"):
        answer = await control.patch(
            f"/api/v1/nodes/{name}", {"spec": {"taints": [{"key": "sla", "value": "950", "effect": "NoSchedule"}]}}
        )
        assert answer.status == 200, answer.body
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    await control.create(PODS, pod)


@pytest_asyncio.fixture
async def cluster(start: Start) -> AsyncIterator[Any]:
    """An API server with the gate, beside a scheduler without."""
    off = {"kube-scheduler": ComponentConfiguration(None, {GT: False})}
    profiles = {**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "mine"}]}
    async with start(nodes=2, feature_gates={GT: True}, components=off, scheduler_config=profiles) as control:
        yield control


async def test_each_node_that_refuses_says_why(cluster: Any) -> None:
    await crowd(cluster)
    told = await cluster.get(WHY)
    assert (told["pod"], told["node"]) == ({"namespace": "default", "name": "p"}, "")
    assert [(one["node"], one["plugin"], one["detail"]) for one in told["nodes"]] == [
        ("node-1", "TaintToleration", "taint sla=950:NoSchedule"),
        ("node-2", "TaintToleration", "taint sla=950:NoSchedule"),
    ]


async def test_what_would_help_is_tried_at_the_scheduler_there_is(cluster: Any) -> None:
    await crowd(cluster, tolerations=[{"key": "sla", "operator": "Gt", "value": "900", "effect": "NoSchedule"}])
    tried = (await cluster.get(WHY))["whatIf"]
    assert ("gate", f"{GT}=true") in [(one["kind"], one["change"]) for one in tried]
    await cluster.tell("kube-scheduler", featureGates={GT: True})
    assert (await cluster.get(WHY))["node"] in ("node-1", "node-2")


async def test_profiles_are_those_the_scheduler_was_given(cluster: Any) -> None:
    await crowd(cluster, schedulerName="mine", tolerations=[{"operator": "Exists"}])
    assert (await cluster.get(WHY))["node"] in ("node-1", "node-2")


async def test_a_scheduler_that_does_not_run_is_what_stops_a_pod(cluster: Any) -> None:
    await crowd(cluster, tolerations=[{"operator": "Exists"}])
    told = await cluster.get(WHY)
    assert (told["fate"], told["obstacle"]["component"]) == ("unbound", "kube-scheduler")
    assert told["obstacle"]["reason"].startswith("schedules no pods: ")
    assert [(one["kind"], one["component"]) for one in told["whatIf"]] == [("running", "kube-scheduler")]


async def test_a_pod_that_is_gone_is_remembered(cluster: Any) -> None:
    await crowd(cluster)
    event = {
        "metadata": {"name": "p.1"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "p"},
        "reason": "Seen",
        "message": "somebody saw it",
    }
    await cluster.create("/api/v1/namespaces/default/events", event)
    assert (await cluster.ask("DELETE", f"{PODS}/p")).status == 200
    told = await cluster.get(WHY)
    assert (told["gone"], told["state"]) == (True, "is gone; it was on no node, Pending")
    assert told["events"] == ["Seen by somebody: somebody saw it"]


async def test_the_name_of_what_makes_pods_leads_to_them(cluster: Any) -> None:
    labels = {"app": "p"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    await cluster.create("/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "p"}, "spec": spec})
    answer = await cluster.ask("GET", WHY)
    assert (answer.status, answer.message) == (404, 'pods "p" not found: deployment p has no pods')


@pytest.mark.parametrize(
    ("query", "accept", "media"),
    [
        pytest.param("", "*/*", "application/json", id="JSON unless told otherwise"),
        pytest.param("?output=text", "*/*", "text/plain; charset=utf-8", id="text by parameter"),
        pytest.param("", "text/plain", "text/plain; charset=utf-8", id="text by header"),
        pytest.param("?output=json", "text/plain", "application/json", id="the parameter counts more"),
    ],
)
async def test_the_answer_is_json_or_text(cluster: Any, query: str, accept: str, media: str) -> None:
    await crowd(cluster)
    async with cluster.session.get(f"{cluster.url}{WHY}{query}", headers={"Accept": accept}) as response:
        assert (response.status, response.headers["Content-Type"]) == (200, media)
        text = await response.text()
    assert "0/2 nodes are available" in text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", f"{CONTROL}/namespaces/default/pods/other/why", 404, id="no such pod"),
        pytest.param("GET", f"{WHY}?output=table", 400, id="no such format"),
        pytest.param("POST", WHY, 405, id="to be read alone"),
        pytest.param("GET", f"{CONTROL}/pods/p/why", 404, id="without its namespace"),
        pytest.param("GET", WHY.replace("v1alpha1", "v1"), 404, id="of another version"),
        pytest.param("GET", f"{CONTROL}/namespaces/default/pods/p", 404, id="the pod itself is elsewhere"),
    ],
)
async def test_what_is_not_there(control: Any, method: str, path: str, status: int) -> None:
    assert (await control.ask(method, path, {} if method == "POST" else None)).status == status


async def test_it_is_one_right_of_its_own(start: Start) -> None:
    async with start(token="secret") as control:
        answer = await control.ask("GET", WHY)
        assert (answer.status, answer.body["details"]["kind"]) == (403, "pods")
        assert 'cannot get resource "pods/why" in API group "control.mockkube.dev"' in answer.message
