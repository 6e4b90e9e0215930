from typing import Any

import pytest

from mockkube.scheduler.framework.events import ActionType, EventResource
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.node_resources.fit import NodeResourcesFit

_FOO = "example.com/foo"


def _asks(**requests: str) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"requests": requests}}]}


def _has(cpu: str = "4", pods: str = "10", **more: str) -> dict[str, Any]:
    return {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": pods, **more}}


def _node(cpu: str, **more: str) -> dict[str, Any]:
    return {"metadata": {"name": "n1"}, "spec": {}, "status": _has(cpu, **more)}


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        pytest.param(_asks(cpu="2"), Code.SUCCESS, "", id="just what is left"),
        pytest.param(_asks(cpu="2001m"), Code.UNSCHEDULABLE, "Insufficient cpu", id="more than is left"),
        pytest.param(_asks(cpu="5"), Code.UNRESOLVABLE, "Insufficient cpu", id="more than there is"),
        pytest.param(
            _asks(cpu="3", memory="9Gi"), Code.UNRESOLVABLE, "Insufficient cpu, Insufficient memory", id="all are told"
        ),
        pytest.param(
            {"containers": [{"name": "c", "resources": {"requests": {_FOO: "1"}}}]},
            Code.UNRESOLVABLE,
            f"Insufficient {_FOO}",
            id="what the node does not have",
        ),
        pytest.param({"containers": [{"name": "c"}]}, Code.SUCCESS, "", id="nothing"),
    ],
)
def test_a_node_must_have_left_what_is_asked_for(world, asked, code, message) -> None:
    world.node("n1", status=_has())
    world.pod(nodeName="n1", **_asks(cpu="2"))
    status = world.filter(world.build(NodeResourcesFit), world.pod(**asked))["n1"]
    assert (status.code, status.message) == (code, message)


def test_before_1_34_a_request_larger_than_the_node_is_not_told_apart(worlds) -> None:
    world = worlds("1.33")
    world.node("n1", status=_has())
    assert world.filter(world.build(NodeResourcesFit), world.pod(**_asks(cpu="5")))["n1"].code is Code.UNSCHEDULABLE


def test_a_pod_that_asks_for_nothing_is_still_one_more_pod(world) -> None:
    world.node("n1", status=_has(pods="1"))
    world.pod(nodeName="n1")
    status = world.filter(world.build(NodeResourcesFit), world.pod())["n1"]
    assert (status.code, status.message) == (Code.UNSCHEDULABLE, "Too many pods")
    assert status.facts["shortages"] == [{"resource": "pods", "requested": 1, "used": 1, "capacity": 1}]


def test_extended_resources_may_be_ignored_by_name_or_group(world) -> None:
    world.node("n1", status=_has())
    pod = world.pod(containers=[{"name": "c", "resources": {"requests": {_FOO: "1", "example.org/bar": "1"}}}])
    by_both = world.build(NodeResourcesFit, ignoredResources=[_FOO], ignoredResourceGroups=["example.org"])
    by_group = world.build(NodeResourcesFit, ignoredResourceGroups=["example.com"])
    assert world.refused(by_both, pod) == {}
    assert world.refused(by_group, pod) == {"n1": "Insufficient example.org/bar"}


def test_what_a_device_class_stands_for_is_left_to_devices_where_a_node_has_none(world) -> None:
    world.other("DeviceClass", {"metadata": {"name": "foo"}, "spec": {"extendedResourceName": _FOO}})
    world.node("none", status=_has())
    world.node("few", status=_has(**{_FOO: "1"}))
    pod = world.pod(containers=[{"name": "c", "resources": {"requests": {_FOO: "2"}}}])
    assert world.refused(world.build(NodeResourcesFit), pod) == {"few": f"Insufficient {_FOO}"}


def test_without_the_gate_device_classes_stand_for_nothing(worlds) -> None:
    world = worlds("1.36", {"DRAExtendedResource": False})
    world.node("n1", status=_has())
    pod = world.pod(containers=[{"name": "c", "resources": {"requests": {_FOO: "1"}}}])
    plugin = world.build(NodeResourcesFit)
    assert world.refused(plugin, pod) == {"n1": f"Insufficient {_FOO}"}
    assert EventResource.DEVICE_CLASS not in [one.resource for one in plugin.events_to_register()]


_SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 50, "score": 10}, {"utilization": 100, "score": 5}]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param({"type": "LeastAllocated"}, {"empty": 75, "half": 31}, id="the emptier"),
        pytest.param({"type": "MostAllocated"}, {"empty": 25, "half": 68}, id="the fuller"),
        pytest.param(
            {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]},
            {"empty": 75, "half": 28},
            id="cpu counts more",
        ),
        pytest.param(
            {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": _SHAPE}},
            {"empty": 50, "half": 82},
            id="a line with a bend",
        ),
    ],
)
def test_nodes_rank_by_the_scoring_strategy(world, strategy, expected) -> None:
    for name in ("empty", "half"):
        world.node(name, status=_has())
    world.pod(nodeName="half", **_asks(cpu="2", memory="3Gi"))
    plugin = world.build(NodeResourcesFit, scoringStrategy=strategy)
    assert world.scores(plugin, world.pod(**_asks(cpu="1", memory="2Gi"))) == expected


def test_a_little_is_counted_for_containers_that_ask_for_nothing(world) -> None:
    world.node("idle", status=_has("1"))
    world.node("busy", status=_has("1"))
    world.pod(nodeName="busy")
    cpu = {"type": "LeastAllocated", "resources": [{"name": "cpu"}]}
    assert world.scores(world.build(NodeResourcesFit, scoringStrategy=cpu), world.pod()) == {"idle": 90, "busy": 80}


def test_what_a_pod_states_as_a_whole_is_filtered_but_does_not_rank_nodes(world) -> None:
    world.node("n1", status=_has("4"))
    pod = world.pod(**_asks(cpu="1"), resources={"requests": {"cpu": "3", "memory": "6Gi"}})
    cpu = {"type": "LeastAllocated", "resources": [{"name": "cpu"}]}
    plugin = world.build(NodeResourcesFit, scoringStrategy=cpu)
    assert world.scores(plugin, pod) == {"n1": 75}
    world.pod(nodeName="n1", **_asks(), resources={"requests": {"cpu": "2"}})
    assert world.refused(plugin, pod) == {"n1": "Insufficient cpu"}
    assert world.scores(plugin, pod) == {"n1": 25}


def test_a_resource_that_the_pod_does_not_ask_for_does_not_count(world) -> None:
    world.node("n1", status=_has(**{_FOO: "4"}))
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu"}, {"name": _FOO}]}
    plugin = world.build(NodeResourcesFit, scoringStrategy=strategy)
    with_foo = [{"name": "c", "resources": {"requests": {"cpu": "1", _FOO: "3"}}}]
    assert world.scores(plugin, world.pod(**_asks(cpu="1"))) == {"n1": 25}
    assert world.scores(plugin, world.pod(containers=with_foo)) == {"n1": 50}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, _node("4"), True, id="a node comes that is large enough"),
        pytest.param(None, _node("1"), False, id="one comes that is not"),
        pytest.param(_node("2"), _node("3"), True, id="it grows"),
        pytest.param(_node("4"), _node("3"), False, id="it shrinks"),
        pytest.param(_node("3"), _node("3", memory="9Gi"), False, id="it grows where nothing is asked for"),
        pytest.param(_node("3"), _node("3", pods="20"), True, id="it takes more pods"),
    ],
)
def test_nodes_help_by_being_large_enough_and_growing(world, event, hinted, old, new, expected) -> None:
    action = ActionType.NODE_ALLOCATABLE if old else ActionType.ADD
    news = event(EventResource.NODE, action, old, new)
    assert hinted(world.build(NodeResourcesFit), world.pod(**_asks(cpu="2")), news) is expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(_asks(cpu="1", memory="1Gi"), True, id="what the other asks for"),
        pytest.param(_asks(cpu="2", memory="512Mi"), False, id="something else"),
    ],
)
def test_pods_help_by_giving_up(world, event, hinted, after, expected) -> None:
    before = world.pod(nodeName="n1", **_asks(cpu="2", memory="1Gi"))
    news = event(EventResource.ASSIGNED_POD, ActionType.POD_SCALE_DOWN, before, world.pod(nodeName="n1", **after))
    assert hinted(world.build(NodeResourcesFit), world.pod(**_asks(cpu="2")), news) is expected


def test_pods_that_go_help_if_they_were_on_a_node(world, event, hinted) -> None:
    plugin, pod = world.build(NodeResourcesFit), world.pod()
    assert hinted(plugin, pod, event(EventResource.ASSIGNED_POD, ActionType.DELETE, world.pod(nodeName="n1")))
    assert not hinted(plugin, pod, event(EventResource.ASSIGNED_POD, ActionType.DELETE, world.pod()))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, {"extendedResourceName": _FOO}, True, id="a new one"),
        pytest.param({}, {"extendedResourceName": _FOO}, True, id="it begins to"),
        pytest.param({"extendedResourceName": _FOO}, {"extendedResourceName": _FOO}, False, id="it did before"),
        pytest.param(None, {"extendedResourceName": "example.com/other"}, False, id="for something else"),
    ],
)
def test_device_classes_help_when_they_begin_to_stand_for_what_is_asked_for(
    world, event, hinted, old, new, expected
) -> None:
    old, new = ({"metadata": {"name": "c"}, "spec": spec} if spec is not None else None for spec in (old, new))
    pod = world.pod(containers=[{"name": "c", "resources": {"requests": {_FOO: "1"}}}])
    news = event(EventResource.DEVICE_CLASS, ActionType.UPDATE if old else ActionType.ADD, old, new)
    assert hinted(world.build(NodeResourcesFit), pod, news) is expected
