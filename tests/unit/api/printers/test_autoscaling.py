from datetime import UTC, datetime
from typing import Any

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.autoscaling.horizontal_pod_autoscaler import HORIZONTAL_POD_AUTOSCALER
from mockkube.api.kinds.autoscaling.scale import SCALE

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "web", "creationTimestamp": "2026-03-14T11:00:00Z"}
TARGET = {"kind": "Deployment", "name": "web"}


def metric(kind: str, source: str, **fields: Any) -> Object:
    return {"type": kind, source: fields}


def targets(asked: list[Object], reported: list[Object]) -> Any:
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 5, "metrics": asked}
    obj = {"apiVersion": "autoscaling/v2", "metadata": META, "spec": spec, "status": {"currentMetrics": reported}}
    return HORIZONTAL_POD_AUTOSCALER.row(obj, NOW).cells[2]


@pytest.mark.parametrize(
    ("asked", "reported", "shown"),
    [
        pytest.param(
            metric("Resource", "resource", name="cpu", target={"averageUtilization": 60}),
            metric("Resource", "resource", name="cpu", current={"averageUtilization": 0}),
            "cpu: 0%/60%",
            id="share of a resource",
        ),
        pytest.param(
            metric("Resource", "resource", name="cpu", target={}), None, "cpu: <unknown>/<auto>", id="no target"
        ),
        pytest.param(
            metric("ContainerResource", "containerResource", name="memory", target={"averageValue": "1Gi"}),
            metric("ContainerResource", "containerResource", name="memory", current={"averageValue": "512Mi"}),
            "memory: 512Mi/1Gi",
            id="amount of a container's resource",
        ),
        pytest.param(
            metric("Pods", "pods", target={"averageValue": "10"}),
            metric("Pods", "pods", current={"averageValue": "7500m"}),
            "7500m/10",
            id="per pod",
        ),
        pytest.param(
            metric("Object", "object", target={"value": "1k"}),
            metric("Object", "object", current={"value": "900"}),
            "900/1k",
            id="of an object",
        ),
        pytest.param(
            metric("External", "external", target={"averageValue": "5"}),
            metric("External", "external", current={"averageValue": "4", "value": "8"}),
            "4/5 (avg)",
            id="from outside, per pod",
        ),
        pytest.param(
            metric("External", "external", target={"averageValue": "5"}),
            metric("External", "external", current={"value": "8"}),
            "<unknown>/5 (avg)",
            id="from outside, not told per pod",
        ),
        pytest.param(
            metric("External", "external", target={"value": "5"}),
            metric("External", "external", current={}),
            "<nil>/5",
            id="reported without a value",
        ),
        pytest.param({"type": "Moon"}, None, "<unknown type>", id="of no known type"),
    ],
)
def test_a_metric_is_what_is_over_what_is_wanted(asked: Object, reported: Object | None, shown: str) -> None:
    assert targets([asked], [reported] if reported else []) == shown


def test_two_metrics_are_shown_and_the_others_counted() -> None:
    asked = [metric("Pods", "pods", target={"averageValue": str(n)}) for n in range(1, 5)]
    assert targets(asked, []) == "<unknown>/1, <unknown>/2 + 2 more..."
    assert targets([], []) == "<none>"


def test_an_autoscaler_shows_its_bounds() -> None:
    spec = {"scaleTargetRef": TARGET, "minReplicas": 2, "maxReplicas": 7}
    obj = {"apiVersion": "autoscaling/v2", "metadata": META, "spec": spec, "status": {"currentReplicas": 3}}
    cells = HORIZONTAL_POD_AUTOSCALER.row(obj, NOW).cells
    assert cells == ["web", "Deployment/web", "<none>", "2", 7, 3, "60m"]


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        pytest.param({}, {}, "cpu: <unknown>/80%", id="by default"),
        pytest.param(
            {"targetCPUUtilizationPercentage": 50}, {"currentCPUUtilizationPercentage": 12}, "cpu: 12%/50%", id="given"
        ),
    ],
)
def test_the_first_version_knows_but_the_processor(spec: Object, status: Object, shown: str) -> None:
    obj = {"apiVersion": "autoscaling/v1", "metadata": META, "spec": spec, "status": status}
    assert HORIZONTAL_POD_AUTOSCALER.row(obj, NOW).cells[2] == shown


def test_a_scale_shows_replicas() -> None:
    obj = {"metadata": META, "spec": {"replicas": 3}, "status": {"replicas": 1}}
    assert SCALE.row(obj, NOW).cells == ["web", 3, 1, "60m"]
    assert SCALE.columns[0].format == ""
