"""HorizontalPodAutoscaler: strategy, validation and printer columns.

upstream 1.36: pkg/apis/autoscaling/validation/validation.go
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, forbidden, invalid, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.autoscaling.defaults import default_autoscaler, default_autoscaler_v1
from mockkube.api.kinds.autoscaling.metrics import (
    ALLOW_EMPTY_GROUP,
    STRICT,
    UNCHECKED,
    ReferenceOptions,
    find_api_version_error,
    validate_metric,
    validate_reference,
)
from mockkube.api.kinds.autoscaling.versions import to_v1, to_v2
from mockkube.api.printers.accessors import name_of, number, section, sections, string, value_at
from mockkube.api.printers.ages import UNKNOWN, format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, UNSET, Cell, Printer, text_column
from mockkube.api.quantities.quantity import parse
from mockkube.api.strategy import StatusStrategy, StrategyContext, keep_generation
from mockkube.api.validation.formats import validate_one_of
from mockkube.api.validation.numbers import validate_nonnegative_fields
from mockkube.lazy_dataclasses import dataclass

WINDOW_SECONDS_MAX: Final = 3600
PERIOD_SECONDS_MAX: Final = 1800
_GENERATION_GATE: Final = "HPAGeneration"
_SELECT_POLICIES: Final = ("Disabled", "Max", "Min")
_POLICY_TYPES: Final = ("Percent", "Pods")


@dataclass(frozen=True, slots=True)
class _ValidationOptions:
    """Validation options: fewest replicas, and how strictly references are checked."""

    min_replicas: int = 1
    target: ReferenceOptions = STRICT
    described: ReferenceOptions = ALLOW_EMPTY_GROUP


class HorizontalPodAutoscalerStrategy(StatusStrategy):
    """Strategy of HorizontalPodAutoscaler; it has a generation only with the gate HPAGeneration."""

    tracks_generation = False

    def empty_status(self) -> Object:
        """Return the fields that a Go server writes even when they are empty."""
        return {"desiredReplicas": 0, "currentMetrics": None}

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status; drop tolerances if their gate is off."""
        super().prepare_for_create(obj, context)
        if context.caps.enabled(_GENERATION_GATE):
            obj["metadata"]["generation"] = 1
        _drop_tolerance(obj, None, context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status; drop tolerances if their gate is off and none is stored."""
        super().prepare_for_update(new, old, context)
        if context.subresource == "status":
            return
        _drop_tolerance(new, old, context)
        if context.caps.enabled(_GENERATION_GATE) and new["spec"] != old["spec"]:
            keep_generation(new, old)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field."""
        return _validate_spec(obj["spec"], _validation_options(obj, None, context))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec, tolerating what the stored one violates, or the counts of the status."""
        if context.subresource == "status":
            return validate_nonnegative_fields(new.get("status") or {}, "status", "currentReplicas", "desiredReplicas")
        return _validate_spec(new["spec"], _validation_options(new, old, context))


def _scaling_rules(obj: ReadOnlyObject | None) -> Iterator[Object]:
    behavior = ((obj or {}).get("spec") or {}).get("behavior") or {}
    for name in ("scaleDown", "scaleUp"):
        if behavior.get(name):
            yield behavior[name]


def _drop_tolerance(new: Object, old: ReadOnlyObject | None, context: StrategyContext) -> None:
    used = any("tolerance" in rules for rules in _scaling_rules(old))
    if not used and not context.caps.enabled("HPAConfigurableTolerance"):
        for rules in _scaling_rules(new):
            rules.pop("tolerance", None)


def _validation_options(
    new: ReadOnlyObject, old: ReadOnlyObject | None, context: StrategyContext
) -> _ValidationOptions:
    before = (old or {}).get("spec") or {}
    bounds = _ValidationOptions()
    if context.caps.enabled("HPAScaleToZero") or before.get("minReplicas") == 0:
        bounds = replace(bounds, min_replicas=0)
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


def _validate_spec(spec: ReadOnlyObject, options: _ValidationOptions) -> list[FieldError]:
    min_replicas, max_replicas = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    errors = []
    if min_replicas is not None and min_replicas < options.min_replicas:
        detail = f"must be greater than or equal to {options.min_replicas}"
        errors.append(invalid("spec.minReplicas", min_replicas, detail))
    if max_replicas == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif max_replicas < 0:
        errors.append(invalid("spec.maxReplicas", max_replicas, "must be greater than or equal to 1"))
    if min_replicas is not None and max_replicas < min_replicas:
        errors.append(invalid("spec.maxReplicas", max_replicas, "must be greater than or equal to `minReplicas`"))
    errors += validate_reference(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef", options.target)
    metrics = spec.get("metrics") or []
    for index, metric in enumerate(metrics):
        errors += validate_metric(metric, f"spec.metrics[{index}]", options.described)
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
        errors += validate_one_of(rules["selectPolicy"], f"{at}.selectPolicy", _SELECT_POLICIES)
    if not policies:
        errors.append(required(f"{at}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(policies):
        errors += _validate_policy(policy, f"{at}.policies[{index}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse(tolerance).sign < 0:
        errors.append(invalid(f"{at}.tolerance", tolerance, "must be greater than or equal to 0"))
    return errors


def _validate_policy(policy: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = validate_one_of(policy.get("type"), f"{at}.type", _POLICY_TYPES)
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
        format_age(obj, now),
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


def _format_metrics(specs: Sequence[ReadOnlyObject], statuses: Sequence[ReadOnlyObject]) -> str:
    if not specs:
        return NONE
    padded = [*statuses, *[{}] * (len(specs) - len(statuses))]
    # A metric without a status yet is paired with an empty one, which prints as unknown.
    shown = ", ".join(_format_metric(*pair) for pair in list(zip(specs, padded, strict=False))[:METRICS_SHOWN_MAX])
    left = len(specs) - METRICS_SHOWN_MAX
    return f"{shown} + {left} more..." if left > 0 else shown


def _format_metric(spec: ReadOnlyObject, status: ReadOnlyObject) -> str:
    """Return `current/target` of one metric."""
    # upstream 1.36: pkg/printers/internalversion/printers.go, formatHPAMetrics
    match string(spec, "type"):
        case "External":
            return _format_value(spec, status, "external")
        case "Object":
            return _format_value(spec, status, "object")
        case "Pods":
            return _format_average(spec, status, "pods")
        case "Resource":
            return _format_resource(spec, status, "resource")
        case "ContainerResource":
            return _format_resource(spec, status, "containerResource")
    return "<unknown type>"


def _format_value(spec: ReadOnlyObject, status: ReadOnlyObject, source: str) -> str:
    """Return `current/target`: of the average if that is the target, else of the value."""
    if (average := value_at(spec, source, "target", "averageValue")) is not None:
        return f"{string(status, source, 'current', 'averageValue', missing=UNKNOWN)}/{average} (avg)"
    current = UNKNOWN
    if value_at(status, source) is not None:
        current = string(status, source, "current", "value", missing=_NIL)
    return f"{current}/{string(spec, source, 'target', 'value', missing=_NIL)}"


def _format_average(spec: ReadOnlyObject, status: ReadOnlyObject, source: str) -> str:
    current = UNKNOWN
    if value_at(status, source) is not None:
        current = string(status, source, "current", "averageValue", missing=_NIL)
    return f"{current}/{string(spec, source, 'target', 'averageValue', missing=_NIL)}"


def _format_resource(spec: ReadOnlyObject, status: ReadOnlyObject, source: str) -> str:
    resource = string(spec, source, "name")
    if value_at(spec, source, "target", "averageValue") is not None:
        return f"{resource}: {_format_average(spec, status, source)}"
    current = _format_percent(value_at(status, source, "current", "averageUtilization"), UNKNOWN)
    target = _format_percent(value_at(spec, source, "target", "averageUtilization"), "<auto>")
    return f"{resource}: {current}/{target}"


def _format_percent(value: int | None, missing: str) -> str:
    return missing if value is None else f"{value}%"


HORIZONTAL_POD_AUTOSCALER = Printer(
    (
        NAME_COLUMN,
        text_column("Reference", "The object that is scaled."),
        text_column("Targets", "Current and target metrics."),
        text_column("MinPods", "Minimum number of pods."),
        text_column("MaxPods", "Maximum number of pods."),
        text_column("Replicas", "Current number of pods."),
        AGE_COLUMN,
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
