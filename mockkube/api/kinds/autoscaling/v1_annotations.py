"""Convert metrics and behavior of autoscalers to and from annotations of autoscaling/v1.

Metrics are written in types of v1, the behavior in Go's internal type.
"""

# upstream 1.36: pkg/apis/autoscaling/v1/conversion.go, k8s.io/api/autoscaling/v1/types.go

from collections.abc import Callable, Mapping
from typing import Any, Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities import quantity


class AnnotationError(ValueError):
    """Annotation that does not hold what is expected."""


_SOURCES: Final = ("object", "pods", "resource", "containerResource", "external")


def metric_spec_to_v1(metric: ReadOnlyObject) -> Object:
    """Return a metric spec in the form of v1."""
    return _to_v1(metric, "target")


def metric_status_to_v1(metric: ReadOnlyObject) -> Object:
    """Return a metric status in the form of v1."""
    return _to_v1(metric, "current")


def metric_spec_from_v1(metric: Any) -> Object:
    """Return a metric spec of v1 in the form of v2; raise if it is malformed."""
    return _from_v1(metric, "target", _target_from_amounts)


def metric_status_from_v1(metric: Any) -> Object:
    """Return a metric status of v1 in the form of v2; raise if it is malformed."""
    return _from_v1(metric, "current", _current_from_amounts)


def _to_v1(metric: ReadOnlyObject, side: str) -> Object:
    result: Object = {"type": metric.get("type", "")}
    for member in _SOURCES:
        if (source := metric.get(member)) is not None:
            result[member] = _WRITERS[member](source, source.get(side) or {}, side)
    return result


def _write_object(source: ReadOnlyObject, value: ReadOnlyObject, side: str) -> Object:
    described = source.get("describedObject") or {}
    target = {name: described[name] for name in ("kind", "name", "apiVersion") if name in described}
    metric = source.get("metric") or {}
    result = {"target": target, "metricName": metric.get("name", ""), f"{side}Value": value.get("value", "0")}
    return {**result, **_drop_none(selector=metric.get("selector"), averageValue=value.get("averageValue"))}


def _write_pods(source: ReadOnlyObject, value: ReadOnlyObject, side: str) -> Object:
    metric = source.get("metric") or {}
    result = {"metricName": metric.get("name", ""), f"{side}AverageValue": value.get("averageValue", "0")}
    return {**result, **_drop_none(selector=metric.get("selector"))}


def _write_resource(source: ReadOnlyObject, value: ReadOnlyObject, side: str) -> Object:
    # In a status of v1 the average is no pointer, so Go writes "0" for a missing one; in a spec it is left out.
    average = value.get("averageValue", "0" if side == "current" else None)
    parts = {f"{side}AverageUtilization": value.get("averageUtilization"), f"{side}AverageValue": average}
    return {"name": source.get("name", ""), **_drop_none(**parts)}


def _write_container(source: ReadOnlyObject, value: ReadOnlyObject, side: str) -> Object:
    return {**_write_resource(source, value, side), "container": source.get("container", "")}


def _write_external(source: ReadOnlyObject, value: ReadOnlyObject, side: str) -> Object:
    metric = source.get("metric") or {}
    amount = value.get("value", "0" if side == "current" else None)
    parts = {f"{side}Value": amount, f"{side}AverageValue": value.get("averageValue")}
    return {"metricName": metric.get("name", ""), **_drop_none(metricSelector=metric.get("selector"), **parts)}


_WRITERS: Final[Mapping[str, Callable[[ReadOnlyObject, ReadOnlyObject, str], Object]]] = {
    "object": _write_object,
    "pods": _write_pods,
    "resource": _write_resource,
    "containerResource": _write_container,
    "external": _write_external,
}


def _from_v1(metric: Any, side: str, value: Callable[[str, Object], Object]) -> Object:
    if not isinstance(metric, dict):
        raise AnnotationError
    result: Object = {"type": metric.get("type", "")}
    for member in _SOURCES:
        source = metric.get(member)
        if source is None:
            continue
        if not isinstance(source, dict):
            raise AnnotationError
        amounts = {
            name: quantity.to_canonical(source[f"{side}{name[0].upper()}{name[1:]}"])
            for name in ("value", "averageValue")
            if source.get(f"{side}{name[0].upper()}{name[1:]}") is not None
        }
        if member == "object" and source.get("averageValue") is not None:
            amounts["averageValue"] = quantity.to_canonical(source["averageValue"])
        if (percentage := source.get(f"{side}AverageUtilization")) is not None:
            amounts["averageUtilization"] = percentage
        result[member] = {**_source_from_v1(member, source), side: value(member, amounts)}
    return result


def _source_from_v1(member: str, source: ReadOnlyObject) -> Object:
    """Return name, selector and described object of a metric."""
    if member in ("resource", "containerResource"):
        return {name: source[name] for name in ("name", "container") if name in source}
    selector = source.get("metricSelector" if member == "external" else "selector")
    metric = {"metric": {"name": source.get("metricName", ""), **_drop_none(selector=selector)}}
    return {"describedObject": source.get("target") or {}, **metric} if member == "object" else metric


def _target_from_amounts(member: str, amounts: Object) -> Object:
    """Return a target with its type, which v1 does not store: it follows from the amounts."""
    match member:
        case "object":
            if "averageValue" not in amounts:
                return {"type": "Value", "value": amounts.get("value", "0")}
            # v1 cannot leave `targetValue` out, so a zero there means that only the average is the target.
            value = {} if amounts.get("value", "0") == "0" else {"value": amounts["value"]}
            return {"type": "AverageValue", **value, "averageValue": amounts["averageValue"]}
        case "pods":
            return {"type": "AverageValue", "averageValue": amounts.get("averageValue", "0")}
        case "external":
            return {"type": "Value" if "value" in amounts else "AverageValue", **amounts}
        case _:
            return {"type": "Utilization" if "averageUtilization" in amounts else "AverageValue", **amounts}


def _current_from_amounts(member: str, amounts: Object) -> Object:
    """Return a current value; a value that v1 always writes is zero if missing."""
    return {("value" if member in ("object", "external") else "averageValue"): "0", **amounts}


_DIRECTIONS: Final = (("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown"))
_RULES: Final = (
    ("StabilizationWindowSeconds", "stabilizationWindowSeconds"),
    ("SelectPolicy", "selectPolicy"),
    ("Policies", "policies"),
    ("Tolerance", "tolerance"),
)
_POLICY: Final = (("Type", "type"), ("Value", "value"), ("PeriodSeconds", "periodSeconds"))


def behavior_to_internal(behavior: ReadOnlyObject | None) -> Object | None:
    """Return the behavior with the field names of Go's internal type."""
    if behavior is None:
        return None
    return {go: _rules_to_internal(behavior.get(name)) for go, name in _DIRECTIONS}


def _rules_to_internal(rules: ReadOnlyObject | None) -> Object | None:
    if rules is None:
        return None
    written = {go: rules.get(name) for go, name in _RULES}
    if written["Policies"]:
        written["Policies"] = [{go: policy.get(name) for go, name in _POLICY} for policy in written["Policies"]]
    return written


def behavior_from_internal(given: Any) -> Object:
    """Return the behavior in the form of v2; empty if it is malformed."""
    if not isinstance(given, dict):
        return {}
    # Go's JSON decoder matches field names without regard to case.
    sides = {name.lower(): rules for name, rules in given.items()}
    if not all(isinstance(rules, dict | None) for rules in sides.values()):
        return {}
    return {
        name: _rules_from_internal(rules) for go, name in _DIRECTIONS if (rules := sides.get(name.lower())) is not None
    }


def _rules_from_internal(given: ReadOnlyObject) -> Object:
    rules = _rename_fields(given, _RULES)
    if policies := rules.get("policies"):
        rules["policies"] = [_rename_fields(policy, _POLICY) for policy in policies]
    return rules


def _rename_fields(given: ReadOnlyObject, names: tuple[tuple[str, str], ...]) -> Object:
    folded = {name.lower(): value for name, value in given.items()}
    return {name: folded[name.lower()] for _, name in names if folded.get(name.lower()) is not None}


def _drop_none(**parts: Any) -> Object:
    return {name: value for name, value in parts.items() if value is not None}
