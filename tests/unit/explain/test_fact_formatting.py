"""What plugins compared, as people read it."""

from typing import Any

import pytest

from mockkube.explain.fact_formatting import format_amount, format_facts, format_taint

GT = {"toleration": {"key": "sla", "operator": "Gt", "value": "900"}, "reason": "the gate is off"}
ZONE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}]}


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        pytest.param({}, "", id="nothing"),
        pytest.param(
            {"taint": {"key": "sla", "value": "950", "effect": "NoSchedule"}, "tolerations": [GT]},
            "taint sla=950:NoSchedule; toleration Gt 900: the gate is off",
            id="a taint, and a toleration that was meant for it",
        ),
        pytest.param(
            {"shortages": [{"resource": "memory", "requested": 3 << 30, "used": 1 << 20, "capacity": 2 << 30}]},
            "memory: 3Gi requested, 1Mi of 2Gi allocated",
            id="room",
        ),
        pytest.param(
            {"volume": "pv-1", "claim": "default/data", "node_affinity": {"required": ZONE}},
            "volume pv-1 of claim default/data is to be used where zone In [a, b]",
            id="a volume and where it is",
        ),
        pytest.param(
            {"volume": "pv-1", "key": "zone", "values": ["a"]}, "volume pv-1 is in zone a", id="a volume of a zone"
        ),
        pytest.param({"volume": "disk", "used_by": "default/q"}, "volume disk is used by default/q", id="in use"),
        pytest.param(
            {"node_selector": {"disk": "ssd"}, "required": ZONE, "labels": {"zone": "c", "other": "x"}},
            "nodeSelector disk=ssd; nodeAffinity zone In [a, b]; node has no label disk, zone=c",
            id="labels: of the node only those that are asked for",
        ),
        pytest.param({"driver": "csi", "limit": 3, "raw": {"a": 1}}, "driver: csi, limit: 3", id="whatever is plain"),
    ],
)
def test_facts_are_told_in_a_line(facts: dict[str, Any], told: str) -> None:
    assert format_facts(facts) == told


@pytest.mark.parametrize(
    ("resource", "amount", "told"),
    [
        pytest.param("cpu", 1500, "1500m", id="part of a core"),
        pytest.param("cpu", 2000, "2", id="whole cores"),
        pytest.param("memory", 5 << 20, "5Mi", id="bytes in the largest unit that is whole"),
        pytest.param("memory", 1001, "1001", id="bytes"),
        pytest.param("example.com/gpu", 2048, "2048", id="pieces"),
    ],
)
def test_amounts_are_written_as_manifests_have_them(resource: str, amount: int, told: str) -> None:
    assert format_amount(resource, amount) == told


def test_a_taint_without_a_value_has_no_equals_sign() -> None:
    assert format_taint({"key": "a", "effect": "NoExecute"}) == "a:NoExecute"
