"""Metrics and behaviour of an autoscaler in the forms that v1 keeps in annotations: v1's own, and Go's internal one."""

# upstream 1.36: pkg/apis/autoscaling/v1/conversion.go, k8s.io/api/autoscaling/v1/types.go

from collections.abc import Callable, Mapping
from typing import Any, Final

from mockkube.api import quantity
from mockkube.api.types import Object, ReadOnlyObject


class Unreadable(ValueError):
    """An annotation does not hold what it should."""


_MEMBERS: Final = ("object", "pods", "resource", "containerResource", "external")


def target_to_v1(metric: ReadOnlyObject) -> Object:
    """What to measure and to reach, as v1 writes it."""
    return _to_v1(metric, "target")


def current_to_v1(metric: ReadOnlyObject) -> Object:
    """What was measured, as v1 writes it."""
    return _to_v1(metric, "current")


def target_from_v1(metric: Any) -> Object:
    """What to measure and to reach, as v2 writes it; Unreadable when it is none."""
    return _from_v1(metric, "target", _target)


def current_from_v1(metric: Any) -> Object:
    """What was measured, as v2 writes it; Unreadable when it is none."""
    return _from_v1(metric, "current", _current)


def _to_v1(metric: ReadOnlyObject, side: str) -> Object:
    written: Object = {"type": metric.get("type", "")}
    for member in _MEMBERS:
        if (source := metric.get(member)) is not None:
            written[member] = _WRITERS[member](source, source.get(side) or {}, side)
    return written


def _write_object(source: ReadOnlyObject, value: ReadOnlyObject, side: str) -> Object:
    about = source.get("describedObject") or {}
    target = {name: about[name] for name in ("kind", "name", "apiVersion") if name in about}
    named = source.get("metric") or {}
    written = {"target": target, "metricName": named.get("name", ""), f"{side}Value": value.get("value", "0")}
    return {**written, **_given(selector=named.get("selector"), averageValue=value.get("averageValue"))}


def _write_pods(source: ReadOnlyObject, value: ReadOnlyObject, side: str) -> Object:
    named = source.get("metric") or {}
    written = {"metricName": named.get("name", ""), f"{side}AverageValue": value.get("averageValue", "0")}
    return {**written, **_given(selector=named.get("selector"))}


def _write_resource(source: ReadOnlyObject, value: ReadOnlyObject, side: str) -> Object:
    average = value.get("averageValue", "0" if side == "current" else None)
    parts = {f"{side}AverageUtilization": value.get("averageUtilization"), f"{side}AverageValue": average}
    return {"name": source.get("name", ""), **_given(**parts)}


def _write_container(source: ReadOnlyObject, value: ReadOnlyObject, side: str) -> Object:
    return {**_write_resource(source, value, side), "container": source.get("container", "")}


def _write_external(source: ReadOnlyObject, value: ReadOnlyObject, side: str) -> Object:
    named = source.get("metric") or {}
    amount = value.get("value", "0" if side == "current" else None)
    parts = {f"{side}Value": amount, f"{side}AverageValue": value.get("averageValue")}
    return {"metricName": named.get("name", ""), **_given(metricSelector=named.get("selector"), **parts)}


_WRITERS: Final[Mapping[str, Callable[[ReadOnlyObject, ReadOnlyObject, str], Object]]] = {
    "object": _write_object,
    "pods": _write_pods,
    "resource": _write_resource,
    "containerResource": _write_container,
    "external": _write_external,
}


def _from_v1(metric: Any, side: str, value: Callable[[str, Object], Object]) -> Object:
    if not isinstance(metric, dict):
        raise Unreadable
    read: Object = {"type": metric.get("type", "")}
    for member in _MEMBERS:
        source = metric.get(member)
        if source is None:
            continue
        if not isinstance(source, dict):
            raise Unreadable
        amounts = {
            name: quantity.canonical(source[f"{side}{name[0].upper()}{name[1:]}"])
            for name in ("value", "averageValue")
            if source.get(f"{side}{name[0].upper()}{name[1:]}") is not None
        }
        if member == "object" and source.get("averageValue") is not None:
            amounts["averageValue"] = quantity.canonical(source["averageValue"])
        if (percentage := source.get(f"{side}AverageUtilization")) is not None:
            amounts["averageUtilization"] = percentage
        read[member] = {**_about(member, source), side: value(member, amounts)}
    return read


def _about(member: str, source: ReadOnlyObject) -> Object:
    """What a metric is about, without its value."""
    if member in ("resource", "containerResource"):
        return {name: source[name] for name in ("name", "container") if name in source}
    selector = source.get("metricSelector" if member == "external" else "selector")
    named = {"metric": {"name": source.get("metricName", ""), **_given(selector=selector)}}
    return {"describedObject": source.get("target") or {}, **named} if member == "object" else named


def _target(member: str, amounts: Object) -> Object:
    """A target with the type that v1 leaves to be told from what is given."""
    match member:
        case "object":
            if "averageValue" not in amounts:
                return {"type": "Value", "value": amounts.get("value", "0")}
            whole = {} if amounts.get("value", "0") == "0" else {"value": amounts["value"]}
            return {"type": "AverageValue", **whole, "averageValue": amounts["averageValue"]}
        case "pods":
            return {"type": "AverageValue", "averageValue": amounts.get("averageValue", "0")}
        case "external":
            return {"type": "Value" if "value" in amounts else "AverageValue", **amounts}
        case _:
            return {"type": "Utilization" if "averageUtilization" in amounts else "AverageValue", **amounts}


def _current(member: str, amounts: Object) -> Object:
    """A measured value; what v1 cannot leave out is there."""
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
    """How fast to scale, with the names and all the fields of Go's internal type."""
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
    """How fast to scale, as v2 writes it; nothing when it cannot be read. Go's decoder does not mind the case."""
    if not isinstance(given, dict):
        return {}
    sides = {name.lower(): rules for name, rules in given.items()}
    if not all(isinstance(rules, dict | None) for rules in sides.values()):
        return {}
    return {
        name: _rules_from_internal(rules) for go, name in _DIRECTIONS if (rules := sides.get(name.lower())) is not None
    }


def _rules_from_internal(given: ReadOnlyObject) -> Object:
    rules = _renamed(given, _RULES)
    if policies := rules.get("policies"):
        rules["policies"] = [_renamed(policy, _POLICY) for policy in policies]
    return rules


def _renamed(given: ReadOnlyObject, names: tuple[tuple[str, str], ...]) -> Object:
    folded = {name.lower(): value for name, value in given.items()}
    return {name: folded[name.lower()] for _, name in names if folded.get(name.lower()) is not None}


def _given(**parts: Any) -> Object:
    return {name: value for name, value in parts.items() if value is not None}
