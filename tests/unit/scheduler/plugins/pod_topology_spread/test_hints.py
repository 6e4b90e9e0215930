from typing import Any

import pytest

from mockkube.scheduler.framework.events import ActionType, EventResource
from mockkube.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread

_WEB = {"app": "web"}
_OTHER = {"app": "other"}


def _node(zone: str = "", *taints: str) -> dict[str, Any]:
    labels = {"zone": zone} if zone else {}
    return {"metadata": {"name": "n1", "labels": labels}, "spec": {"taints": [{"key": key} for key in taints]}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, (_WEB, {}), True, id="one that counts comes"),
        pytest.param(None, (_OTHER, {}), False, id="one that does not comes"),
        pytest.param(None, (_WEB, {"namespace": "b"}), False, id="elsewhere"),
        pytest.param((_WEB, {}), None, True, id="one that counts goes"),
        pytest.param((_OTHER, {}), None, False, id="one that does not goes"),
        pytest.param((_WEB, {"nodeName": ""}), None, False, id="it was on no node"),
        pytest.param((_OTHER, {}), (_WEB, {}), True, id="it begins to count"),
        pytest.param((_WEB, {}), ({**_WEB, "x": ""}, {}), False, id="it counts as before"),
    ],
)
def test_pods_help_when_what_is_counted_changes(world, spread, event, hinted, old, new, expected) -> None:
    def placed(given: tuple[dict[str, str], dict[str, str]] | None) -> Any:
        return None if given is None else world.pod(given[0], **{"nodeName": "n1", **given[1]})

    pod = world.pod(_WEB, topologySpreadConstraints=[spread()])
    action = ActionType.ADD if old is None else ActionType.DELETE if new is None else ActionType.POD_LABEL
    news = event(EventResource.ASSIGNED_POD, action, placed(old), placed(new))
    assert hinted(world.build(PodTopologySpread), pod, news) is expected


@pytest.mark.parametrize(
    ("version", "expected"), [pytest.param("1.35", False, id="not yet"), pytest.param("1.36", True, id="since 1.36")]
)
def test_pods_that_room_is_kept_for_help_since_1_36(worlds, spread, event, hinted, version, expected) -> None:
    world = worlds(version)
    pod = world.pod(_WEB, topologySpreadConstraints=[spread()])
    news = event(EventResource.ASSIGNED_POD, ActionType.DELETE, world.pod(_WEB, status={"nominatedNodeName": "n1"}))
    assert hinted(world.build(PodTopologySpread), pod, news) is expected


@pytest.mark.parametrize(
    ("policy", "expected"), [pytest.param("Honor", True, id="honored"), pytest.param("Ignore", False, id="ignored")]
)
def test_a_pods_new_toleration_helps_where_taints_are_honored(world, spread, event, hinted, policy, expected) -> None:
    pod = world.pod(_WEB, topologySpreadConstraints=[spread(nodeTaintsPolicy=policy)])
    tolerant = {**pod.obj, "spec": {**pod.spec, "tolerations": [{"operator": "Exists"}]}}
    news = event(EventResource.UNSCHEDULED_POD, ActionType.POD_TOLERATION, pod, tolerant)
    assert hinted(world.build(PodTopologySpread), pod, news) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, _node("a"), True, id="one in a domain comes"),
        pytest.param(None, _node(), False, id="one in none comes"),
        pytest.param(_node("a"), None, True, id="one in a domain goes"),
        pytest.param(_node(), _node("a"), True, id="it joins a domain"),
        pytest.param(_node("a"), _node("b"), True, id="it changes its domain"),
        pytest.param(_node("a"), _node("a"), False, id="nothing that counts"),
        pytest.param(_node("a", "x"), _node("a"), True, id="a taint goes"),
        pytest.param(_node("", "x"), _node(), False, id="a taint goes where there is no domain"),
    ],
)
def test_nodes_help_when_domains_change(world, spread, event, hinted, old, new, expected) -> None:
    pod = world.pod(_WEB, topologySpreadConstraints=[spread()])
    action = ActionType.ADD if old is None else ActionType.DELETE if new is None else ActionType.NODE_LABEL
    assert hinted(world.build(PodTopologySpread), pod, event(EventResource.NODE, action, old, new)) is expected
