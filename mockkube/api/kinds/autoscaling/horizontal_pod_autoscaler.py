"""HorizontalPodAutoscaler: strategy, validation and printer columns.

upstream 1.36: pkg/apis/autoscaling/validation/validation.go
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, forbidden, invalid, required
from mockkube.api.kind import Kind
from mockkube.api.kinds.autoscaling.defaults import default_autoscaler, default_autoscaler_v1
from mockkube.api.kinds.autoscaling.metrics import (
    ALLOW_EMPTY_GROUP,
    STRICT,
    UNCHECKED,
    Reference,
    find_api_version_error,
    validate_metric,
    validate_target,
)
from mockkube.api.kinds.autoscaling.versions import to_v1, to_v2
from mockkube.api.printers.ages import UNKNOWN, age
from mockkube.api.printers.reading import name_of, number, section, sections, string, value_at
from mockkube.api.printers.table import AGE, NAME, NONE, UNSET, Cell, Printer, text_column
from mockkube.api.quantity import parse
from mockkube.api.strategy import Judge, StatusStrategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.formats import one_of
from mockkube.api.validation.numbers import validate_nonnegative_fields

WINDOW_SECONDS_MAX: Final = 3600
PERIOD_SECONDS_MAX: Final = 1800
_SELECT_POLICIES: Final = ("Disabled", "Max", "Min")
_POLICY_TYPES: Final = ("Percent", "Pods")


@dataclass(frozen=True, slots=True)
class _ValidationOptions:
    """Validation options: fewest replicas, and how strictly references are checked."""

    replicas_min: int = 1
    target: Reference = STRICT
    described: Reference = ALLOW_EMPTY_GROUP


class HorizontalPodAutoscalerStrategy(StatusStrategy):
    """Strategy of HorizontalPodAutoscaler; it has no generation."""

    tracks_generation = False

    def empty_status(self) -> Object:
        """Return the fields that a Go server writes even when they are empty."""
        return {"desiredReplicas": 0, "currentMetrics": None}

    def prepare_for_create(self, obj: Object, judge: Judge) -> None:
        """Reset the status; drop tolerances if their gate is off."""
        super().prepare_for_create(obj, judge)
        _drop_tolerance(obj, None, judge)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Keep the stored status; drop tolerances if their gate is off and none is stored."""
        super().prepare_for_update(new, old, judge)
        if judge.subresource != "status":
            _drop_tolerance(new, old, judge)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Validate every field."""
        return _validate_spec(obj["spec"], _validation_options(obj, None, judge))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Validate the spec, tolerating what the stored one violates, or the counts of the status."""
        if judge.subresource == "status":
            return validate_nonnegative_fields(new.get("status") or {}, "status", "currentReplicas", "desiredReplicas")
        return _validate_spec(new["spec"], _validation_options(new, old, judge))


def _scaling_rules(obj: ReadOnlyObject | None) -> Iterator[Object]:
    behavior = ((obj or {}).get("spec") or {}).get("behavior") or {}
    for name in ("scaleDown", "scaleUp"):
        if behavior.get(name):
            yield behavior[name]


def _drop_tolerance(new: Object, old: ReadOnlyObject | None, judge: Judge) -> None:
    used = any("tolerance" in rules for rules in _scaling_rules(old))
    if not used and not judge.caps.enabled("HPAConfigurableTolerance"):
        for rules in _scaling_rules(new):
            rules.pop("tolerance", None)


def _validation_options(new: ReadOnlyObject, old: ReadOnlyObject | None, judge: Judge) -> _ValidationOptions:
    before = (old or {}).get("spec") or {}
    bounds = _ValidationOptions()
    if judge.caps.enabled("HPAScaleToZero") or before.get("minReplicas") == 0:
        bounds = replace(bounds, replicas_min=0)
    target, was = new["spec"].get("scaleTargetRef") or {}, before.get("scaleTargetRef") or {}
    # Older servers accepted any apiVersion; an unchanged reference is not checked, so that stored objects stay
    # writable.
    if old is not None and all(target.get(name) == was.get(name) for name in ("apiVersion", "kind")):
        bounds = replace(bounds, target=UNCHECKED)
    # ReplicationController is the one scalable kind of the core group, whose apiVersion `v1` names no group.
    elif target.get("kind") == "ReplicationController":
        bounds = replace(bounds, target=ALLOW_EMPTY_GROUP)
    described = [
        metric["object"].get("describedObject") or {}
        for metric in before.get("metrics") or []
        if metric.get("type") == "Object" and metric.get("object") is not None
    ]
    if any(find_api_version_error(each, bounds.described) for each in described):
        bounds = replace(bounds, described=UNCHECKED)
    return bounds


def _validate_spec(spec: ReadOnlyObject, bounds: _ValidationOptions) -> list[FieldError]:
    min_replicas, max_replicas = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    errors = []
    if min_replicas is not None and min_replicas < bounds.replicas_min:
        detail = f"must be greater than or equal to {bounds.replicas_min}"
        errors.append(invalid("spec.minReplicas", min_replicas, detail))
    if max_replicas == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif max_replicas < 0:
        errors.append(invalid("spec.maxReplicas", max_replicas, "must be greater than or equal to 1"))
    if min_replicas is not None and max_replicas < min_replicas:
        errors.append(invalid("spec.maxReplicas", max_replicas, "must be greater than or equal to `minReplicas`"))
    errors += validate_target(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef", bounds.target)
    metrics = spec.get("metrics") or []
    for index, metric in enumerate(metrics):
        errors += validate_metric(metric, f"spec.metrics[{index}]", bounds.described)
    # Without a pod there are no resource or pod metrics, so nothing would ever scale the workload up again.
    if min_replicas == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
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


METRICS_SHOWN_MAX = 2
CPU_PERCENT_DEFAULT = 80

_NIL = "<nil>"  # how a quantity that is not there prints


def autoscaler_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an autoscaler of v2 or v1."""
    target = section(obj, "spec", "scaleTargetRef")
    return [
        name_of(obj),
        f"{string(target, 'kind')}/{string(target, 'name')}",
        _format_metrics(_metric_specs(obj), _metric_statuses(obj)),
        string(obj, "spec", "minReplicas", missing=UNSET),
        number(obj, "spec", "maxReplicas"),
        number(obj, "status", "currentReplicas"),
        age(obj, now),
    ]


def _metric_specs(obj: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    """Return the metric specs; v1 has only a CPU target, with a default."""
    if string(obj, "apiVersion") != "autoscaling/v1":
        return sections(obj, "spec", "metrics")
    return [_cpu_metric("target", number(obj, "spec", "targetCPUUtilizationPercentage") or CPU_PERCENT_DEFAULT)]


def _metric_statuses(obj: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    """Return the metric statuses."""
    if string(obj, "apiVersion") != "autoscaling/v1":
        return sections(obj, "status", "currentMetrics")
    percent = value_at(obj, "status", "currentCPUUtilizationPercentage")
    return [] if percent is None else [_cpu_metric("current", percent)]


def _cpu_metric(role: str, percent: int) -> ReadOnlyObject:
    return {"type": "Resource", "resource": {"name": "cpu", role: {"averageUtilization": percent}}}


def _format_metrics(asked: Sequence[ReadOnlyObject], reported: Sequence[ReadOnlyObject]) -> str:
    if not asked:
        return NONE
    padded = [*reported, *[{}] * (len(asked) - len(reported))]
    # A metric without a status yet is paired with an empty one, which prints as unknown.
    shown = ", ".join(_format_metric(*pair) for pair in list(zip(asked, padded, strict=False))[:METRICS_SHOWN_MAX])
    left = len(asked) - METRICS_SHOWN_MAX
    return f"{shown} + {left} more..." if left > 0 else shown


def _format_metric(asked: ReadOnlyObject, reported: ReadOnlyObject) -> str:
    """Return `current/target` of one metric."""
    # upstream 1.36: pkg/printers/internalversion/printers.go, formatHPAMetrics
    match string(asked, "type"):
        case "External":
            return _format_value(asked, reported, "external")
        case "Object":
            return _format_value(asked, reported, "object")
        case "Pods":
            return _format_average(asked, reported, "pods")
        case "Resource":
            return _format_resource(asked, reported, "resource")
        case "ContainerResource":
            return _format_resource(asked, reported, "containerResource")
    return "<unknown type>"


def _format_value(asked: ReadOnlyObject, reported: ReadOnlyObject, source: str) -> str:
    """Return `current/target`: of the average if that is the target, else of the value."""
    if (average := value_at(asked, source, "target", "averageValue")) is not None:
        return f"{string(reported, source, 'current', 'averageValue', missing=UNKNOWN)}/{average} (avg)"
    current = UNKNOWN
    if value_at(reported, source) is not None:
        current = string(reported, source, "current", "value", missing=_NIL)
    return f"{current}/{string(asked, source, 'target', 'value', missing=_NIL)}"


def _format_average(asked: ReadOnlyObject, reported: ReadOnlyObject, source: str) -> str:
    current = UNKNOWN
    if value_at(reported, source) is not None:
        current = string(reported, source, "current", "averageValue", missing=_NIL)
    return f"{current}/{string(asked, source, 'target', 'averageValue', missing=_NIL)}"


def _format_resource(asked: ReadOnlyObject, reported: ReadOnlyObject, source: str) -> str:
    resource = string(asked, source, "name")
    if value_at(asked, source, "target", "averageValue") is not None:
        return f"{resource}: {_format_average(asked, reported, source)}"
    current = _format_percent(value_at(reported, source, "current", "averageUtilization"), UNKNOWN)
    target = _format_percent(value_at(asked, source, "target", "averageUtilization"), "<auto>")
    return f"{resource}: {current}/{target}"


def _format_percent(value: int | None, missing: str) -> str:
    return missing if value is None else f"{value}%"


HORIZONTAL_POD_AUTOSCALER = Printer(
    (
        NAME,
        text_column("Reference", "The object that is scaled."),
        text_column("Targets", "Current and target metrics."),
        text_column("MinPods", "Minimum number of pods."),
        text_column("MaxPods", "Maximum number of pods."),
        text_column("Replicas", "Current number of pods."),
        AGE,
    ),
    autoscaler_cells,
)

KIND: Final = Kind(
    "autoscaling",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
    short_names=("hpa",),
    categories=("all",),
    versions=("v2", "v1"),
    subresources=(STATUS,),
    strategy=lambda _: HorizontalPodAutoscalerStrategy(),
    defaults={"v2": default_autoscaler, "v1": default_autoscaler_v1},
    printer=HORIZONTAL_POD_AUTOSCALER,
    conversions={("autoscaling/v2", "autoscaling/v1"): to_v1, ("autoscaling/v1", "autoscaling/v2"): to_v2},
)
