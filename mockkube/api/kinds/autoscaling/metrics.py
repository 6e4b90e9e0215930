"""Validate metrics of autoscalers and the references to their targets.

upstream 1.36: pkg/apis/autoscaling/validation/validation.go
"""

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.resource_names import validate_container_resource_name
from mockkube.api.quantities.quantity import parse
from mockkube.api.validation.formats import validate_format, validate_label
from mockkube.lazy_dataclasses import dataclass

# The field that each metric type uses. Upstream reads the fields in this order and validates only the first that is
# set.
_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_TYPES: Final = tuple(sorted(_SOURCES))
_TARGET_TYPES: Final = ("Utilization", "Value", "AverageValue")


@dataclass(frozen=True, slots=True)
class ReferenceOptions:
    """Options for validating the apiVersion of a reference."""

    allow_empty_group: bool = False
    unchecked: bool = False


STRICT: Final = ReferenceOptions()
ALLOW_EMPTY_GROUP: Final = ReferenceOptions(allow_empty_group=True)
UNCHECKED: Final = ReferenceOptions(unchecked=True)


def validate_reference(reference: ReadOnlyObject, at: str, options: ReferenceOptions) -> list[FieldError]:
    """Validate a reference to a scale target or described object."""
    errors: list[FieldError] = []
    for name in ("kind", "name"):
        value = reference.get(name)
        errors += (
            validate_format(value, f"{at}.{name}", names.check_path_segment) if value else [required(f"{at}.{name}")]
        )
    message = find_api_version_error(reference, options)
    if message:
        errors.append(invalid(f"{at}.apiVersion", reference.get("apiVersion", ""), message))
    return errors


def find_api_version_error(reference: ReadOnlyObject, options: ReferenceOptions) -> str | None:
    """Return what is wrong with the apiVersion of a reference, or None."""
    version = reference.get("apiVersion", "")
    if options.unchecked:
        return None
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    group = version.partition("/")[0] if "/" in version else ""
    return None if group or options.allow_empty_group else "apiVersion must specify API group"


def validate_metric(metric: ReadOnlyObject, at: str, options: ReferenceOptions) -> list[FieldError]:
    """Validate the type, source and target of a metric."""
    kind = metric.get("type", "")
    errors = [] if kind else [required(f"{at}.type", "must specify a metric source type")]
    if kind not in _SOURCES:
        errors.append(not_supported(f"{at}.type", kind, _TYPES))
    given = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if given:
        errors += _validate_source(metric[given[0]], given[0], f"{at}.{given[0]}", options)
    expected = _SOURCES.get(kind)
    # An unknown type is reported twice, as upstream does: once for itself and once when it looks for the source.
    if expected is None:
        errors.append(not_supported(f"{at}.type", kind, _TYPES))
    elif expected not in given:
        errors.append(required(f"{at}.{expected}", "must populate information for the given metric source"))
    if len(given) != 1:
        detail = "must populate the given metric source only"
        errors += [forbidden(f"{at}.{name}", detail) for name in given if name != expected]
    return errors


def _validate_source(source: ReadOnlyObject, name: str, at: str, options: ReferenceOptions) -> list[FieldError]:
    target = source.get("target") or {}
    errors: list[FieldError] = []
    match name:
        case "object":
            errors += validate_reference(source.get("describedObject") or {}, f"{at}.describedObject", options)
            errors += _validate_metric_name(source, at)
        case "external" | "pods":
            errors += _validate_metric_name(source, at)
        case _:
            errors += _validate_resource(source, at, contained=name == "containerResource")
    errors += _validate_metric_target(target, f"{at}.target")
    match name:
        case "object" | "external":
            return errors + _validate_value_target(target, f"{at}.target", external=name == "external")
        case "pods":
            missing = target.get("averageValue") is None
            detail = "must specify a positive target averageValue"
            return [*errors, required(f"{at}.target.averageValue", detail)] if missing else errors
        case _:
            return errors + _validate_resource_target(target, f"{at}.target")


def _validate_metric_name(source: ReadOnlyObject, at: str) -> list[FieldError]:
    name = (source.get("metric") or {}).get("name")
    if not name:
        return [required(f"{at}.metric.name", "must specify a metric name")]
    return validate_format(name, f"{at}.metric.name", names.check_path_segment)


def _validate_resource(source: ReadOnlyObject, at: str, *, contained: bool) -> list[FieldError]:
    name, container = source.get("name"), source.get("container")
    errors = [] if name else [required(f"{at}.name", "must specify a resource name")]
    if contained:
        errors += validate_container_resource_name(name, f"{at}.name") if name else []
        missing = required(f"{at}.container", "must specify a container")
        errors += validate_label(container, f"{at}.container") if container else [missing]
    return errors


def _validate_metric_target(target: ReadOnlyObject, at: str) -> list[FieldError]:
    kind, share = target.get("type", ""), target.get("averageUtilization")
    errors = [] if kind else [required(f"{at}.type", "must specify a metric target type")]
    if kind not in _TARGET_TYPES:
        errors.append(invalid(f"{at}.type", kind, "must be either Utilization, Value, or AverageValue"))
    amounts = ((name, target[name]) for name in ("value", "averageValue") if target.get(name) is not None)
    errors += [invalid(f"{at}.{name}", each, "must be positive") for name, each in amounts if parse(each).sign != 1]
    if share is not None and share < 1:
        errors.append(invalid(f"{at}.averageUtilization", share, "must be greater than 0"))
    return errors


def _validate_value_target(target: ReadOnlyObject, at: str, *, external: bool) -> list[FieldError]:
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        detail = "must set either a target value for metric or a per-pod target"
        plain = "must set either a target value or averageValue"
        return [required(f"{at}.averageValue", detail if external else plain)]
    if external and value is not None and average is not None:
        return [forbidden(f"{at}.value", "may not set both a target value for metric and a per-pod target")]
    return []


def _validate_resource_target(target: ReadOnlyObject, at: str) -> list[FieldError]:
    share, average = target.get("averageUtilization"), target.get("averageValue")
    if share is None and average is None:
        detail = "must set either a target raw value or a target utilization"
        return [required(f"{at}.averageUtilization", detail)]
    if share is not None and average is not None:
        return [forbidden(f"{at}.averageValue", "may not set both a target raw value and a target utilization")]
    return []
