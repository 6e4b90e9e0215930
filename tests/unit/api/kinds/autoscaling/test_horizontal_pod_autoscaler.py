import pytest

from mockkube.api.kinds.autoscaling.horizontal_pod_autoscaler import HorizontalPodAutoscalerStrategy

STRATEGY = HorizontalPodAutoscalerStrategy()
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


def autoscaler(**spec):
    return {"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "scaleTargetRef": TARGET, **spec}, "status": {}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(autoscaler(), [], id="fine"),
        pytest.param(
            autoscaler(maxReplicas=0), ["spec.maxReplicas: Required value: must be set and greater than 0"], id="none"
        ),
        pytest.param(
            autoscaler(minReplicas=4),
            ["spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"],
            id="bounds",
        ),
        pytest.param(
            autoscaler(scaleTargetRef={**TARGET, "apiVersion": "v1"}),
            ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
            id="no group",
        ),
        pytest.param(
            autoscaler(scaleTargetRef={"apiVersion": "v1", "kind": "ReplicationController", "name": "r"}), [], id="old"
        ),
        pytest.param(
            autoscaler(behavior={"scaleUp": {"stabilizationWindowSeconds": 4000}}),
            [
                "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 4000: must be less than or equal to "
                "3600",
                "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
            ],
            id="behavior",
        ),
    ],
)
def test_bounds_and_target_are_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


@pytest.mark.parametrize(("gates", "refused"), [((), True), (("HPAScaleToZero",), False)])
def test_zero_replicas_are_behind_a_gate(judge, gates, refused):
    target = {"type": "Value", "value": "1"}
    metrics = [{"type": "External", "external": {"metric": {"name": "m"}, "target": target}}]
    obj = autoscaler(minReplicas=0, metrics=metrics)
    assert bool(STRATEGY.validate(obj, judge(*gates))) is refused
    assert STRATEGY.validate_update(obj, obj, judge()) == []


def test_an_unchanged_target_is_left_alone(judge):
    odd = autoscaler(scaleTargetRef={**TARGET, "apiVersion": "v1"})
    assert STRATEGY.validate_update(odd, odd, judge()) == []


def test_tolerance_is_behind_a_gate(judge):
    obj = autoscaler(behavior={"scaleUp": {"tolerance": "100m"}})
    STRATEGY.prepare_for_create(obj, judge())
    assert obj["spec"]["behavior"]["scaleUp"] == {}
