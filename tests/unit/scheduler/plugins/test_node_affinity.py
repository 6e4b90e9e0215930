from typing import Any

import pytest

from mockkube.scheduler.framework.events import ActionType, EventResource
from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.node_affinity import NodeAffinity

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_MATCH = "node(s) didn't match Pod's node affinity/selector"


def _in(key: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def _named(*names: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}


def _requires(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def _prefers(*terms: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    return {"nodeAffinity": {_PREFERRED: [{"weight": weight, "preference": term} for weight, term in terms]}}


def _node(zone: str = "") -> dict[str, Any]:
    return {"metadata": {"name": "n1", "labels": {"zone": zone} if zone else {}}}


def test_nodes_that_are_not_selected_are_refused_for_good(world) -> None:
    world.node("n1", {"zone": "a"})
    world.node("n2", {"zone": "b"})
    found = world.filter(world.build(NodeAffinity), world.pod(affinity=_requires(_in("zone", "a"))))
    assert found["n1"].is_success
    assert (found["n2"].code, found["n2"].message) == (Code.UNRESOLVABLE, _NO_MATCH)
    assert found["n2"].facts["labels"]["zone"] == "b"


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([_named("n1")], {"n1"}, id="one node"),
        pytest.param([_named("n1"), _named("n2")], {"n1", "n2"}, id="either of two"),
        pytest.param([_named("n1"), _in("zone", "a")], None, id="or any that fits otherwise"),
        pytest.param([_in("zone", "a")], None, id="not by name"),
    ],
)
def test_only_named_nodes_are_worth_a_look(world, terms, expected) -> None:
    pod = world.pod(affinity=_requires(*terms))
    found = world.build(NodeAffinity).pre_filter(CycleState(), pod, world.cache)
    assert found.status.is_success
    assert found.node_names == expected


def test_names_that_exclude_one_another_refuse_every_node(world) -> None:
    found = world.filter(world.build(NodeAffinity), world.pod(affinity=_requires(_named("n1", "n2"))))
    assert (found[""].code, found[""].message) == (Code.UNRESOLVABLE, "pod affinity terms conflict")


def test_a_pod_without_wishes_is_left_alone(world) -> None:
    world.node("n1")
    plugin, pod = world.build(NodeAffinity), world.pod()
    assert world.filter(plugin, pod)[""].code is Code.SKIP
    assert world.scores(plugin, pod) == {}


def test_preferences_add_up_by_weight(world) -> None:
    world.node("none")
    world.node("zone", {"zone": "a"})
    world.node("both", {"zone": "a", "disk": "ssd"})
    pod = world.pod(affinity=_prefers((1, _in("zone", "a")), (3, _in("disk", "ssd")), (50, {})))
    assert world.scores(world.build(NodeAffinity), pod) == {"none": 0, "zone": 25, "both": 100}


def test_affinity_added_by_the_configuration_binds_every_pod(world) -> None:
    world.node("n1", {"zone": "a"})
    world.node("n2", {"zone": "b"})
    added = {_REQUIRED: {"nodeSelectorTerms": [_in("zone", "a")]}, **_prefers((1, _in("zone", "a")))["nodeAffinity"]}
    plugin = world.build(NodeAffinity, addedAffinity=added)
    assert world.refused(plugin, world.pod()) == {"n2": "node(s) didn't match scheduler-enforced node affinity"}
    assert world.scores(plugin, world.pod()) == {"n1": 100, "n2": 0}


def test_an_operator_without_its_gate_matches_no_node(worlds) -> None:
    newer = {"matchExpressions": [{"key": "kernel", "operator": "SemverGt", "values": ["5.4"]}]}
    gate = "TaintTolerationNodeAffinitySemverComparisonOperators"
    for on, refused in ((True, {}), (False, {"n1": _NO_MATCH})):
        world = worlds("1.38", {gate: on})
        world.node("n1", {"kernel": "6.1.0"})
        assert world.refused(world.build(NodeAffinity), world.pod(affinity=_requires(newer))) == refused


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, _node("a"), True, id="a node comes that is selected"),
        pytest.param(None, _node("b"), False, id="one comes that is not"),
        pytest.param(_node(), _node("a"), True, id="a label makes it so"),
        pytest.param(_node("a"), _node("a"), False, id="it was before"),
    ],
)
def test_nodes_help_when_they_become_selected(world, event, hinted, old, new, expected) -> None:
    pod = world.pod(affinity=_requires(_in("zone", "a")))
    action = ActionType.NODE_LABEL if old else ActionType.ADD
    assert hinted(world.build(NodeAffinity), pod, event(EventResource.NODE, action, old, new)) is expected


def test_a_node_is_tried_when_terms_that_do_not_parse_are_all_that_speaks_against_it(world, event, hinted) -> None:
    unknown = {"matchExpressions": [{"key": "zone", "operator": "SemverGt", "values": ["1"]}]}
    plugin, news = world.build(NodeAffinity), event(EventResource.NODE, ActionType.ADD, None, _node("a"))
    assert hinted(plugin, world.pod(affinity=_requires(unknown)), news)
    assert not hinted(plugin, world.pod(affinity=_requires(unknown), nodeSelector={"zone": "b"}), news)
