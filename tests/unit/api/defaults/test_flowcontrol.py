import pytest

from mockkube.api.kinds.flowcontrol import flow_control
from mockkube.features.capabilities import Capabilities


def level(spec):
    flow_control.default_priority_level({"metadata": {}, "spec": spec}, Capabilities())
    return spec


@pytest.mark.parametrize(("given", "kept"), [(0, 1000), (7, 7)])
def test_a_schema_stands_in_the_middle(given, kept):
    obj = {"spec": {"matchingPrecedence": given}}
    flow_control.default_flow_schema(obj, Capabilities())
    assert obj["spec"]["matchingPrecedence"] == kept


def test_a_limited_level_has_shares_and_queues():
    queuing = {"queues": 0, "handSize": 3, "queueLengthLimit": 0}
    limited = {"nominalConcurrencyShares": None, "limitResponse": {"type": "Queue", "queuing": queuing}}
    assert level({"type": "Limited", "limited": limited})["limited"] == {
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
        "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 3, "queueLengthLimit": 50}},
    }


def test_a_level_may_have_no_shares():
    assert level({"limited": {"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"}}})["limited"] == {
        "nominalConcurrencyShares": 0,
        "lendablePercent": 0,
        "limitResponse": {"type": "Reject"},
    }


def test_an_exempt_level_has_no_shares():
    assert level({"exempt": {}})["exempt"] == {"nominalConcurrencyShares": 0, "lendablePercent": 0}
