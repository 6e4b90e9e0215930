"""Rows of the page: the state that it shows of a node, a pod and a component."""

from typing import Any

import pytest

from mockkube.ui.object_rows import MESSAGE_MAX, make_component_row, make_node_row, make_pod_row


def pod(*, node: str = "", deleted: bool = False, **status: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "p", "namespace": "default"}
    if deleted:
        metadata["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": status}


def condition(kind: str, status: str, reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


EVICTED = condition("DisruptionTarget", "True", "DeletionByTaintManager", "Taint manager: deleting")
UNSCHEDULABLE = condition("PodScheduled", "False", "Unschedulable", "0/1 nodes are available")
NOT_READY = condition("Ready", "False", "ContainersNotReady", "containers with unready status: [main]")
PULLING = [{"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}]
CRASHING = [{"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}]


@pytest.mark.parametrize(
    ("given", "row"),
    [
        pytest.param(pod(phase="Running", node="n1"), ["Running", "good", "n1", "", "", ""], id="running"),
        pytest.param(
            pod(phase="Pending", conditions=[UNSCHEDULABLE]),
            ["Pending", "wait", "", "Unschedulable", "0/1 nodes are available", ""],
            id="without a node",
        ),
        pytest.param(
            pod(phase="Running", node="n1", conditions=[EVICTED]),
            ["Evicted", "bad", "n1", "DeletionByTaintManager", "Taint manager: deleting", ""],
            id="evicted",
        ),
        pytest.param(
            pod(phase="Succeeded", node="n1", deleted=True, conditions=[EVICTED]),
            ["Evicted", "bad", "n1", "DeletionByTaintManager", "Taint manager: deleting", ""],
            id="evicted and ended",
        ),
        pytest.param(
            pod(phase="Failed", node="n1", reason="OutOfcpu", message="too little"),
            ["Failed", "bad", "n1", "OutOfcpu", "too little", ""],
            id="rejected by the kubelet",
        ),
        pytest.param(
            pod(phase="Running", node="n1", deleted=True),
            ["Terminating", "terminating", "n1", "", "", ""],
            id="deleted",
        ),
        pytest.param(
            pod(phase="Running", node="n1", containerStatuses=CRASHING),
            ["Running", "wait", "n1", "CrashLoopBackOff", "back-off", ""],
            id="crashing",
        ),
        pytest.param(
            pod(phase="Pending", node="n1", containerStatuses=PULLING),
            ["Pending", "wait", "n1", "", "", ""],
            id="starting",
        ),
        pytest.param(
            pod(phase="Running", node="n1", conditions=[NOT_READY]),
            ["NotReady", "wait", "n1", "ContainersNotReady", "containers with unready status: [main]", ""],
            id="not ready",
        ),
    ],
)
def test_row_of_a_pod(given: dict[str, Any], row: list[str]) -> None:
    assert make_pod_row(given) == row


def test_the_row_of_a_pod_names_its_controller_and_cuts_its_message() -> None:
    given = pod(phase="Failed", message="x" * 1000)
    owners = [{"kind": "Other", "name": "o"}, {"kind": "ReplicaSet", "name": "web", "controller": True}]
    given["metadata"]["ownerReferences"] = owners
    *_, message, owner = make_pod_row(given)
    assert (len(message), owner) == (MESSAGE_MAX, "ReplicaSet/web")


@pytest.mark.parametrize(
    ("ready", "cordoned", "state"),
    [
        pytest.param("True", False, ["Ready", "good"], id="ready"),
        pytest.param("True", True, ["Ready,SchedulingDisabled", "wait"], id="cordoned"),
        pytest.param("Unknown", False, ["NotReady", "bad"], id="unknown"),
    ],
)
def test_row_of_a_node(ready: str, cordoned: bool, state: list[str]) -> None:
    taint = {"key": "sla", "value": "950", "effect": "NoExecute", "timeAdded": "2030-01-01T00:00:00Z"}
    status = {
        "conditions": [condition("Ready", ready)],
        "allocatable": {"pods": "110"},
        "nodeInfo": {"kubeletVersion": "v1"},
    }
    node = {"metadata": {"name": "n1"}, "spec": {"unschedulable": cordoned, "taints": [taint]}, "status": status}
    assert make_node_row(node) == [*state, [["sla", "950", "NoExecute"]], 110, "v1"]


@pytest.mark.parametrize(
    ("phase", "conditions", "row"),
    [
        pytest.param("Running", [], ["Running", "good", []], id="running"),
        pytest.param("Stopped", [], ["Stopped", "idle", []], id="stopped"),
        pytest.param("Failed", [condition("Running", "False", "Failed", "no")], ["Failed", "bad", ["no"]], id="failed"),
        pytest.param(
            "Running",
            [condition("Looping", "True", "GetsNowhere", "rs web")],
            ["Running", "wait", ["Looping: rs web"]],
            id="looping",
        ),
    ],
)  # fmt: skip
def test_row_of_a_component(phase: str, conditions: list[dict[str, str]], row: list[Any]) -> None:
    spec = {"version": "1.35", "featureGates": {"A": True}}
    component = {
        "metadata": {"name": "kubelet"},
        "spec": spec,
        "status": {"phase": phase, "version": "1.34", "conditions": conditions},
    }
    state, tone, version, gates, trouble, url = make_component_row(component)
    assert [state, tone, trouble] == row
    assert (version, gates, url) == ("1.34", {"A": True}, "")
