from typing import Any

import pytest

from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NOT_NEAR = "node(s) didn't match pod affinity rules"
_NEAR = "node(s) didn't match pod anti-affinity rules"
_UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"
_DB, _WEB = {"app": "db"}, {"app": "web"}


def _term(labels: dict[str, str] | None, key: str = "zone", **fields: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": None if labels is None else {"matchLabels": labels}, **fields}


def _near(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"podAffinity": {_REQUIRED: list(terms)}}}


def _far(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {_REQUIRED: list(terms)}}}


@pytest.fixture
def zones(world: Any) -> Any:
    """Two zones, one of them with two nodes, and a node without a zone."""
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        world.node(name, {"zone": zone})
    world.node("nowhere")
    return world


def test_a_pod_goes_only_where_wanted_pods_are_in_the_domain(zones) -> None:
    zones.pod(_DB, nodeName="a1")
    found = zones.filter(zones.build(InterPodAffinity), zones.pod(**_near(_term(_DB))))
    assert [name for name, status in found.items() if status.is_success] == ["a1", "a2"]
    assert (found["b1"].code, found["b1"].message) == (Code.UNRESOLVABLE, _NOT_NEAR)
    assert found["b1"].facts["terms"] == [_term(_DB)]


def test_all_terms_must_mean_the_same_pod(zones) -> None:
    plugin = zones.build(InterPodAffinity)
    pod = zones.pod(**_near(_term(_DB), _term({"tier": "1"})))
    zones.pod(_DB, nodeName="a1")
    zones.pod({"tier": "1"}, nodeName="a1")
    assert len(zones.refused(plugin, pod)) == 4
    zones.pod({**_DB, "tier": "1"}, nodeName="a1")
    assert zones.refused(plugin, pod).keys() == {"b1", "nowhere"}


def test_terms_may_ask_for_different_domains(zones) -> None:
    zones.pod(_DB, nodeName="a1")
    pod = zones.pod(**_near(_term(_DB), _term(_DB, "kubernetes.io/hostname")))
    assert zones.refused(zones.build(InterPodAffinity), pod).keys() == {"a2", "b1", "nowhere"}


def test_the_first_that_wants_its_like_goes_wherever_there_is_a_domain(zones) -> None:
    plugin = zones.build(InterPodAffinity)
    first, stranger = zones.pod(_WEB, **_near(_term(_WEB))), zones.pod(_DB, **_near(_term(_WEB)))
    assert zones.refused(plugin, first) == {"nowhere": _NOT_NEAR}
    assert len(zones.refused(plugin, stranger)) == 4
    zones.pod(_WEB, nodeName="b1")
    assert zones.refused(plugin, first).keys() == {"a1", "a2", "nowhere"}


def test_a_pod_keeps_away_from_the_domains_of_unwanted_pods(zones) -> None:
    zones.pod(_DB, nodeName="a1")
    found = zones.filter(zones.build(InterPodAffinity), zones.pod(**_far(_term(_DB), _term(_WEB))))
    assert {name: status.message for name, status in found.items() if status.is_rejected} == {"a1": _NEAR, "a2": _NEAR}
    assert found["a2"].code is Code.UNSCHEDULABLE
    assert found["a2"].facts["topology_key"] == "zone"


def test_a_pod_keeps_away_from_the_domains_where_it_is_unwanted(zones) -> None:
    zones.pod(_DB, nodeName="a1", **_far(_term(_WEB)))
    plugin = zones.build(InterPodAffinity)
    found = zones.filter(plugin, zones.pod(_WEB))
    assert {name: status.message for name, status in found.items() if status.is_rejected} == {
        "a1": _UNWELCOME,
        "a2": _UNWELCOME,
    }
    assert found["a1"].code is Code.UNSCHEDULABLE
    assert zones.filter(plugin, zones.pod(_DB))[""].code is Code.SKIP


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        pytest.param({}, {"a"}, id="its own namespace unless said otherwise"),
        pytest.param({"namespaces": ["b"]}, {"b"}, id="those named"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "x"}}}, {"b"}, id="those selected"),
        pytest.param({"namespaces": ["c"], "namespaceSelector": {"matchLabels": {"team": "x"}}}, {"b", "c"}, id="both"),
        pytest.param({"namespaceSelector": {}}, {"a", "b", "c"}, id="all"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "none"}}}, set(), id="none"),
    ],
)
def test_terms_mean_pods_of_some_namespaces(zones, fields, meant) -> None:
    for name, labels in (("a", {}), ("b", {"team": "x"}), ("c", {})):
        zones.other("Namespace", {"metadata": {"name": name, "labels": labels}})
    plugin = zones.build(InterPodAffinity)
    of_mine, of_theirs = set(), set()
    for namespace in ("a", "b", "c"):
        other = zones.pod(_DB, namespace=namespace, nodeName="a1")
        if zones.refused(plugin, zones.pod(**_far(_term(_DB, **fields)))):
            of_mine.add(namespace)
        zones.cache.remove_pod(other.uid)
        other = zones.pod(nodeName="a1", **_far(_term(_DB, **fields)))
        if zones.refused(plugin, zones.pod(_DB, namespace=namespace)):
            of_theirs.add(namespace)
        zones.cache.remove_pod(other.uid)
    assert of_mine == meant
    assert of_theirs == meant


@pytest.mark.parametrize(
    ("version", "everywhere"),
    [
        pytest.param("1.36", True, id="means every namespace: released so"),
        pytest.param("1.37", False, id="means those that it selects"),
    ],
)
def test_a_namespace_selector_that_also_selects_no_labels(worlds, version, everywhere) -> None:
    world = worlds(version)
    world.node("n1", {"zone": "a"})
    world.other("Namespace", {"metadata": {"name": "b", "labels": {"team": "x"}}})
    absent = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    world.pod(_DB, namespace="b", nodeName="n1")
    pod = world.pod(**_far(_term(_DB, namespaceSelector=absent)))
    assert bool(world.refused(world.build(InterPodAffinity), pod)) is everywhere


def test_a_term_without_a_selector_means_nobody(zones) -> None:
    zones.pod(_DB, nodeName="a1")
    assert zones.refused(zones.build(InterPodAffinity), zones.pod(**_far(_term(None)))) == {}


def test_a_selector_that_cannot_be_read_refuses_the_pod(zones) -> None:
    wrong = {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}}
    plugin = zones.build(InterPodAffinity)
    found = zones.filter(plugin, zones.pod(**_near(wrong)))[""]
    assert (found.code, found.message[:12]) == (Code.UNRESOLVABLE, "parsing pod:")
    zones.pod(nodeName="a1", **_far(wrong))
    assert zones.filter(plugin, zones.pod(_WEB))[""].code is Code.SKIP


def test_counts_follow_pods_and_nodes_from_cycle_to_cycle(zones) -> None:
    plugin, pod = zones.build(InterPodAffinity), zones.pod(_WEB, **_far(_term(_DB)))
    assert zones.refused(plugin, pod) == {}
    first = zones.pod(_DB, nodeName="a1")
    second = zones.pod(_DB, nodeName="a2", **_far(_term(_WEB)))
    assert zones.refused(plugin, pod) == {"a1": _NEAR, "a2": _NEAR}
    zones.cache.remove_pod(first.uid)
    assert zones.refused(plugin, pod) == {"a1": _NEAR, "a2": _NEAR}
    zones.node("a2", {"zone": "b"})
    assert zones.refused(plugin, pod) == {"a2": _NEAR, "b1": _NEAR}
    zones.cache.remove_pod(second.uid)
    assert zones.refused(plugin, pod) == {}


@pytest.mark.parametrize(
    ("mine", "theirs", "message"),
    [
        pytest.param(_far(_term(_DB)), {}, _NEAR, id="an unwanted one"),
        pytest.param({}, _far(_term(_WEB)), _UNWELCOME, id="one that does not want the pod"),
    ],
)
def test_supposing_that_the_obstacle_is_gone_opens_the_node(zones, mine, theirs, message) -> None:
    other = zones.pod(_DB, nodeName="a1", **theirs)
    plugin, pod, node = zones.build(InterPodAffinity), zones.pod(_WEB, **mine), zones.cache.get("a1")
    state = CycleState()
    assert plugin.pre_filter(state, pod, zones.cache).status.is_success
    supposing = state.clone()
    plugin.remove_pod(supposing, pod, other, node)
    assert plugin.filter(supposing, pod, node).is_success
    plugin.add_pod(supposing, pod, other, node)
    assert plugin.filter(supposing, pod, node).message == message
    assert plugin.filter(state, pod, node).message == message


def test_supposing_that_a_wanted_pod_comes_or_goes(zones) -> None:
    other = zones.pod(_DB, nodeName="a1")
    plugin, pod = zones.build(InterPodAffinity), zones.pod(**_near(_term(_DB)))
    state, a2, b1 = CycleState(), zones.cache.get("a2"), zones.cache.get("b1")
    assert plugin.pre_filter(state, pod, zones.cache).status.is_success
    plugin.remove_pod(state, pod, other, a2)
    assert plugin.filter(state, pod, a2).message == _NOT_NEAR
    plugin.add_pod(state, pod, other, b1)
    assert plugin.filter(state, pod, b1).is_success
