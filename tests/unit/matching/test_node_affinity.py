from typing import Any

import pytest

from mockkube.matching.node_affinity import compile_required_node_affinity

_LABELS = {"zone": "a", "disk": "ssd"}
_ZONE_A = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
_ZONE_B = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}


def _required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, True, id="nothing is required"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, True, id="the labels are there"),
        pytest.param({"nodeSelector": {"disk": "ssd", "gpu": ""}}, False, id="one label is missing"),
        pytest.param({"affinity": _required(_ZONE_B, _ZONE_A)}, True, id="one term is enough"),
        pytest.param({"nodeSelector": {"disk": "hdd"}, "affinity": _required(_ZONE_A)}, False, id="both are asked for"),
        pytest.param({"affinity": _required()}, False, id="no term selects nothing"),
        pytest.param({"affinity": _required({})}, False, id="an empty term selects nothing"),
    ],
)
def test_node_selector_and_required_terms_must_both_hold(spec: dict[str, Any], expected: bool) -> None:
    assert compile_required_node_affinity(spec, {}).matches(_LABELS, "n1") is expected


def test_a_pod_without_either_requires_nothing() -> None:
    assert compile_required_node_affinity({"affinity": {"nodeAffinity": {}}}, {}).is_empty
    assert not compile_required_node_affinity({"affinity": _required()}, {}).is_empty
