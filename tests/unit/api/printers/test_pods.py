from datetime import UTC, datetime
from typing import Any

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.core.pod.printer import POD
from mockkube.api.kinds.core.pod_template import POD_TEMPLATE

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
RUNNING = {"running": {"startedAt": "2026-03-14T11:00:00Z"}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def container(state: Object, **fields: Any) -> Object:
    return {"name": "c", "state": state, "ready": "running" in state, **fields}


def pod(*states: Object, spec: Object | None = None, **status: Any) -> Object:
    status = {"phase": "Running", "containerStatuses": [container(state) for state in states], **status}
    return {
        "metadata": {"name": "web-0", "creationTimestamp": "2026-03-14T11:55:00Z"},
        "spec": {"containers": [{"name": "c"} for _ in states], **(spec or {})},
        "status": status,
    }


def shown(obj: Object) -> tuple[Any, ...]:
    return tuple(POD.row(obj, NOW).cells[1:4])


def condition(kind: str, status: str = "True", reason: str = "") -> Object:
    return {"type": kind, "status": status, "reason": reason}


@pytest.mark.parametrize(
    ("obj", "cells"),
    [
        pytest.param({"metadata": {"name": "p"}}, ("0/0", "", "0"), id="nothing but a name"),
        pytest.param(pod(RUNNING, RUNNING), ("2/2", "Running", "0"), id="running"),
        pytest.param(pod(phase="Failed", reason="Evicted"), ("0/0", "Evicted", "0"), id="a reason outweighs the phase"),
        pytest.param(
            pod(phase="Pending", conditions=[condition("PodScheduled", "False", "SchedulingGated")]),
            ("0/0", "SchedulingGated", "0"),
            id="gated",
        ),
        pytest.param(
            pod(RUNNING, {"waiting": {"reason": "CrashLoopBackOff"}}),
            ("1/2", "CrashLoopBackOff", "0"),
            id="one waits",
        ),
        pytest.param(
            pod({"terminated": {"exitCode": 3, "reason": "Error"}}, {"waiting": {"reason": "ErrImagePull"}}),
            ("0/2", "Error", "0"),
            id="the first in trouble has the word",
        ),
        pytest.param(pod({"terminated": {"exitCode": 1, "signal": 9}}), ("0/1", "Signal:9", "0"), id="by a signal"),
        pytest.param(pod({"terminated": {"exitCode": 7}}), ("0/1", "ExitCode:7", "0"), id="by its exit code"),
        pytest.param(pod(DONE, phase="Succeeded"), ("0/1", "Completed", "0"), id="completed"),
        pytest.param(
            pod(DONE, RUNNING, conditions=[condition("Ready")]), ("1/2", "Running", "0"), id="the rest runs, and ready"
        ),
        pytest.param(pod(DONE, RUNNING), ("1/2", "NotReady", "0"), id="the rest runs"),
        pytest.param(
            pod(DONE, {"terminated": {"exitCode": 2, "reason": "Error"}}, phase="Failed"),
            ("0/2", "Error", "0"),
            id="the rest failed",
        ),
        pytest.param(pod({"waiting": {}}, phase="Pending"), ("0/1", "Pending", "0"), id="waits without a reason"),
    ],
)
def test_the_status_is_one_word(obj: Object, cells: tuple[str, ...]) -> None:
    assert shown(obj) == cells


@pytest.mark.parametrize(
    ("state", "word"),
    [
        pytest.param({"running": {}}, "Init:1/2", id="running"),
        pytest.param({"waiting": {"reason": "PodInitializing"}}, "Init:1/2", id="about to"),
        pytest.param({"waiting": {"reason": "ErrImagePull"}}, "Init:ErrImagePull", id="waits for a reason"),
        pytest.param({"terminated": {"exitCode": 1, "reason": "Error"}}, "Init:Error", id="failed for a reason"),
        pytest.param({"terminated": {"exitCode": 1, "signal": 15}}, "Init:Signal:15", id="by a signal"),
        pytest.param({"terminated": {"exitCode": 4}}, "Init:ExitCode:4", id="by its exit code"),
    ],
)
def test_the_first_init_container_that_is_not_done_has_the_word(state: Object, word: str) -> None:
    init = [container({"terminated": {"exitCode": 0}}, name="a"), container(state, name="b", restartCount=2)]
    spec = {"initContainers": [{"name": "a"}, {"name": "b"}]}
    obj = pod({"waiting": {"reason": "PodInitializing"}}, spec=spec, phase="Pending", initContainerStatuses=init)
    assert shown(obj) == ("0/1", word, "2")


def test_once_initialized_the_containers_have_the_word() -> None:
    init = [container({"running": {}}, name="a", restartCount=2)]
    obj = pod(
        {"waiting": {"reason": "CrashLoopBackOff"}},
        spec={"initContainers": [{"name": "a"}]},
        initContainerStatuses=init,
        conditions=[condition("Initialized")],
    )
    assert shown(obj) == ("0/1", "CrashLoopBackOff", "0")


def test_a_sidecar_counts_as_a_container_once_it_has_started() -> None:
    spec = {"initContainers": [{"name": "proxy", "restartPolicy": "Always"}, {"name": "once"}]}
    init = [
        container(RUNNING, name="proxy", started=True, restartCount=1),
        container({"terminated": {"exitCode": 0}}, name="once", restartCount=5),
    ]
    assert shown(pod(RUNNING, spec=spec, initContainerStatuses=init)) == ("2/2", "Running", "1")


def test_a_sidecar_that_has_not_started_holds_the_pod_up() -> None:
    spec = {"initContainers": [{"name": "proxy", "restartPolicy": "Always"}]}
    init = [container(RUNNING, name="proxy", started=False)]
    assert shown(pod(RUNNING, spec=spec, initContainerStatuses=init)) == ("0/2", "Init:0/1", "0")


def test_restarts_come_with_the_age_of_the_last() -> None:
    statuses = [
        container(RUNNING, restartCount=2, lastState={"terminated": {"finishedAt": "2026-03-14T11:50:00Z"}}),
        container(RUNNING, restartCount=1, lastState={"terminated": {"finishedAt": "2026-03-14T11:20:00Z"}}),
    ]
    assert shown(pod(containerStatuses=statuses))[2] == "3 (10m ago)"


@pytest.mark.parametrize(
    ("status", "word"),
    [
        pytest.param({}, "Terminating", id="a running pod"),
        pytest.param({"reason": "NodeLost"}, "Unknown", id="on a lost node"),
        pytest.param({"phase": "Failed"}, "Failed", id="a pod that has ended"),
    ],
)
def test_a_deletion_shows(status: Object, word: str) -> None:
    obj = pod(**status)
    obj["metadata"]["deletionTimestamp"] = "2026-03-14T11:59:00Z"
    assert shown(obj)[1] == word


def test_wide_cells_say_where_the_pod_is() -> None:
    spec = {"nodeName": "n1", "readinessGates": [{"conditionType": "lb"}, {"conditionType": "dns"}]}
    obj = pod(spec=spec, nominatedNodeName="n2", podIPs=[{"ip": "10.0.0.9"}], conditions=[condition("lb")])
    assert POD.row(obj, NOW).cells[4:] == ["5m", "10.0.0.9", "n1", "n2", "1/2"]
    assert POD.row(pod(), NOW).cells[4:] == ["5m", "<none>", "<none>", "<none>", "<none>"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_row_of_a_pod_that_has_ended_is_marked_completed(phase: str) -> None:
    (found,) = POD.row(pod(phase=phase), NOW).conditions
    assert (found["type"], found["status"], found["reason"]) == ("Completed", "True", phase)


def test_the_row_of_a_running_pod_has_no_marks() -> None:
    assert POD.row(pod(), NOW).conditions == ()


def test_a_template_shows_its_containers_and_labels() -> None:
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j"}]},
    }
    cells = POD_TEMPLATE.row({"metadata": {"name": "t"}, "template": template}, NOW).cells
    assert cells == ["t", "a,b", "i:1,j", "app=x"]
