from typing import Any

import pytest

from mockkube.scheduler.framework.events import ActionType, EventResource
from mockkube.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_DB, _WEB = {"app": "db"}, {"app": "web"}


def _requires(kind: str, *labels: dict[str, str]) -> dict[str, Any]:
    terms = [{"topologyKey": "zone", "labelSelector": {"matchLabels": one}} for one in labels]
    return {"affinity": {kind: {_REQUIRED: terms}}}


_NEAR_DB, _FAR_FROM_DB = _requires("podAffinity", _DB), _requires("podAntiAffinity", _DB)


def _node(zone: str = "") -> dict[str, Any]:
    return {"metadata": {"name": "n1", "labels": {"zone": zone} if zone else {}}}


@pytest.mark.parametrize(
    ("wish", "old", "new", "expected"),
    [
        pytest.param(_NEAR_DB, None, _DB, True, id="a wanted one comes"),
        pytest.param(_NEAR_DB, None, _WEB, False, id="another comes"),
        pytest.param(_NEAR_DB, _WEB, _DB, True, id="one becomes wanted"),
        pytest.param(_NEAR_DB, _DB, {**_DB, "x": ""}, False, id="it was wanted before"),
        pytest.param(_NEAR_DB, _DB, None, False, id="a wanted one goes"),
        pytest.param(_FAR_FROM_DB, _DB, None, True, id="an unwanted one goes"),
        pytest.param(_FAR_FROM_DB, _WEB, None, False, id="another goes"),
        pytest.param(_FAR_FROM_DB, _DB, _WEB, True, id="an unwanted one becomes another"),
        pytest.param(_FAR_FROM_DB, None, _DB, False, id="an unwanted one comes"),
    ],
)
def test_pods_help_by_coming_near_and_by_going(world, event, hinted, wish, old, new, expected) -> None:
    def placed(labels: dict[str, str] | None) -> Any:
        return None if labels is None else world.pod(labels, nodeName="n1")

    action = ActionType.ADD if old is None else ActionType.DELETE if new is None else ActionType.POD_LABEL
    news = event(EventResource.ASSIGNED_POD, action, placed(old), placed(new))
    assert hinted(world.build(InterPodAffinity), world.pod(_WEB, **wish), news) is expected


def test_a_pod_helps_by_going_if_it_did_not_want_the_other(world, event, hinted) -> None:
    plugin = world.build(InterPodAffinity)
    gone = world.pod(_DB, nodeName="n1", **_requires("podAntiAffinity", _WEB))
    assert hinted(plugin, world.pod(_WEB), event(EventResource.ASSIGNED_POD, ActionType.DELETE, gone))
    assert not hinted(plugin, world.pod(_DB), event(EventResource.ASSIGNED_POD, ActionType.DELETE, gone))


def test_pods_on_no_node_do_not_help(world, event, hinted) -> None:
    news = event(EventResource.ASSIGNED_POD, ActionType.DELETE, world.pod(_DB))
    assert not hinted(world.build(InterPodAffinity), world.pod(**_FAR_FROM_DB), news)


@pytest.mark.parametrize(
    ("version", "expected"), [pytest.param("1.35", False, id="not yet"), pytest.param("1.36", True, id="since 1.36")]
)
def test_what_helps_since_1_36(worlds, event, hinted, version, expected) -> None:
    world = worlds(version)
    plugin, pod = world.build(InterPodAffinity), world.pod(_WEB, **_FAR_FROM_DB)
    hostile = world.pod({}, nodeName="n1", **_requires("podAntiAffinity", _WEB))
    kept_for = world.pod(_DB, status={"nominatedNodeName": "n1"})
    assert hinted(plugin, pod, event(EventResource.UNSCHEDULED_POD, ActionType.POD_LABEL, pod, pod)) is expected
    assert hinted(plugin, pod, event(EventResource.ASSIGNED_POD, ActionType.DELETE, hostile)) is expected
    assert hinted(plugin, pod, event(EventResource.ASSIGNED_POD, ActionType.DELETE, kept_for)) is expected


@pytest.mark.parametrize(
    ("version", "expected"), [pytest.param("1.36", False, id="all must"), pytest.param("1.37", True, id="one will do")]
)
def test_how_many_terms_must_mean_the_pod_that_goes(worlds, event, hinted, version, expected) -> None:
    world = worlds(version)
    pod = world.pod(**_requires("podAntiAffinity", _DB, _WEB))
    news = event(EventResource.ASSIGNED_POD, ActionType.DELETE, world.pod(_DB, nodeName="n1"))
    assert hinted(world.build(InterPodAffinity), pod, news) is expected


@pytest.mark.parametrize(
    ("wish", "old", "new", "expected"),
    [
        pytest.param(_NEAR_DB, None, _node("a"), True, id="near: one with the key comes"),
        pytest.param(_NEAR_DB, None, _node(), False, id="near: one without comes"),
        pytest.param(_NEAR_DB, _node(), _node("a"), True, id="near: it joins a domain"),
        pytest.param(_NEAR_DB, _node("a"), _node("b"), True, id="near: it changes its domain"),
        pytest.param(_NEAR_DB, _node("a"), _node(), False, id="near: it leaves its domain"),
        pytest.param(_FAR_FROM_DB, None, _node(), True, id="far: any that comes"),
        pytest.param(_FAR_FROM_DB, _node("a"), _node(), True, id="far: it leaves its domain"),
        pytest.param(_FAR_FROM_DB, _node("a"), _node("b"), True, id="far: it changes its domain"),
        pytest.param(_FAR_FROM_DB, _node(), _node("a"), False, id="far: it joins a domain"),
    ],
)
def test_nodes_help_by_their_domains(world, event, hinted, wish, old, new, expected) -> None:
    action = ActionType.NODE_LABEL if old else ActionType.ADD
    news = event(EventResource.NODE, action, old, new)
    assert hinted(world.build(InterPodAffinity), world.pod(**wish), news) is expected
