"""Convert HorizontalPodAutoscaler between v1 and v2.

v1 has one CPU target; everything else is kept in annotations. upstream 1.36: pkg/apis/autoscaling/v1/conversion.go
"""

from typing import Any, Final

import orjson

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.autoscaling import v1_annotations
from mockkube.api.kinds.autoscaling.defaults import complete_spec
from mockkube.api.kinds.autoscaling.v1_annotations import AnnotationError

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
_METRICS: Final = f"{_PREFIX}metrics"
_BEHAVIOR: Final = f"{_PREFIX}behavior"
_CURRENT: Final = f"{_PREFIX}current-metrics"
_CONDITIONS: Final = f"{_PREFIX}conditions"
_ANNOTATIONS: Final = (_METRICS, _CURRENT, _BEHAVIOR, _CONDITIONS)
_CONDITION_FIELDS: Final = ("type", "status", "lastTransitionTime", "reason", "message", "observedGeneration")


def to_v1(obj: ReadOnlyObject) -> Object:
    """Return the autoscaler in the form of v1."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = _other_annotations(obj["metadata"])
    metrics, current = spec.pop("metrics", None) or [], status.pop("currentMetrics", None) or []
    # Every CPU utilization metric is left out here, though v1 has a field for only the first, as upstream does.
    others = [metric for metric in metrics if _cpu_utilization(metric, "target") is None]
    annotation_values = (
        (_METRICS, [v1_annotations.metric_spec_to_v1(metric) for metric in others]),
        (_CURRENT, [v1_annotations.metric_status_to_v1(metric) for metric in current]),
        (_BEHAVIOR, v1_annotations.behavior_to_internal(spec.pop("behavior", None))),
        (_CONDITIONS, [_order_condition(condition) for condition in status.pop("conditions", None) or []]),
    )
    annotations |= {name: orjson.dumps(value).decode() for name, value in annotation_values if value}
    for section, name, side, metrics_of_section in (
        (spec, "targetCPUUtilizationPercentage", "target", metrics),
        (status, "currentCPUUtilizationPercentage", "current", current),
    ):
        percentages = (_cpu_utilization(metric, side) for metric in metrics_of_section)
        if (percentage := next((one for one in percentages if one is not None), None)) is not None:
            section[name] = percentage
    if "status" in obj:
        status.setdefault("currentReplicas", 0)  # which v1 always writes, v2 only when there are any
    return _assemble(obj, annotations, spec, status)


def to_v2(obj: ReadOnlyObject) -> Object:
    """Return the autoscaler in the form of v2, with annotations read back and defaults filled in."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = obj["metadata"].get("annotations", {})
    target = spec.pop("targetCPUUtilizationPercentage", None)
    current = status.pop("currentCPUUtilizationPercentage", None)
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    metrics = _parse_list_annotation(annotations, _METRICS, v1_annotations.metric_spec_from_v1) or []
    if target is not None:
        metrics.append(_cpu_metric("target", {"type": "Utilization", "averageUtilization": target}))
    if metrics:
        spec["metrics"] = metrics
    if behavior := v1_annotations.behavior_from_internal(_parse_annotation(annotations, _BEHAVIOR)):
        spec["behavior"] = behavior
    reported = _parse_list_annotation(annotations, _CURRENT, v1_annotations.metric_status_from_v1)
    if reported is None and current is not None:
        reported = [_cpu_metric("current", {"averageUtilization": current})]
    conditions = _parse_list_annotation(annotations, _CONDITIONS, dict)
    status |= {name: values for name, values in (("currentMetrics", reported), ("conditions", conditions)) if values}
    # The CPU default of v1 is applied here instead of with the other defaults of v1, because annotations may have other
    # metrics, besides which upstream adds no CPU target.
    complete_spec(spec)
    return _assemble(obj, _other_annotations(obj["metadata"]), spec, status)


def _cpu_utilization(metric: ReadOnlyObject, side: str) -> int | None:
    """Return the CPU utilization percentage of a metric; None for other metrics."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    percentage: int | None = (resource.get(side) or {}).get("averageUtilization")
    return percentage


def _cpu_metric(side: str, value: Object) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", side: value}}


def _order_condition(condition: ReadOnlyObject) -> Object:
    return {name: condition[name] for name in _CONDITION_FIELDS if name in condition}


def _parse_annotation(annotations: ReadOnlyObject, name: str) -> Any:
    """Return the JSON value of an annotation; None if it is absent or malformed."""
    # Upstream ignores annotations it cannot parse: users can edit them, and conversion must not fail for that.
    try:
        return orjson.loads(annotations.get(name) or "null")
    except orjson.JSONDecodeError:
        return None


def _parse_list_annotation(annotations: ReadOnlyObject, name: str, read: Any) -> list[Object] | None:
    """Return the parsed items of an annotation; None if it is absent or malformed."""
    given = _parse_annotation(annotations, name)
    if not isinstance(given, list):
        return None
    try:
        return [read(item) for item in given]
    except (AnnotationError, TypeError, ValueError):
        return None


def _other_annotations(metadata: ReadOnlyObject) -> Object:
    return {name: text for name, text in metadata.get("annotations", {}).items() if name not in _ANNOTATIONS}


def _assemble(obj: ReadOnlyObject, annotations: Object, spec: Object, status: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    given = {name: part for name, part in (("spec", spec), ("status", status)) if name in obj or part}
    return {**obj, "metadata": metadata, **given}
