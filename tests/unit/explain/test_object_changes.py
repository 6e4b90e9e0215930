"""Objects as they might be."""

from typing import Any

import pytest

from mockkube.explain import object_changes

TAINT = {"key": "sla", "value": "950", "effect": "NoExecute"}
NODE: dict[str, Any] = {
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {"taints": [{**TAINT, "timeAdded": "2026-01-01T00:00:00Z"}, {"key": "b", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "1500m", "memory": "1Gi"}},
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod(**spec: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], **spec}}


def test_a_toleration_is_for_ever_whatever_was_said_of_the_taint_before() -> None:
    for_a_while = {"key": "sla", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    other = {"key": "b", "operator": "Exists"}
    edit = object_changes.add_toleration(pod(tolerations=[for_a_while, other]), TAINT)
    assert edit.obj["spec"]["tolerations"] == [{**TAINT, "operator": "Equal"}, other]


def test_a_taint_goes_by_key_and_effect() -> None:
    edit = object_changes.remove_taint(NODE, TAINT)
    assert edit.obj["spec"]["taints"] == [{"key": "b", "effect": "NoSchedule"}]
    assert edit.description == "node n1 loses its taint sla=950:NoExecute"


def test_room_is_added_to_what_there_is() -> None:
    edit = object_changes.add_capacity(NODE, {"cpu": 500, "example.com/gpu": 2})
    assert edit.obj["status"]["allocatable"] == {"cpu": "2", "memory": "1Gi", "example.com/gpu": "2"}
    assert edit.description == "node n1 has 500m more cpu, 2 more example.com/gpu"


def test_each_wish_is_given_up_by_itself() -> None:
    affinity = {"nodeAffinity": {REQUIRED: {}}, "podAntiAffinity": {REQUIRED: []}}
    constraints = [{"topologyKey": "zone"}, {"topologyKey": "host"}]
    asked = pod(nodeSelector={"a": "b"}, affinity=affinity, topologySpreadConstraints=constraints)
    edits = {edit.description: edit.obj["spec"] for edit in object_changes.remove_constraints(asked)}
    assert list(edits) == [
        "the pod has no nodeSelector",
        "the pod has no required node affinity",
        "the pod has no required pod anti-affinity",
        "the pod has no topologySpreadConstraints[0] (zone)",
        "the pod has no topologySpreadConstraints[1] (host)",
    ]
    assert edits["the pod has no required node affinity"]["affinity"] == {**affinity, "nodeAffinity": {}}
    left = edits["the pod has no topologySpreadConstraints[0] (zone)"]
    assert (left["topologySpreadConstraints"], left["nodeSelector"]) == ([{"topologyKey": "host"}], {"a": "b"})


@pytest.mark.parametrize(
    ("selector", "terms", "labels"),
    [
        pytest.param({"disk": "ssd"}, [], [{"disk": "ssd"}], id="a selector"),
        pytest.param(
            {"disk": "ssd"},
            [[{"key": "zone", "operator": "In", "values": ["a", "b"]}], [{"key": "gpu", "operator": "Exists"}]],
            [{"disk": "ssd", "zone": "a"}, {"disk": "ssd", "gpu": ""}],
            id="one way for each term",
        ),
        pytest.param({}, [[{"key": "zone", "operator": "NotIn", "values": ["a"]}]], [], id="nothing to have"),
    ],
)
def test_labels_that_a_node_may_be_given(selector: Any, terms: Any, labels: Any) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    assert list(object_changes.find_matching_labels(selector, required)) == labels


def test_nothing_is_changed_in_place() -> None:
    given = pod(nodeSelector={"a": "b"}, schedulingGates=[{"name": "g"}])
    before = repr((given, NODE))
    object_changes.remove_scheduling_gates(given)
    object_changes.add_labels(NODE, {"x": "y"})
    object_changes.uncordon(NODE)
    assert repr((given, NODE)) == before
