from datetime import UTC, datetime

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.core.node import NODE
from mockkube.api.kinds.node.runtime_class import RUNTIME_CLASS

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "conditions", "word"),
    [
        pytest.param({}, [], "Unknown", id="nothing reported"),
        pytest.param({}, [{"type": "Ready", "status": "True"}], "Ready", id="ready"),
        pytest.param({}, [{"type": "Ready", "status": "Unknown"}], "NotReady", id="not heard of"),
        pytest.param(
            {"unschedulable": True}, [{"type": "Ready", "status": "True"}], "Ready,SchedulingDisabled", id="cordoned"
        ),
        pytest.param({"unschedulable": True}, [], "Unknown,SchedulingDisabled", id="cordoned, nothing reported"),
    ],
)
def test_the_status_of_a_node(spec: Object, conditions: list[Object], word: str) -> None:
    obj = {"metadata": {"name": "n"}, "spec": spec, "status": {"conditions": conditions}}
    assert NODE.row(obj, NOW).cells[1] == word


def test_roles_are_read_off_labels() -> None:
    labels = {
        "node-role.kubernetes.io/worker": "",
        "node-role.kubernetes.io/control-plane": "true",
        "node-role.kubernetes.io/": "x",
        "kubernetes.io/role": "edge",
    }
    cells = NODE.row({"metadata": {"name": "n", "labels": labels}}, NOW).cells
    assert cells[2] == "control-plane,edge,worker"


def test_a_node_shows_what_it_runs_and_where_it_is() -> None:
    status = {
        "addresses": [
            {"type": "Hostname", "address": "n"},
            {"type": "InternalIP", "address": "10.1.1.1"},
            {"type": "InternalIP", "address": "fd00::1"},
        ],
        "nodeInfo": {"kubeletVersion": "v1.36.4", "kernelVersion": "6.1", "architecture": "arm64"},
    }
    cells = NODE.row({"metadata": {"name": "n"}, "spec": {}, "status": status}, NOW).cells
    shown = ["n", "Unknown", "<none>", "<unknown>", "v1.36.4", "10.1.1.1", "<none>", "<unknown>"]
    assert cells == [*shown, "6.1 (arm64)", "<unknown>"]


def test_a_runtime_class_shows_its_handler() -> None:
    obj = {"metadata": {"name": "safe", "creationTimestamp": "2026-03-14T11:59:58Z"}, "handler": "gvisor"}
    assert RUNTIME_CLASS.row(obj, NOW).cells == ["safe", "gvisor", "2s"]
