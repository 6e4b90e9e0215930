from typing import Any

import pytest

from mockkube.scheduler.framework.events import ActionType, EventResource
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.taint_toleration import TaintToleration

_GT = {"TaintTolerationComparisonOperators": True}
_SLA = {"key": "sla", "value": "950", "effect": "NoSchedule"}


def _node(*taints: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "n1"}, "spec": {"taints": list(taints)}}


@pytest.mark.parametrize(
    ("taint", "tolerations", "refused"),
    [
        pytest.param(_SLA, [], True, id="no toleration"),
        pytest.param({**_SLA, "effect": "NoExecute"}, [], True, id="running pods are not wanted either"),
        pytest.param({**_SLA, "effect": "PreferNoSchedule"}, [], False, id="discouraged is not refused"),
        pytest.param(_SLA, [{"key": "sla", "operator": "Exists"}], False, id="any value will do"),
        pytest.param(_SLA, [{"key": "sla", "value": "1"}], True, id="another value"),
        pytest.param(_SLA, [{"key": "sla", "operator": "Gt", "value": "900"}], False, id="greater"),
        pytest.param(_SLA, [{"key": "sla", "operator": "Lt", "value": "900"}], True, id="not less"),
    ],
)
def test_a_taint_that_keeps_away_must_be_tolerated(worlds, taint, tolerations, refused) -> None:
    world = worlds(gates=_GT)
    world.node("n1", spec={"taints": [taint]})
    status = world.filter(world.build(TaintToleration), world.pod(tolerations=tolerations))["n1"]
    assert status.code is (Code.UNRESOLVABLE if refused else Code.SUCCESS)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        pytest.param("1.33", "node(s) had untolerated taint {sla: 950}", id="the taint is named"),
        pytest.param("1.34", "node(s) had untolerated taint(s)", id="not any more"),
        pytest.param("1.37", "node(s) had untolerated taint(s)", id="nor later"),
    ],
)
def test_the_message_follows_the_version(worlds, version, message) -> None:
    world = worlds(version)
    world.node("n1", spec={"taints": [{"key": "a", "effect": "PreferNoSchedule"}, _SLA]})
    assert world.refused(world.build(TaintToleration), world.pod()) == {"n1": message}


def test_a_refusal_tells_which_tolerations_came_near_and_why_they_do_not_match(world) -> None:
    world.node("n1", spec={"taints": [_SLA]})
    gt = {"key": "sla", "operator": "Gt", "value": "900"}
    pod = world.pod(tolerations=[{"key": "other", "operator": "Exists"}, gt])
    facts = world.filter(world.build(TaintToleration), pod)["n1"].facts
    assert facts["taint"] == _SLA
    assert list(facts["tolerations"]) == [{"toleration": gt, "reason": "TaintTolerationComparisonOperators is off"}]


def test_nodes_rank_by_the_taints_that_pods_had_better_avoid(world) -> None:
    avoid = [{"key": key, "effect": "PreferNoSchedule"} for key in ("a", "b")]
    world.node("none", spec={"taints": [_SLA]})
    world.node("one", spec={"taints": avoid[:1]})
    world.node("two", spec={"taints": avoid})
    plugin = world.build(TaintToleration)
    assert world.scores(plugin, world.pod()) == {"none": 100, "one": 50, "two": 0}
    soft = {"key": "a", "operator": "Exists", "effect": "PreferNoSchedule"}
    assert world.scores(plugin, world.pod(tolerations=[soft])) == {"none": 100, "one": 100, "two": 0}
    hard = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}
    assert world.scores(plugin, world.pod(tolerations=[hard])) == {"none": 100, "one": 50, "two": 0}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, _node(), True, id="a node without taints comes"),
        pytest.param(None, _node(_SLA), False, id="one with a taint comes"),
        pytest.param(_node(_SLA), _node(), True, id="a taint goes"),
        pytest.param(_node(), _node(), False, id="it was no obstacle before"),
    ],
)
def test_nodes_help_when_they_become_tolerable(world, event, hinted, old, new, expected) -> None:
    action = ActionType.NODE_TAINT if old else ActionType.ADD
    assert hinted(world.build(TaintToleration), world.pod(), event(EventResource.NODE, action, old, new)) is expected


def test_only_its_own_tolerations_help_a_pod(world, event, hinted) -> None:
    plugin, pod, other = world.build(TaintToleration), world.pod(), world.pod()
    assert hinted(plugin, pod, event(EventResource.UNSCHEDULED_POD, ActionType.POD_TOLERATION, pod, pod))
    assert not hinted(plugin, pod, event(EventResource.UNSCHEDULED_POD, ActionType.POD_TOLERATION, other, other))
