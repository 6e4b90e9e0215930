"""HorizontalPodAutoscaler: what is scaled, by which metrics, and how fast."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from mockkube.api.fields import FieldError, forbidden, invalid, required
from mockkube.api.kinds.autoscaling.metrics import (
    GROUPLESS,
    STRICT,
    UNCHECKED,
    Reference,
    validate_api_version,
    validate_metric,
    validate_target,
)
from mockkube.api.quantity import parse
from mockkube.api.strategy import Judge, StatusStrategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.formats import one_of
from mockkube.api.validation.numbers import nonnegatives

WINDOW_SECONDS_MAX: Final = 3600
PERIOD_SECONDS_MAX: Final = 1800
_SELECT_POLICIES: Final = ("Disabled", "Max", "Min")
_POLICY_TYPES: Final = ("Percent", "Pods")


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The least number of replicas, and what references may look like."""

    replicas_min: int = 1
    target: Reference = STRICT
    described: Reference = GROUPLESS


class HorizontalPodAutoscalerStrategy(StatusStrategy):
    """An autoscaler; its generation is not counted."""

    tracks_generation = False

    def empty_status(self) -> Object:
        """Nobody has measured yet."""
        return {"desiredReplicas": 0, "currentMetrics": None}

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Start without a status; drop tolerances that are switched off."""
        super().prepare_create(obj, judge)
        _drop_tolerance(obj, None, judge)

    def prepare_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Keep the status; drop tolerances that are switched off and not in use."""
        super().prepare_update(new, old, judge)
        if judge.subresource != "status":
            _drop_tolerance(new, old, judge)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge every field."""
        return _validate_spec(obj["spec"], _bounds(obj, None, judge))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge every field; what was wrong before may stay so. Or the counts."""
        if judge.subresource == "status":
            return nonnegatives(new.get("status") or {}, "status", "currentReplicas", "desiredReplicas")
        return _validate_spec(new["spec"], _bounds(new, old, judge))


def _rules(obj: ReadOnlyObject | None) -> Iterator[Object]:
    behavior = ((obj or {}).get("spec") or {}).get("behavior") or {}
    for name in ("scaleDown", "scaleUp"):
        if behavior.get(name):
            yield behavior[name]


def _drop_tolerance(new: Object, old: ReadOnlyObject | None, judge: Judge) -> None:
    used = any("tolerance" in rules for rules in _rules(old))
    if not used and not judge.caps.enabled("HPAConfigurableTolerance"):
        for rules in _rules(new):
            rules.pop("tolerance", None)


def _bounds(new: ReadOnlyObject, old: ReadOnlyObject | None, judge: Judge) -> _Bounds:
    before = (old or {}).get("spec") or {}
    bounds = _Bounds()
    if judge.caps.enabled("HPAScaleToZero") or before.get("minReplicas") == 0:
        bounds = replace(bounds, replicas_min=0)
    target, was = new["spec"].get("scaleTargetRef") or {}, before.get("scaleTargetRef") or {}
    if old is not None and all(target.get(name) == was.get(name) for name in ("apiVersion", "kind")):
        bounds = replace(bounds, target=UNCHECKED)
    elif target.get("kind") == "ReplicationController":
        bounds = replace(bounds, target=GROUPLESS)
    described = [
        metric["object"].get("describedObject") or {}
        for metric in before.get("metrics") or []
        if metric.get("type") == "Object" and metric.get("object") is not None
    ]
    if any(validate_api_version(each, bounds.described) for each in described):
        bounds = replace(bounds, described=UNCHECKED)
    return bounds


def _validate_spec(spec: ReadOnlyObject, bounds: _Bounds) -> list[FieldError]:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    errors = []
    if least is not None and least < bounds.replicas_min:
        detail = f"must be greater than or equal to {bounds.replicas_min}"
        errors.append(invalid("spec.minReplicas", least, detail))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    errors += validate_target(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef", bounds.target)
    metrics = spec.get("metrics") or []
    for index, metric in enumerate(metrics):
        errors += validate_metric(metric, f"spec.metrics[{index}]", bounds.described)
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", detail))
    for name in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(name)
        if rules is not None:
            errors += _validate_rules(rules, f"spec.behavior.{name}")
    return errors


def _validate_rules(rules: ReadOnlyObject, at: str) -> list[FieldError]:
    window, policies = rules.get("stabilizationWindowSeconds"), rules.get("policies") or []
    errors = []
    if window is not None and window < 0:
        errors.append(invalid(f"{at}.stabilizationWindowSeconds", window, "must be greater than or equal to zero"))
    if window is not None and window > WINDOW_SECONDS_MAX:
        detail = f"must be less than or equal to {WINDOW_SECONDS_MAX}"
        errors.append(invalid(f"{at}.stabilizationWindowSeconds", window, detail))
    if rules.get("selectPolicy") is not None:
        errors += one_of(rules["selectPolicy"], f"{at}.selectPolicy", _SELECT_POLICIES)
    if not policies:
        errors.append(required(f"{at}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(policies):
        errors += _validate_policy(policy, f"{at}.policies[{index}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse(tolerance).sign < 0:
        errors.append(invalid(f"{at}.tolerance", tolerance, "must be greater than or equal to 0"))
    return errors


def _validate_policy(policy: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = one_of(policy.get("type"), f"{at}.type", _POLICY_TYPES)
    for name in ("value", "periodSeconds"):
        if policy.get(name, 0) <= 0:
            errors.append(invalid(f"{at}.{name}", policy.get(name, 0), "must be greater than zero"))
    if policy.get("periodSeconds", 0) > PERIOD_SECONDS_MAX:
        detail = f"must be less than or equal to {PERIOD_SECONDS_MAX}"
        errors.append(invalid(f"{at}.periodSeconds", policy["periodSeconds"], detail))
    return errors
