"""What an update means for pods that wait."""

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.scheduler.framework.events import ActionType, EventResource
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator
from mockkube.scheduler.framework.scheduling_properties import (
    node_scheduling_properties_change,
    pod_scheduling_properties_change,
)

CAPS = Capabilities(gates=frozenset({"DynamicResourceAllocation", "NodeDeclaredFeatures", "InPlacePodVerticalScaling"}))


def pod(cpu="2", *, labels=None, status=None, **spec):
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    metadata = {"name": "p", "namespace": "a", "uid": "p", "labels": labels or {}}
    return PodInfo({"metadata": metadata, "spec": {"containers": containers, **spec}, "status": status or {}})


RESIZED = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(pod(), pod(status={"phase": "Running"}), [ActionType.UPDATE], id="nothing that has a name"),
        pytest.param(pod(), pod(labels={"a": "b"}), [ActionType.POD_LABEL], id="labels"),
        pytest.param(pod("2"), pod("1"), [ActionType.POD_SCALE_DOWN], id="it asks for less"),
        pytest.param(pod("1"), pod("2"), [ActionType.UPDATE], id="it asks for more"),
        pytest.param(pod(status=RESIZED), pod(status={}), [ActionType.POD_SCALE_DOWN], id="a resize is done"),
        pytest.param(
            pod(schedulingGates=[{"name": "g"}]), pod(), [ActionType.POD_GATES_ELIMINATED], id="the last gate"
        ),
        pytest.param(pod(), pod(tolerations=[{}]), [ActionType.POD_TOLERATION], id="a toleration"),
        pytest.param(
            pod(),
            pod(status={"resourceClaimStatuses": [{"name": "c"}]}),
            [ActionType.POD_GENERATED_CLAIM],
            id="a claim",
        ),
        pytest.param(
            pod(), pod("1", labels={"a": "b"}), [ActionType.POD_LABEL, ActionType.POD_SCALE_DOWN], id="several things"
        ),
    ],
)
def test_changes_of_a_pod(old, new, expected):
    events = pod_scheduling_properties_change(EventResource.ASSIGNED_POD, old, new, PodRequestCalculator(CAPS), CAPS)
    assert [event.action_type for event in events] == expected
    assert all((event.old, event.new) == (old.obj, new.obj) for event in events)


def node(*, labels=None, annotations=None, status=None, **spec):
    metadata = {"name": "n", "labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(node(), node(), [], id="nothing"),
        pytest.param(node(unschedulable=True), node(), [ActionType.NODE_TAINT], id="a cordon lifted"),
        pytest.param(node(), node(unschedulable=True), [], id="a cordon"),
        pytest.param(node(), node(taints=[{"key": "a"}]), [ActionType.NODE_TAINT], id="taints"),
        pytest.param(node(), node(labels={"a": "b"}), [ActionType.NODE_LABEL], id="labels"),
        pytest.param(node(), node(annotations={"a": "b"}), [ActionType.NODE_ANNOTATION], id="annotations"),
        pytest.param(
            node(),
            node(status={"allocatable": {"cpu": "1"}}),
            [ActionType.NODE_ALLOCATABLE],
            id="what can be had of it",
        ),
        pytest.param(
            node(status={"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "1"}]}),
            node(status={"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2"}]}),
            [],
            id="a sign of life",
        ),
        pytest.param(
            node(),
            node(status={"conditions": [{"type": "Ready", "status": "True"}]}),
            [ActionType.NODE_CONDITION],
            id="a condition",
        ),
        pytest.param(
            node(), node(status={"declaredFeatures": ["A"]}), [ActionType.NODE_DECLARED_FEATURE], id="declared features"
        ),
    ],
)
def test_changes_of_a_node(old, new, expected):
    assert [event.action_type for event in node_scheduling_properties_change(old, new, CAPS)] == expected
