"""Why a pod is nowhere, and which single change would alter that."""

from typing import Any

import pytest

from mockkube.api.errors import NotFound
from mockkube.client.protocol import Key
from mockkube.explain.scheduling import SchedulingExplanation, explain, record_case
from mockkube.explain.scheduling_remedies import add_remedies

NUMERIC = "TaintTolerationComparisonOperators"
P = Key("default", "p")


async def why(lab: Any, **overrides: bool) -> SchedulingExplanation:
    case = await record_case(lab.admin, P, lab.scheduler.semantics.caps, lab.clock)
    return await add_remedies(case, await explain(case), overrides)


def changes(explanation: SchedulingExplanation, kind: str) -> dict[str, str]:
    """Return the node the pod would go to, by change."""
    return {one.change: one.node for one in explanation.what_if if one.kind == kind}


async def test_each_node_is_told_with_its_first_refusal_and_the_facts(lab) -> None:
    await lab.node("n1", taints=[{"key": "sla", "value": "950", "effect": "NoSchedule"}])
    await lab.node("n2", cpu="1")
    await lab.pod("p", cpu="2")
    await lab.settle()
    found = await why(lab)
    assert (found.state, found.node) == ("is pending", "")
    assert found.decision == (await lab.condition("p"))[2]
    answers = {answer.node: answer.status for answer in found.refused}
    assert {node: status.plugin for node, status in answers.items()} == {
        "n1": "TaintToleration",
        "n2": "NodeResourcesFit",
    }
    assert [answer.detail for answer in found.refused] == [
        "taint sla=950:NoSchedule",
        "cpu: 2 requested, 0 of 1 allocated",
    ]
    assert answers["n1"].facts["taint"]["value"] == "950"
    assert answers["n2"].facts["shortages"][0]["requested"] == 2000


async def test_a_toleration_a_taint_less_or_room_would_help(lab) -> None:
    await lab.node("n1", taints=[{"key": "sla", "value": "950", "effect": "NoSchedule"}])
    await lab.node("n2", cpu="1")
    await lab.pod("p", cpu="2")
    await lab.settle()
    found = await why(lab)
    assert changes(found, "toleration") == {"the pod tolerates sla=950:NoSchedule": "n1"}
    assert changes(found, "taint") == {"node n1 loses its taint sla=950:NoSchedule": "n1"}
    assert changes(found, "capacity") == {"node n2 has 1 more cpu": "n2"}


async def test_what_does_not_help_is_not_told(lab) -> None:
    taints = [{"key": key, "effect": "NoSchedule"} for key in ("a", "b")]
    await lab.node("n1", taints=taints)
    await lab.pod("p")
    await lab.settle()
    found = await why(lab)
    assert found.what_if == ()


async def test_a_gate_of_the_scheduler_would_help(labs) -> None:
    lab = await labs(gates={NUMERIC: True})
    await lab.node("n1", taints=[{"key": "level", "value": "7", "effect": "NoSchedule"}])
    await lab.pod("p", tolerations=[{"key": "level", "operator": "Gt", "value": "5", "effect": "NoSchedule"}])
    await lab.settle()
    assert await lab.node_of("p") == "n1"
    await lab.delete("Pod", "p")
    blind = await labs()
    case = None
    await lab.pod("p", tolerations=[{"key": "level", "operator": "Gt", "value": "5", "effect": "NoSchedule"}])
    case = await record_case(lab.admin, P, blind.scheduler.semantics.caps, lab.clock)
    found = await add_remedies(case, await explain(case), {})
    assert changes(found, "gate") == {f"{NUMERIC}=true": "n1"}


async def test_a_cordon_lifted_would_help(lab) -> None:
    await lab.node("n1", unschedulable=True)
    await lab.pod("p")
    await lab.settle()
    found = await why(lab)
    assert changes(found, "cordon") == {"node n1 is uncordoned": "n1"}
    assert changes(found, "toleration") == {"the pod tolerates node.kubernetes.io/unschedulable:NoSchedule": "n1"}


async def test_of_a_pod_that_is_bound_the_choice_is_explained(lab) -> None:
    await lab.node("small", cpu="2")
    await lab.node("large", cpu="8")
    await lab.pod("p", cpu="1")
    await lab.settle()
    found = await why(lab)
    assert (found.state, found.node) == ("is bound to large", "large")
    totals = {node: sum(scores.values()) for node, scores in found.scores.items()}
    assert totals["large"] > totals["small"]
    assert found.as_json()["node"] == "large"


async def test_a_pod_held_back_by_gates_says_so(lab) -> None:
    await lab.node("n1")
    await lab.pod("p", schedulingGates=[{"name": "wait"}])
    await lab.settle()
    found = await why(lab)
    assert found.decision == "held back by SchedulingGates: waiting for scheduling gates: [wait]"


async def test_a_pod_that_is_not_there_is_not_found(lab) -> None:
    with pytest.raises(NotFound):
        await why(lab)


async def test_nothing_is_written(lab) -> None:
    await lab.node("n1", cpu="1")
    await lab.pod("p", cpu="2")
    await lab.settle()
    before = (await lab.get("p"))["metadata"]["resourceVersion"]
    await why(lab)
    await lab.settle()
    assert (await lab.get("p"))["metadata"]["resourceVersion"] == before


async def test_a_pod_for_an_unknown_scheduler_may_name_one_there_is(lab) -> None:
    await lab.node("n1")
    await lab.pod("p", schedulerName="mine")
    await lab.settle()
    found = await why(lab)
    assert found.decision == 'no profile is called "mine": the scheduler has default-scheduler'
    assert changes(found, "profile") == {"the pod's schedulerName is default-scheduler": "n1"}


async def test_wishes_given_up_labels_and_gates_of_pods_would_help(lab) -> None:
    await lab.node("n1")
    await lab.pod("p", nodeSelector={"disk": "ssd"})
    await lab.settle()
    found = await why(lab)
    assert [answer.detail for answer in found.refused] == ["nodeSelector disk=ssd; node has no label disk"]
    assert changes(found, "constraint") == {"the pod has no nodeSelector": "n1"}
    assert changes(found, "label") == {"node n1 has label disk=ssd": "n1"}
    await lab.delete("Pod", "p")
    await lab.pod("p", schedulingGates=[{"name": "wait"}])
    await lab.settle()
    assert changes(await why(lab), "schedulingGate") == {"the pod loses its scheduling gates: wait": "n1"}


async def test_a_volume_that_is_elsewhere_is_named(lab) -> None:
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    await lab.node("n1")
    volume = {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}, "nodeAffinity": affinity, **common}
    claim = {"resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv", **common}
    await lab.admin.create("PersistentVolume", {"metadata": {"name": "pv"}, "spec": volume})
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    metadata = {"name": "data", "namespace": "default", "annotations": bound}
    await lab.admin.create("PersistentVolumeClaim", {"metadata": metadata, "spec": claim})
    await lab.pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    await lab.settle()
    found = await why(lab)
    assert found.refused[0].detail == "volume pv of claim default/data is to be used where zone In [a]"
    assert changes(found, "volume") == {"volume pv may be used from any node": "n1"}
    assert changes(found, "label") == {"node n1 has label zone=a": "n1"}
