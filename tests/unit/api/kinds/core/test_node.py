"""The strategy of nodes."""

from datetime import UTC, datetime

from mockkube.api.kinds.core.node import NodeStrategy
from mockkube.api.strategy import StrategyContext
from mockkube.features.capabilities import Capabilities

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JUDGE = StrategyContext(Capabilities(), NOW)
NODES = NodeStrategy()


def node(spec=None, status=None):
    return {"metadata": {"name": "n", "resourceVersion": "1"}, "spec": spec or {}, "status": status or {}}


def test_a_node_comes_with_its_status():
    obj = node({"configSource": {}}, {"capacity": {"cpu": "1"}, "config": {}, "declaredFeatures": ["A"]})
    NODES.prepare_for_create(obj, JUDGE)
    assert obj == node({}, {"capacity": {"cpu": "1"}})


def test_spec_and_status_are_changed_apart():
    old = node({"podCIDRs": ["10.0.0.0/24"]}, {"phase": "x"})
    new = node({"unschedulable": True}, {"phase": "y"})
    NODES.prepare_for_update(new, old, JUDGE)
    assert new == node({"unschedulable": True}, {"phase": "x"})
    new = node({"unschedulable": True}, {"phase": "y", "config": {}})
    NODES.prepare_for_update(new, old, StrategyContext(JUDGE.caps, NOW, "status"))
    assert new == node({"podCIDRs": ["10.0.0.0/24"]}, {"phase": "y"})


def test_a_bad_taint_is_found_twice_on_a_change_and_once_in_a_status():
    old, new = node(), node({"taints": [{"key": "a"}]})
    assert len(NODES.validate(new, JUDGE)) == 1
    assert [error.field for error in NODES.validate_update(new, old, JUDGE)] == ["metadata.taints[0].effect"] * 2
    assert len(NODES.validate_update(new, old, StrategyContext(JUDGE.caps, NOW, "status"))) == 1


def test_what_has_no_effect_is_warned_of():
    obj = node({"externalID": "x", "podCIDRs": ["10.0.0.1/24"]})
    assert NODES.warnings_on_create(obj, JUDGE) == [
        "spec.externalID: this field is deprecated, and is unused by Kubernetes",
        'spec.podCIDRs[0]: CIDR value "10.0.0.1/24" is ambiguous in this context '
        '(should be "10.0.0.0/24" or "10.0.0.1/32"?)',
    ]
    assert NODES.warnings_on_update(obj, obj, JUDGE) == NODES.warnings_on_create(obj, JUDGE)
    assert NODES.warnings_on_update(obj, obj, StrategyContext(JUDGE.caps, NOW, "status")) == []


def test_nodes_are_selected_by_whether_they_take_pods():
    assert NODES.selectable_fields(node()) == {"spec.unschedulable": "false"}
    assert NODES.selectable_fields(node({"unschedulable": True})) == {"spec.unschedulable": "true"}
