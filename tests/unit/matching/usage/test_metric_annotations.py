"""Custom and external metrics as annotations give them."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from mockkube.matching.usage.load_curve import parse_load_curve
from mockkube.matching.usage.metric_annotations import (
    CUSTOM_METRIC,
    find_metric,
    get_amount,
    list_metrics,
    parse_external_values,
    parse_loads,
)


def test_metrics_are_found_by_prefix_and_name() -> None:
    obj = {"metadata": {"annotations": {"custom.metrics.mockkube.dev/qps": "5", "other/qps": "6"}}}
    assert list(list_metrics(obj, CUSTOM_METRIC)) == [("qps", "5")]
    assert find_metric(obj, CUSTOM_METRIC, "qps") == "5"
    assert find_metric({"metadata": {}}, CUSTOM_METRIC, "qps") == ""


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("30", [({}, 30)], id="one value"),
        pytest.param("11,4", [({}, 11), ({}, 4)], id="two values"),
        pytest.param("{q=a}30, {q=b,zone=x}5", [({"q": "a"}, 30), ({"q": "b", "zone": "x"}, 5)], id="labels"),
        pytest.param("{q=a}0@0s 100@10m", [({"q": "a"}, 100)], id="a curve"),
    ],
)
def test_values_of_external_metrics(text: str, values: list[tuple[dict[str, str], int]]) -> None:
    found = [(dict(one.labels), one.curve.get_amount(3600)) for one in parse_external_values(text)]
    assert found == [(labels, Decimal(amount)) for labels, amount in values]


@pytest.mark.parametrize("text", ["", "{q=a", "{q}5", "{q=a}", "5,x", "{=a}5"])
def test_malformed_values_are_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(ValueError, match=r"write|quantities must match"):
        parse_external_values(text)


def test_loads_that_cannot_be_parsed_are_ignored() -> None:
    prefix = "load.custom.metrics.mockkube.dev/"
    loads = parse_loads({"metadata": {"annotations": {f"{prefix}qps": "5", f"{prefix}bad": "many"}}})
    assert list(loads) == ["qps"]


def test_a_curve_begins_when_a_pod_starts() -> None:
    now = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
    pod = {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "status": {"startTime": "2026-01-01T00:05:00Z"}}
    assert get_amount(pod, parse_load_curve("0@0s 10@10m"), now) == 5
    assert get_amount({**pod, "status": {}}, parse_load_curve("0@0s 10@10m"), now) == 10
