"""The horizontal pod autoscaler between its versions: v1 knows one CPU target and keeps the rest in annotations."""

# upstream 1.36: pkg/apis/autoscaling/v1/conversion.go
# differs: what v1 keeps in annotations is written as v2 writes it

from typing import Any, Final

import orjson

from mockkube.api.types import Object, ReadOnlyObject

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
_KEPT: Final = (("spec", "metrics"), ("spec", "behavior"), ("status", "currentMetrics"), ("status", "conditions"))
_ANNOTATIONS: Final = {
    "metrics": f"{_PREFIX}metrics",
    "behavior": f"{_PREFIX}behavior",
    "currentMetrics": f"{_PREFIX}current-metrics",
    "conditions": f"{_PREFIX}conditions",
}


def to_v1(obj: ReadOnlyObject) -> Object:
    """The autoscaler as v1 shows it."""
    parts: dict[str, Object] = {"spec": dict(obj.get("spec") or {}), "status": dict(obj.get("status") or {})}
    annotations = dict(obj["metadata"].get("annotations", {}))
    spec, status = parts["spec"], parts["status"]
    spec["metrics"], target = _without_cpu(spec.get("metrics") or [], "target")
    status["currentMetrics"], current = _without_cpu(status.get("currentMetrics") or [], "current")
    for part, name in _KEPT:
        if value := parts[part].pop(name, None):
            annotations[_ANNOTATIONS[name]] = orjson.dumps(value).decode()
    if target is not None:
        spec["targetCPUUtilizationPercentage"] = target
    if current is not None:
        status["currentCPUUtilizationPercentage"] = current
    if "status" in obj:
        status.setdefault("currentReplicas", 0)  # which v1 always writes, v2 only when there are any
    return {**obj, "metadata": _annotated(obj["metadata"], annotations), **_given(obj, parts)}


def to_v2(obj: ReadOnlyObject) -> Object:
    """The autoscaler as v2 shows it, what annotations kept in its place again."""
    parts: dict[str, Object] = {"spec": dict(obj.get("spec") or {}), "status": dict(obj.get("status") or {})}
    annotations = dict(obj["metadata"].get("annotations", {}))
    target = parts["spec"].pop("targetCPUUtilizationPercentage", None)
    current = parts["status"].pop("currentCPUUtilizationPercentage", None)
    if not parts["status"].get("currentReplicas"):
        parts["status"].pop("currentReplicas", None)
    for part, name in _KEPT:
        if (value := _read(annotations.pop(_ANNOTATIONS[name], ""))) is not None:
            parts[part][name] = value
    if target is not None:
        cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": target}}
        parts["spec"]["metrics"] = [*parts["spec"].get("metrics", []), {"type": "Resource", "resource": cpu}]
    if current is not None:
        cpu = {"name": "cpu", "current": {"averageUtilization": current}}
        metrics = parts["status"].get("currentMetrics") or []
        parts["status"]["currentMetrics"] = [*metrics, {"type": "Resource", "resource": cpu}]
    return {**obj, "metadata": _annotated(obj["metadata"], annotations), **_given(obj, parts)}


def _without_cpu(metrics: list[Object], side: str) -> tuple[list[Object], int | None]:
    """The metrics but the first one about CPU utilisation, and that one's percentage."""
    for index, metric in enumerate(metrics):
        resource = metric.get("resource") or {}
        percentage = (resource.get(side) or {}).get("averageUtilization")
        if metric.get("type") == "Resource" and resource.get("name") == "cpu" and percentage is not None:
            return metrics[:index] + metrics[index + 1 :], percentage
    return metrics, None


def _read(text: str) -> Any:
    try:
        return orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return None  # upstream passes over an annotation it cannot read


def _annotated(metadata: ReadOnlyObject, annotations: Object) -> Object:
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**rest, "annotations": annotations} if annotations else rest


def _given(obj: ReadOnlyObject, parts: dict[str, Object]) -> Object:
    return {name: part for name, part in parts.items() if name in obj or part}
