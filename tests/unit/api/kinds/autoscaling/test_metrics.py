import pytest

from mockkube.api.kinds.autoscaling.metrics import (
    ALLOW_EMPTY_GROUP,
    STRICT,
    UNCHECKED,
    find_api_version_error,
    validate_metric,
)


@pytest.mark.parametrize(
    ("metric", "complaints"),
    [
        pytest.param(
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}},
            },
            [],
            id="fine",
        ),
        pytest.param(
            {"type": "Resource"},
            ["m.resource: Required value: must populate information for the given metric source"],
            id="no source",
        ),
        pytest.param(
            {
                "type": "Pods",
                "pods": {"metric": {"name": "x"}, "target": {"type": "AverageValue", "averageValue": "0"}},
            },
            ['m.pods.target.averageValue: Invalid value: "0": must be positive'],
            id="no amount",
        ),
        pytest.param(
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Value"}}},
            [
                "m.resource.target.averageUtilization: Required value: must set either a target raw value or a target "
                "utilization"
            ],
            id="no target",
        ),
        pytest.param(
            {
                "type": "ContainerResource",
                "containerResource": {"name": "odd", "target": {"type": "Utilization", "averageUtilization": 5}},
            },
            [
                'm.containerResource.name: Invalid value: "odd": must be a standard resource type or fully qualified',
                'm.containerResource.name: Invalid value: "odd": must be a standard resource for containers',
                "m.containerResource.container: Required value: must specify a container",
            ],
            id="container",
        ),
    ],
)
def test_metrics_are_judged(metric, complaints):
    assert [str(error) for error in validate_metric(metric, "m", ALLOW_EMPTY_GROUP)] == complaints


def test_the_source_goes_with_the_type():
    metric = {"type": "Pods", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}}}
    assert [error.field for error in validate_metric(metric, "m", ALLOW_EMPTY_GROUP)] == ["m.pods"]


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [(STRICT, "apiVersion must specify API group"), (ALLOW_EMPTY_GROUP, None), (UNCHECKED, None)],
)
def test_a_version_may_need_a_group(rules, complaint):
    assert find_api_version_error({"apiVersion": "v1"}, rules) == complaint
