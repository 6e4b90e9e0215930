"""Which updates of a node are heartbeats, after which nobody has anything to do."""

from typing import Any

import pytest

from mockkube.matching.node_heartbeats import is_heartbeat


def node(time: str = "1", version: str = "1", **changes: Any) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": time, "lastTransitionTime": "0"}
    metadata = {"name": "n", "labels": {"a": "b"}, "resourceVersion": version, "managedFields": [{"time": time}]}
    status = {"capacity": {"cpu": "4"}, "conditions": [condition]}
    return {"kind": "Node", "metadata": metadata, "spec": {}, "status": status, **changes}


def with_condition(**changes: Any) -> dict[str, Any]:
    changed = node("2", "2")
    changed["status"]["conditions"][0].update(changes)
    return changed


def test_a_new_time_of_conditions_is_a_heartbeat() -> None:
    assert is_heartbeat(node(), node("2", "2"))
    one = node()
    assert is_heartbeat(one, {**one, "metadata": {**one["metadata"], "resourceVersion": "2"}})


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(with_condition(status="False"), id="status of a condition"),
        pytest.param(with_condition(reason="R"), id="reason of a condition"),
        pytest.param(with_condition(lastTransitionTime="2"), id="transition of a condition"),
        pytest.param(node("2", "2", spec={"unschedulable": True}), id="spec"),
        pytest.param(node("2", "2", status={"capacity": {"cpu": "8"}, "conditions": []}), id="capacity"),
        pytest.param(node("2", "2", status={"capacity": {"cpu": "4"}, "conditions": []}), id="fewer conditions"),
        pytest.param(node("2", "2", status={"capacity": {"cpu": "4"}}), id="no conditions"),
        pytest.param(node("2", "2", status=None), id="no status"),
        pytest.param(node("2", "2", metadata={"name": "n", "labels": {"a": "c"}}), id="labels"),
        pytest.param(node("2", "2", metadata={"name": "n", "labels": {"a": "b"}, "annotations": {}}), id="annotations"),
        pytest.param(node("2", "2", more=1), id="another field"),
    ],
)
def test_any_other_change_is_none(changed: dict[str, Any]) -> None:
    assert not is_heartbeat(node(), changed)
    assert not is_heartbeat(changed, node())


@pytest.mark.parametrize("status", [None, 1, [], {"conditions": 1}, {"conditions": [1]}, {"conditions": None}])
def test_malformed_statuses_are_compared_too(status: Any) -> None:
    assert not is_heartbeat(node(), node(status=status))
