"""Binding a pod to a node."""

from datetime import UTC, datetime

import pytest

from mockkube.api.kinds.core.pod.binding import BindingConflict, assign_pod, validate_binding
from mockkube.api.strategy import StrategyContext
from mockkube.features.capabilities import Capabilities

JUDGE = StrategyContext(Capabilities(), datetime(2026, 1, 1, tzinfo=UTC))
BINDING = {"metadata": {"name": "p", "annotations": {"a": "b"}, "labels": {"zone": "z"}}, "target": {"name": "n"}}


def pod(spec=None, status=None, **meta):
    return {"metadata": {"name": "p", **meta}, "spec": spec or {}, "status": status or {}}


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        pytest.param({"name": "n"}, [], id="a node"),
        pytest.param({"kind": "Node", "name": "n"}, [], id="a node, said so"),
        pytest.param({"kind": "Pod"}, ["target.kind", "target.name"], id="no node"),
    ],
)
def test_a_binding_names_a_node(target, fields):
    assert [error.field for error in validate_binding({"target": target})] == fields


def test_a_bound_pod_is_scheduled_and_annotated():
    old = pod()
    bound = assign_pod(old, BINDING, JUDGE)
    assert bound["spec"] == {"nodeName": "n"}
    assert bound["metadata"]["annotations"] == {"a": "b"}
    assert "labels" not in bound["metadata"]
    assert bound["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    assert old == pod()


def test_gates_let_labels_through_and_end_a_nomination():
    gates = frozenset({"PodTopologyLabelsAdmission", "ClearingNominatedNodeNameAfterBinding"})
    bound = assign_pod(
        pod(status={"nominatedNodeName": "m"}), BINDING, StrategyContext(Capabilities(gates=gates), JUDGE.now)
    )
    assert bound["metadata"]["labels"] == {"zone": "z"}
    assert "nominatedNodeName" not in bound["status"]


def test_a_condition_from_before_is_replaced():
    before = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    bound = assign_pod(pod(status={"conditions": [before, {"type": "Ready"}]}), BINDING, JUDGE)
    assert [(each["type"], each.get("status"), each.get("reason")) for each in bound["status"]["conditions"]] == [
        ("PodScheduled", "True", None),
        ("Ready", None, None),
    ]


@pytest.mark.parametrize(
    ("old", "text"),
    [
        pytest.param(pod({"nodeName": "m"}), 'pod p is already assigned to node "m"', id="bound already"),
        pytest.param(pod({"schedulingGates": [{}]}), "pod p has non-empty .spec.schedulingGates", id="gated"),
        pytest.param(
            pod(deletionTimestamp="t"), "pod p is being deleted, cannot be assigned to a host", id="being deleted"
        ),
    ],
)
def test_some_pods_cannot_be_bound(old, text):
    assert assign_pod(old, BINDING, JUDGE) == BindingConflict(text)
