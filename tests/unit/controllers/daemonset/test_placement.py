"""On which nodes daemons run, and may stay."""

import pytest

from mockkube.controllers.daemonset.placement import (
    NodeFit,
    compile_placement,
    daemon_tolerations,
    pin_to_node,
    target_node,
)
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.proposals.component_extensions import make_selector_operators, make_taint_rules

GATE = "TaintTolerationComparisonOperators"
FENCE = {"key": "level", "value": "900", "effect": "NoExecute"}
ABOVE = {"key": "level", "operator": "Gt", "value": "800", "effect": "NoExecute"}


def fit(node, *gates, **spec):
    caps = Capabilities(Version(1, 36), frozenset(gates))
    daemon_set = {"spec": {"template": {"spec": {"containers": [], **spec}}}}
    return compile_placement(daemon_set, make_taint_rules(caps), make_selector_operators(caps)).check_node(node)


def node(*taints, **labels):
    return {"metadata": {"name": "n1", "labels": labels}, "spec": {"taints": list(taints)}}


@pytest.mark.parametrize(
    ("where", "spec", "expected"),
    [
        pytest.param(node(), {}, NodeFit(True, True), id="plain"),
        pytest.param(node(), {"nodeName": "n2"}, NodeFit(False, False), id="another-node-is-named"),
        pytest.param(node(zone="a"), {"nodeSelector": {"zone": "b"}}, NodeFit(False, False), id="not-selected"),
        pytest.param(node({"key": "x", "effect": "NoSchedule"}), {}, NodeFit(False, True), id="kept-out-may-stay"),
        pytest.param(node({"key": "x", "effect": "NoExecute"}), {}, NodeFit(False, False), id="evicted"),
        pytest.param(node({"key": "x", "effect": "PreferNoSchedule"}), {}, NodeFit(True, True), id="a-preference"),
        pytest.param(
            node({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}),
            {},
            NodeFit(True, True),
            id="cordoned",
        ),
    ],
)
def test_a_node_fits_a_daemon(where, spec, expected):
    assert fit(where, **spec) == expected


@pytest.mark.parametrize(
    ("gates", "expected"),
    [pytest.param((GATE,), NodeFit(True, True), id="on"), pytest.param((), NodeFit(False, False), id="off")],
)
def test_the_gate_of_the_controller_manager_decides_about_gt(gates, expected):
    assert fit(node(FENCE), *gates, tolerations=[ABOVE]) == expected


def test_the_networks_taint_is_tolerated_on_the_network_of_the_host_only():
    keys = [one["key"] for one in daemon_tolerations({"hostNetwork": True})]
    assert keys[-1] == "node.kubernetes.io/network-unavailable"
    assert keys[-1] not in [one["key"] for one in daemon_tolerations({})]


def test_a_toleration_that_every_daemon_has_is_not_added_twice():
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    same = [one for one in daemon_tolerations({"tolerations": [own]}) if one["key"] == own["key"]]
    assert same == [{"key": own["key"], "operator": "Exists", "effect": "NoExecute"}]


def test_a_pinned_pod_keeps_what_else_it_asks_for():
    affinity = pin_to_node({"podAffinity": {"x": 1}, "nodeAffinity": {"preferred": []}}, "n7")
    assert affinity["podAffinity"] == {"x": 1}
    assert "preferred" in affinity["nodeAffinity"]
    assert target_node({"spec": {"affinity": affinity}}) == "n7"


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"affinity": {"nodeAffinity": {}}}, id="no-terms"),
    ],
)
def test_a_pod_that_is_for_no_node_tells_none(spec):
    assert target_node({"spec": spec}) == ""
