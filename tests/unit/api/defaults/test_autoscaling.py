import pytest

from mockkube.api.kinds.autoscaling.defaults import default_autoscaler, default_autoscaler_v1
from mockkube.features.capabilities import Capabilities


def v2(**spec):
    obj = {"metadata": {}, "spec": {"maxReplicas": 3, **spec}}
    default_autoscaler(obj, Capabilities())
    return obj["spec"]


def policy(kind, value):
    return {"type": kind, "value": value, "periodSeconds": 15}


def test_at_least_one_pod_is_kept():
    obj = {"metadata": {}, "spec": {"maxReplicas": 3}}
    default_autoscaler_v1(obj, Capabilities())
    assert obj["spec"] == {"maxReplicas": 3, "minReplicas": 1}
    assert v2()["minReplicas"] == 1
    assert v2(minReplicas=0)["minReplicas"] == 0


def test_without_metrics_processors_are_kept_busy():
    target = {"type": "Utilization", "averageUtilization": 80}
    assert v2()["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def test_metrics_that_were_chosen_stay():
    metrics = [{"type": "Pods"}]
    assert v2(metrics=metrics)["metrics"] == [{"type": "Pods"}]


UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [policy("Pods", 4), policy("Percent", 100)],
}
DOWN = {"selectPolicy": "Max", "policies": [policy("Percent", 100)]}


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        pytest.param({}, {"scaleUp": UP, "scaleDown": DOWN}, id="nothing said"),
        pytest.param(
            {"scaleDown": {"stabilizationWindowSeconds": 60, "policies": [policy("Pods", 1)]}},
            {
                "scaleUp": UP,
                "scaleDown": {
                    "stabilizationWindowSeconds": 60,
                    "selectPolicy": "Max",
                    "policies": [policy("Pods", 1)],
                },
            },
            id="one direction said",
        ),
    ],
)
def test_rules_for_one_direction_complete_both(given, filled):
    assert v2(behavior=given)["behavior"] == filled


def test_no_rules_stay_no_rules():
    assert "behavior" not in v2()
