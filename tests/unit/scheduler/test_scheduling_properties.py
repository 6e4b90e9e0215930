"""What an update means for pods that wait."""

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.scheduler.framework.events import Action, Subject
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import RequestReader
from mockkube.scheduler.scheduling_properties import of_node, of_pod

CAPS = Capabilities(gates=frozenset({"DynamicResourceAllocation", "NodeDeclaredFeatures", "InPlacePodVerticalScaling"}))


def pod(cpu="2", *, labels=None, status=None, **spec):
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    metadata = {"name": "p", "namespace": "a", "uid": "p", "labels": labels or {}}
    return PodInfo({"metadata": metadata, "spec": {"containers": containers, **spec}, "status": status or {}})


RESIZED = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(pod(), pod(status={"phase": "Running"}), [Action.UPDATE], id="nothing that has a name"),
        pytest.param(pod(), pod(labels={"a": "b"}), [Action.POD_LABEL], id="labels"),
        pytest.param(pod("2"), pod("1"), [Action.POD_SCALE_DOWN], id="it asks for less"),
        pytest.param(pod("1"), pod("2"), [Action.UPDATE], id="it asks for more"),
        pytest.param(pod(status=RESIZED), pod(status={}), [Action.POD_SCALE_DOWN], id="a resize is done"),
        pytest.param(pod(schedulingGates=[{"name": "g"}]), pod(), [Action.POD_GATES_ELIMINATED], id="the last gate"),
        pytest.param(pod(), pod(tolerations=[{}]), [Action.POD_TOLERATION], id="a toleration"),
        pytest.param(
            pod(), pod(status={"resourceClaimStatuses": [{"name": "c"}]}), [Action.POD_GENERATED_CLAIM], id="a claim"
        ),
        pytest.param(
            pod(), pod("1", labels={"a": "b"}), [Action.POD_LABEL, Action.POD_SCALE_DOWN], id="several things"
        ),
    ],
)
def test_changes_of_a_pod(old, new, expected):
    events = of_pod(Subject.ASSIGNED_POD, old, new, RequestReader(CAPS), CAPS)
    assert [event.action for event in events] == expected
    assert all((event.old, event.new) == (old.obj, new.obj) for event in events)


def node(*, labels=None, annotations=None, status=None, **spec):
    metadata = {"name": "n", "labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(node(), node(), [], id="nothing"),
        pytest.param(node(unschedulable=True), node(), [Action.NODE_TAINT], id="a cordon lifted"),
        pytest.param(node(), node(unschedulable=True), [], id="a cordon"),
        pytest.param(node(), node(taints=[{"key": "a"}]), [Action.NODE_TAINT], id="taints"),
        pytest.param(node(), node(labels={"a": "b"}), [Action.NODE_LABEL], id="labels"),
        pytest.param(node(), node(annotations={"a": "b"}), [Action.NODE_ANNOTATION], id="annotations"),
        pytest.param(
            node(), node(status={"allocatable": {"cpu": "1"}}), [Action.NODE_ALLOCATABLE], id="what can be had of it"
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
            [Action.NODE_CONDITION],
            id="a condition",
        ),
        pytest.param(
            node(), node(status={"declaredFeatures": ["A"]}), [Action.NODE_DECLARED_FEATURE], id="declared features"
        ),
    ],
)
def test_changes_of_a_node(old, new, expected):
    assert [event.action for event in of_node(old, new, CAPS)] == expected
