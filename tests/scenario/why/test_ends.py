"""Pods that were turned away, or are gone: who did it, why, and what would have spared them."""

import json
from typing import Any

import pytest

from mockkube.api.errors import NotFound
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Key
from mockkube.explain.explanation import PodExplanation
from mockkube.explain.pod_fate import PodFate
from mockkube.features.versions import Version

APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def of_objects(account: PodExplanation) -> set[tuple[str, str]]:
    return {(one.kind, one.change) for one in account.remedies if not one.component}


async def test_a_pod_evicted_for_a_taint_would_have_stayed_with_a_toleration(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.pod("p")
    await world.taint("node-1", effect="NoExecute")
    await world.lab.advance(5)
    account = await world.why()
    assert (account.gone, account.fate) == (True, PodFate.EVICTED)
    assert account.state == "is gone; it was on node-1, Succeeded: DeletionByTaintManager"
    assert account.actions[0].startswith("Who: kube-controller-manager 1.36 (taint-eviction-controller) evicted it")
    assert of_objects(account) == {
        ("toleration", "the pod tolerates sla=950:NoExecute"),
        ("taint", "node node-1 loses its taint sla=950:NoExecute"),
    }
    assert any("TaintManagerEviction by taint-eviction-controller" in line for line in account.events)


async def test_a_toleration_for_a_while_is_told_with_its_seconds(begin: Any) -> None:
    world = await begin(nodes=1)
    tolerations = [{"key": "sla", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}]
    await world.pod("p", tolerations=tolerations)
    await world.taint("node-1", effect="NoExecute")
    account = await world.why()
    assert account.obstacle is not None
    assert account.obstacle.text == "evicts it 60 s after the taint came"
    assert ("toleration", "the pod tolerates sla=950:NoExecute") in of_objects(account)


async def test_a_pod_of_a_silent_node_is_evicted_for_its_taint(begin: Any) -> None:
    world = await begin()
    await world.pod("p", nodeName="node-1")
    await world.lab.change_component("kubelet.node-1", running=False)
    await world.lab.advance(400)
    account = await world.why()
    assert account.fate == PodFate.EVICTED
    assert account.obstacle is not None
    assert "node.kubernetes.io/unreachable:NoExecute" in account.obstacle.detail
    assert ("running", "kubelet.node-1", "works") in {(one.kind, one.component, one.change) for one in account.remedies}


async def test_a_preempted_pod_names_for_whom_and_what_would_have_spared_it(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.create("PriorityClass", "high", namespace="", value=1000)
    await world.pod("p", cpu="3")
    await world.pod("winner", cpu="3", priorityClassName="high")
    await world.lab.advance(5)
    account = await world.why()
    assert (account.gone, account.fate) == (True, PodFate.PREEMPTED)
    assert account.obstacle is not None
    assert account.obstacle.text == "would preempt it again for pod default/winner"
    assert of_objects(account) == {
        ("priority", "the pod's priority is 1000"),
        ("capacity", "node node-1 has 3 more cpu"),
    }


async def test_a_pod_ended_for_a_critical_one_names_it(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.pod("p", cpu="3")
    await world.pod("critical", cpu="3", priorityClassName="system-node-critical", nodeName="node-1")
    account = await world.why()
    assert account.fate == PodFate.DISPLACED
    assert account.obstacle is not None
    assert account.obstacle.text == "would end it again for critical pod default/critical"
    assert ("capacity", "node node-1 has 3 more cpu") in of_objects(account)


@pytest.mark.parametrize(
    ("spec", "reason", "remedy"),
    [
        pytest.param({"cpu": "6"}, "OutOfcpu", ("capacity", "node node-1 has 2 more cpu"), id="too little room"),
        pytest.param(
            {"nodeSelector": {"disk": "ssd"}},
            "NodeAffinity",
            ("constraint", "the pod has no nodeSelector"),
            id="labels",
        ),
    ],
)
async def test_a_pod_its_kubelet_refused_says_what_would_let_it_in(
    begin: Any, spec: Any, reason: str, remedy: tuple[str, str]
) -> None:
    world = await begin(nodes=1)
    await world.pod("p", nodeName="node-1", **spec)
    account = await world.why()
    assert account.fate == PodFate.REFUSED
    assert account.obstacle is not None
    assert account.obstacle.text == f"rejects it on node-1: {reason}"
    assert remedy in of_objects(account)


async def test_a_critical_pod_for_which_nobody_can_go_needs_room(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.pod("p", cpu="9", priorityClassName="system-node-critical", nodeName="node-1")
    account = await world.why()
    assert account.obstacle is not None
    assert account.obstacle.text == "rejects it on node-1: UnexpectedAdmissionError"
    assert of_objects(account) == {("capacity", "node node-1 has 9 more cpu")}


async def test_a_cordon_takes_its_taint_along(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.client.patch("Node", Key("", "node-1"), {"spec": {"unschedulable": True}}, patch_type=PatchType.MERGE)
    await world.lab.settle()
    await world.pod("p")
    found = of_objects(await world.why())
    assert ("cordon", "node node-1 is uncordoned") in found
    assert ("toleration", "the pod tolerates node.kubernetes.io/unschedulable:NoSchedule") in found


async def test_what_an_older_controller_manager_left_out_is_told(begin: Any) -> None:
    world = await begin(nodes=1, version=Version(1, 34), feature_gates={"HostnameOverride": True})
    await world.lab.change_component("kube-controller-manager", version="1.33", gates={"HostnameOverride": None})
    labels = {"app": "web"}
    spec = {"hostnameOverride": "web", "containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    await world.create("Deployment", "web", spec={"selector": {"matchLabels": labels}, "template": template})
    name = next(one["metadata"]["name"] for one in (await world.client.list("Pod")).items)
    assert (await world.why(name)).notes == (
        "Deployment web asks for spec.hostnameOverride, which is not stored; a new pod would not have it either; "
        "with kube-controller-manager 1.34 it would.",
    )


async def test_a_pod_of_a_node_that_is_gone_waits_for_the_collector(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.pod("p", nodeName="node-9")
    account = await world.why()
    assert account.obstacle is not None
    assert account.obstacle.text.startswith("deletes it: there is no node node-9")


async def test_a_pod_that_somebody_deleted_says_so(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.pod("p")
    await world.delete("Pod", "p")
    account = await world.why()
    assert account.gone
    assert account.actions[0] == "Who: it was deleted; nothing in its status says that a component wanted that."


async def test_a_pod_that_was_refused_and_then_deleted_was_still_refused(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.pod("p", nodeName="node-1", cpu="6")
    await world.client.delete("Pod", Key("default", "p"))
    await world.lab.settle()
    account = await world.why()
    assert (account.gone, account.fate) == (True, PodFate.REFUSED)
    assert account.state == "is gone; it was on node-1, Failed: OutOfcpu"


async def test_a_pod_nobody_has_heard_of_is_not_found(begin: Any) -> None:
    world = await begin()
    with pytest.raises(NotFound, match=r'pods "none" not found: name a pod'):
        await world.why("none")


async def test_the_name_of_a_deployment_leads_to_its_pods(begin: Any) -> None:
    world = await begin()
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await world.create("Deployment", "web", spec={"selector": {"matchLabels": labels}, "template": template})
    with pytest.raises(NotFound, match=r"deployment web is no pod, but has some: ask for pod/web-\w+-\w+$"):
        await world.why("web")


async def test_a_field_that_the_api_server_dropped_is_told_with_the_gate_that_keeps_it(begin: Any) -> None:
    world = await begin(feature_gates={"NodeDeclaredFeatures": True}, nodes=1)
    off = {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False}
    await world.lab.change_component("kube-apiserver", gates=off)
    asked = {"spec": {"resources": {"requests": {"cpu": "1"}}, "containers": [{"name": "c", "image": "i"}]}}
    await world.pod("p", metadata={"annotations": {APPLIED: json.dumps(asked)}})
    said = "Pod p asks for spec.resources, which is not stored"
    assert (await world.why()).notes == (
        f"{said}; a new pod would not have it either; with kube-apiserver PodLevelResources=true it would.",
    )
    await world.lab.change_component("kube-apiserver", gates=dict.fromkeys(off))
    await world.lab.settle()
    assert (await world.why()).notes == (f"{said}; a new pod would have it now.",)


async def test_nothing_is_written(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.pod("p", cpu="100")
    before = world.lab.store.revision
    assert (await world.why()).remedies
    assert world.lab.store.revision == before


async def test_a_pod_that_holds_on_by_its_own_finalizer_still_says_who_preempted_it(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.create("PriorityClass", "high", namespace="", value=1000)
    await world.pod("p", cpu="3", metadata={"finalizers": ["example.com/hold"]})
    await world.pod("winner", cpu="3", priorityClassName="high")
    await world.lab.advance(5)
    account = await world.why()
    assert (account.gone, account.fate) == (False, PodFate.PREEMPTED)
    assert account.actions[1].endswith("held by example.com/hold.")
    assert account.obstacle is not None
    assert "for pod default/winner" in account.obstacle.text


async def test_a_pod_that_has_ended_by_itself_was_turned_away_by_nobody(begin: Any) -> None:
    world = await begin(nodes=1)
    await world.create("Job", "j", spec={"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}})  # fmt: skip
    await world.lab.advance(30)
    name = next(one["metadata"]["name"] for one in (await world.client.list("Pod")).items)
    account = await world.why(name)
    assert (account.fate, account.obstacle) == (PodFate.ENDED, None)
    assert account.actions == ("Its containers have ended on node-1; no component stopped it.",)
