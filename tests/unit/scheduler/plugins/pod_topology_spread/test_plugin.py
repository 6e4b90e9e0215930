from typing import Any

import pytest

from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread

_SKEWED = "node(s) didn't match pod topology spread constraints"
_UNLABELLED = f"{_SKEWED} (missing required label)"
_WEB = {"app": "web"}
_TAINT = [{"key": "sla", "value": "950", "effect": "NoSchedule"}]


def _zones(world: Any, *zones: str) -> None:
    """Add a node per zone, named by their order: n1, n2, ..."""
    for at, zone in enumerate(zones, 1):
        world.node(f"n{at}", {"zone": zone})


def _fill(world: Any, **pods: int) -> None:
    for node, count in pods.items():
        for _ in range(count):
            world.pod(_WEB, nodeName=node)


def _refused(world: Any, *constraints: dict[str, Any], **spec: Any) -> dict[str, str]:
    pod = world.pod(_WEB, topologySpreadConstraints=list(constraints), **spec)
    return world.refused(world.build(PodTopologySpread), pod)


def test_a_domain_may_not_get_further_ahead_than_the_skew(world, spread) -> None:
    _zones(world, "a", "a", "b")
    _fill(world, n1=1)
    assert _refused(world, spread()) == {"n1": _SKEWED, "n2": _SKEWED}
    assert _refused(world, spread(maxSkew=2)) == {}


def test_a_refusal_tells_what_was_counted(world, spread) -> None:
    _zones(world, "a", "b")
    _fill(world, n1=2, n2=1)
    pod = world.pod(_WEB, topologySpreadConstraints=[spread()])
    status = world.filter(world.build(PodTopologySpread), pod)["n1"]
    assert status.code is Code.UNSCHEDULABLE
    told = {"topology_key": "zone", "matching": 2, "minimum": 1, "skew": 2, "max_skew": 1}
    assert told.items() <= status.facts.items()


def test_every_constraint_must_hold(world, spread) -> None:
    for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b")):
        world.node(name, {"zone": zone})
    _fill(world, n1=1, n3=1)
    hostname = spread("kubernetes.io/hostname")
    assert _refused(world, spread(), hostname) == {"n1": _SKEWED, "n3": _SKEWED}


def test_a_node_without_the_key_is_refused_for_good_and_makes_no_domain(world, spread) -> None:
    _zones(world, "a")
    world.node("n2")
    _fill(world, n1=1, n2=5)
    pod = world.pod(_WEB, topologySpreadConstraints=[spread()])
    found = world.filter(world.build(PodTopologySpread), pod)
    assert found["n1"].is_success
    assert (found["n2"].code, found["n2"].message) == (Code.UNRESOLVABLE, _UNLABELLED)


@pytest.mark.parametrize(
    ("labels", "fields"),
    [
        pytest.param({"app": "web"}, {"namespace": "b"}, id="in another namespace"),
        pytest.param({"app": "other"}, {}, id="not selected"),
        pytest.param({"app": "web"}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, id="on its way out"),
    ],
)
def test_pods_that_do_not_count(world, spread, labels, fields) -> None:
    _zones(world, "a", "b")
    world.pod(labels, nodeName="n1", **fields)
    assert _refused(world, spread()) == {}


@pytest.mark.parametrize(
    ("selector", "refused"),
    [
        pytest.param({"labelSelector": {}}, {}, id="one that selects everything counts nobody"),
        pytest.param({"labelSelector": None}, {}, id="none selects nobody, not even the pod"),
        pytest.param({"labelSelector": {"matchLabels": {"app": "other"}}}, {}, id="the pod itself is not selected"),
    ],
)
def test_selectors_that_count_nobody(world, spread, selector, refused) -> None:
    _zones(world, "a", "b")
    _fill(world, n1=1)
    assert _refused(world, spread(**selector)) == refused


def test_fewer_domains_than_asked_for_count_as_an_empty_one_more(world, spread) -> None:
    _zones(world, "a", "b")
    _fill(world, n1=1, n2=1)
    assert _refused(world, spread(minDomains=2)) == {}
    assert _refused(world, spread(minDomains=3)) == {"n1": _SKEWED, "n2": _SKEWED}


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        pytest.param({}, {"n1"}, id="honored: the other zone is empty and out of reach"),
        pytest.param({"nodeAffinityPolicy": "Honor"}, {"n1"}, id="the same, said"),
        pytest.param({"nodeAffinityPolicy": "Ignore"}, {"n1", "n2"}, id="ignored: the third zone counts"),
    ],
)
def test_nodes_out_of_reach_by_affinity_count_only_when_that_is_ignored(world, spread, policy, refused) -> None:
    for name, zone in (("n1", "a"), ("n2", "b"), ("n3", "c")):
        world.node(name, {"zone": zone, "pool": "x" if name != "n3" else "y"})
    _fill(world, n1=2, n2=1)
    assert _refused(world, spread(**policy), nodeSelector={"pool": "x"}).keys() == refused


@pytest.mark.parametrize(
    ("policy", "tolerations", "refused"),
    [
        pytest.param({}, [], {"n1"}, id="ignored: the tainted zone counts, empty as it is"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, [], set(), id="honored: it does not"),
        pytest.param(
            {"nodeTaintsPolicy": "Honor"}, [{"key": "sla", "operator": "Gt", "value": "900"}], {"n1"}, id="tolerated"
        ),
        pytest.param(
            {"nodeTaintsPolicy": "Honor"}, [{"key": "sla", "operator": "Gt", "value": "990"}], set(), id="not tolerated"
        ),
    ],
)
def test_tainted_nodes_count_unless_taints_are_honored(worlds, spread, policy, tolerations, refused) -> None:
    world = worlds(gates={"TaintTolerationComparisonOperators": True})
    world.node("n1", {"zone": "a"})
    world.node("n2", {"zone": "b"}, spec={"taints": _TAINT})
    _fill(world, n1=1)
    assert _refused(world, spread(**policy), tolerations=tolerations).keys() == refused


def test_a_cordon_is_no_taint(world, spread) -> None:
    world.node("n1", {"zone": "a"})
    world.node("n2", {"zone": "b"}, spec={"unschedulable": True})
    _fill(world, n1=1)
    assert _refused(world, spread(nodeTaintsPolicy="Honor")) == {"n1": _SKEWED}


@pytest.mark.parametrize(
    ("gate", "refused"),
    [pytest.param(True, {}, id="told apart"), pytest.param(False, {"n1": _SKEWED}, id="not without the gate")],
)
def test_label_keys_tell_revisions_apart(worlds, spread, gate, refused) -> None:
    world = worlds(gates={"MatchLabelKeysInPodTopologySpread": gate, **_OFF_TOGETHER})
    _zones(world, "a", "b")
    world.pod({**_WEB, "revision": "1"}, nodeName="n1")
    constraint = spread(matchLabelKeys=["revision", "absent"])
    pod = world.pod({**_WEB, "revision": "2"}, topologySpreadConstraints=[constraint])
    assert world.refused(world.build(PodTopologySpread), pod) == refused


_OFF_TOGETHER = {"MatchLabelKeysInPodTopologySpreadSelectorMerge": False}


def test_counts_follow_pods_and_nodes_from_cycle_to_cycle(world, spread) -> None:
    _zones(world, "a", "b")
    plugin = world.build(PodTopologySpread)
    pod = world.pod(_WEB, topologySpreadConstraints=[spread()])
    assert world.refused(plugin, pod) == {}
    placed = world.pod(_WEB, nodeName="n1")
    assert world.refused(plugin, pod) == {"n1": _SKEWED}
    world.cache.remove_node("n2")
    assert world.refused(plugin, pod) == {}
    world.node("n3", {"zone": "c"})
    assert world.refused(plugin, pod) == {"n1": _SKEWED}
    world.cache.remove_pod(placed.uid)
    assert world.refused(plugin, pod) == {}


def test_supposed_pods_are_counted_in_and_out(world, spread) -> None:
    _zones(world, "a", "b")
    _fill(world, n1=1)
    plugin = world.build(PodTopologySpread)
    pod, other = world.pod(_WEB, topologySpreadConstraints=[spread()]), world.pod(_WEB)
    state, first = CycleState(), world.cache.get("n1")
    assert plugin.pre_filter(state, pod, world.cache).status.is_success
    supposing = state.clone()
    plugin.remove_pod(supposing, pod, other, first)
    assert plugin.filter(supposing, pod, first).is_success
    plugin.add_pod(supposing, pod, other, first)
    plugin.add_pod(supposing, pod, world.pod({"app": "other"}), first)
    assert plugin.filter(supposing, pod, first).facts["matching"] == 1
    assert plugin.filter(state, pod, first).facts["matching"] == 1
    plugin.add_pod(supposing, pod, other, world.cache.get("n2"))
    assert plugin.filter(supposing, pod, first).is_success


def test_a_pod_without_hard_constraints_is_not_filtered(world, spread) -> None:
    _zones(world, "a")
    pod = world.pod(_WEB, topologySpreadConstraints=[spread(action="ScheduleAnyway")])
    assert world.filter(world.build(PodTopologySpread), pod)[""].code is Code.SKIP


def test_a_selector_that_cannot_be_read_is_an_error(world, spread) -> None:
    wrong = spread(labelSelector={"matchExpressions": [{"key": "app", "operator": "Near"}]})
    found = world.filter(world.build(PodTopologySpread), world.pod(topologySpreadConstraints=[wrong]))[""]
    assert found.code is Code.ERROR
    assert found.message.endswith('"Near" is not a valid label selector operator')
