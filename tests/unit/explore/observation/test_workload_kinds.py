"""Where an object has its pod spec: workloads of Kubernetes, and custom resources."""

from typing import Any

import pytest

from mockkube.cluster.control.schemas import GROUP
from mockkube.explore.observation.workload_kinds import find_pod_spec, is_custom, is_workload

SPEC = {"containers": [{"name": "main", "image": "i"}]}
TEMPLATE = {"template": {"spec": SPEC}}


def obj(api_version: str, kind: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}


@pytest.mark.parametrize(
    ("given", "at"),
    [
        (obj("v1", "Pod", SPEC), "spec"),
        (obj("apps/v1", "Deployment", TEMPLATE), "spec.template.spec"),
        (obj("batch/v1", "CronJob", {"jobTemplate": {"spec": TEMPLATE}}), "spec.jobTemplate.spec.template.spec"),
        (obj("example.com/v1", "Training", TEMPLATE), "spec.template.spec"),
    ],
)
def test_a_workload_has_a_pod_spec(given: dict[str, Any], at: str) -> None:
    found = find_pod_spec(given)
    assert is_workload(given)
    assert found is not None
    assert (found.at, found.value) == (at, SPEC)


@pytest.mark.parametrize(
    "given",
    [
        obj("v1", "ConfigMap", None),
        obj("example.com/v1", "Training", {"template": "a name"}),
        obj("example.com/v1", "Training", {}),
        obj(f"{GROUP}/v1alpha1", "NodeGroup", TEMPLATE),
        obj("resource.k8s.io/v1", "ResourceClaimTemplate", TEMPLATE),
    ],
)
def test_other_objects_have_none(given: dict[str, Any]) -> None:
    assert not is_workload(given)


def test_custom_resources_are_those_of_other_groups() -> None:
    assert is_custom(obj("example.com/v1", "Training", {}))
    assert not is_custom(obj("autoscaling/v2", "HorizontalPodAutoscaler", {}))
