"""What version 1 of an autoscaler keeps in annotations."""

from typing import Any

import orjson
import pytest

from mockkube.api.kinds.autoscaling.versions import to_v1, to_v2

PREFIX = "autoscaling.alpha.kubernetes.io/"
SELECTOR = {"matchLabels": {"a": "b"}}
DESCRIBED = {"kind": "Service", "name": "s", "apiVersion": "v1"}


def newer(metrics: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    """An autoscaler of version 2."""
    return {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": {"metrics": metrics, **spec}}


def older(annotation: str, text: str) -> dict[str, Any]:
    """An autoscaler of version 1 with one of the annotations."""
    metadata = {"name": "a", "annotations": {PREFIX + annotation: text, "own": "x"}}
    return {"kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": {"targetCPUUtilizationPercentage": 50}}


@pytest.mark.parametrize(
    ("metric", "annotated"),
    [
        pytest.param(
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "m", "selector": SELECTOR},
                    "target": {"type": "AverageValue", "averageValue": "3"},
                },
            },
            {"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": "3", "selector": SELECTOR}},
            id="pods",
        ),
        pytest.param(
            {
                "type": "Object",
                "object": {
                    "describedObject": DESCRIBED,
                    "metric": {"name": "m"},
                    "target": {"type": "Value", "value": "5"},
                },
            },
            {"type": "Object", "object": {"target": DESCRIBED, "metricName": "m", "targetValue": "5"}},
            id="an object",
        ),
        pytest.param(
            {
                "type": "Object",
                "object": {
                    "describedObject": DESCRIBED,
                    "metric": {"name": "m"},
                    "target": {"type": "AverageValue", "averageValue": "7"},
                },
            },
            {
                "type": "Object",
                "object": {"target": DESCRIBED, "metricName": "m", "targetValue": "0", "averageValue": "7"},
            },
            id="an object, on average",
        ),
        pytest.param(
            {
                "type": "External",
                "external": {
                    "metric": {"name": "m", "selector": SELECTOR},
                    "target": {"type": "Value", "value": "5"},
                },
            },
            {"type": "External", "external": {"metricName": "m", "metricSelector": SELECTOR, "targetValue": "5"}},
            id="from outside",
        ),
        pytest.param(
            {
                "type": "Resource",
                "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
            },
            {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
            id="memory",
        ),
        pytest.param(
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "c",
                    "target": {"type": "Utilization", "averageUtilization": 5},
                },
            },
            {
                "type": "ContainerResource",
                "containerResource": {"name": "cpu", "targetAverageUtilization": 5, "container": "c"},
            },
            id="of one container",
        ),
    ],
)
def test_metrics_are_kept_as_version_1_named_them(metric: dict[str, Any], annotated: dict[str, Any]) -> None:
    converted = to_v1(newer([metric]))
    assert converted["metadata"]["annotations"] == {f"{PREFIX}metrics": orjson.dumps([annotated]).decode()}
    assert to_v2(converted)["spec"]["metrics"] == [metric]


def test_behaviour_is_kept_with_the_names_of_the_internal_type() -> None:
    rules = {
        "stabilizationWindowSeconds": 5,
        "selectPolicy": "Min",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
    }
    obj = newer([], behavior={"scaleUp": rules, "scaleDown": {"selectPolicy": "Max", "policies": rules["policies"]}})
    text = to_v1(obj)["metadata"]["annotations"][f"{PREFIX}behavior"]
    assert text == (
        '{"ScaleUp":{"StabilizationWindowSeconds":5,"SelectPolicy":"Min",'
        '"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},'
        '"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max",'
        '"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null}}'
    )
    assert to_v2(older("behavior", text))["spec"]["behavior"] == obj["spec"]["behavior"]


def test_behaviour_is_read_whatever_the_case_and_completed() -> None:
    behavior = to_v2(older("behavior", '{"scaleup": {"selectpolicy": "Min"}}'))["spec"]["behavior"]
    assert behavior["scaleUp"]["selectPolicy"] == "Min"
    assert behavior["scaleDown"] == {
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    }


@pytest.mark.parametrize("name", ["metrics", "behavior", "current-metrics", "conditions"])
@pytest.mark.parametrize("text", ["garbage", "5", "[5]", '{"scaleUp": 5}', '[{"pods": 5}]', "{}", "[]"])
def test_what_cannot_be_read_is_passed_over(name: str, text: str) -> None:
    converted = to_v2(older(name, text))
    (metric,) = converted["spec"].pop("metrics")
    assert metric["resource"]["target"]["averageUtilization"] == 50
    assert converted["spec"] == {}
    assert converted["metadata"]["annotations"] == {"own": "x"}


def test_a_report_is_kept_whole_and_comes_back() -> None:
    measured = [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 50, "averageValue": "1"}}},
        {"type": "External", "external": {"metric": {"name": "e"}, "current": {"value": "0", "averageValue": "2"}}},
    ]
    conditions = [{"type": "AbleToScale", "status": "True", "lastTransitionTime": None, "reason": "R", "message": "m"}]
    status = {"currentReplicas": 2, "currentMetrics": measured, "conditions": conditions}
    converted = to_v1({**newer([]), "status": status})
    assert converted["status"] == {"currentReplicas": 2, "currentCPUUtilizationPercentage": 50}
    assert to_v2(converted)["status"] == status
