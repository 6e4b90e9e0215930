"""Workload: strategy and validation."""

from collections.abc import Sequence
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, required, too_many
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.scheduling.pod_group_spec import (
    drop_disabled_pod_group_fields,
    validate_pod_group_spec,
    validate_required_label,
    validate_unchanged,
    validate_unique_names,
)
from mockkube.api.printers.default_printers import NAME_AND_AGE_PRINTER
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_format, validate_subdomain

TEMPLATES_MAX: Final = 8
_DROPPED_REPLACEMENTS: Final = {"schedulingConstraints": None}
_TEMPLATE_FIELDS: Final = (
    *("name", "schedulingPolicy", "schedulingConstraints", "resourceClaims"),
    *("disruptionMode", "priorityClassName", "priority"),
)


class WorkloadStrategy(Strategy):
    """Strategy of Workload; its spec is immutable."""

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Drop fields of disabled gates."""
        for template in _pod_group_templates(obj):
            drop_disabled_pod_group_fields(template, {}, context, _DROPPED_REPLACEMENTS)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Drop fields of disabled gates that the stored template at the same index does not use."""
        before = _pod_group_templates(old)
        for index, template in enumerate(_pod_group_templates(new)):
            drop_disabled_pod_group_fields(
                template, before[index] if index < len(before) else {}, context, _DROPPED_REPLACEMENTS
            )

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the controller reference and each template."""
        # upstream 1.36: pkg/apis/scheduling/v1alpha2/zz_generated.validations.go
        errors: list[FieldError] = []
        if obj["spec"].get("controllerRef") is not None:
            errors += _validate_controller_reference(obj["spec"]["controllerRef"], "spec.controllerRef")
        if "podGroupTemplates" not in obj["spec"]:
            return errors
        templates, at = _pod_group_templates(obj), "spec.podGroupTemplates"
        if count_errors := _validate_count(templates, at):
            return errors + count_errors
        errors += validate_unique_names(templates, at, _TEMPLATE_FIELDS)
        for index, template in enumerate(templates):
            errors += validate_required_label(template, f"{at}[{index}]", "name")
            errors += validate_pod_group_spec(template, f"{at}[{index}]")
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject another controller or other templates."""
        errors = validate_unchanged(new["spec"], old["spec"], "controllerRef", "spec")
        if change_errors := validate_unchanged(new["spec"], old["spec"], "podGroupTemplates", "spec"):
            errors += change_errors + _validate_count(_pod_group_templates(new), "spec.podGroupTemplates")
        return errors


def _pod_group_templates(workload: ReadOnlyObject) -> Sequence[Object]:
    return workload["spec"].get("podGroupTemplates") or []


def _validate_count(templates: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    if not templates:
        return [required(at)]
    return [too_many(at, len(templates), TEMPLATES_MAX)] if len(templates) > TEMPLATES_MAX else []


def _validate_controller_reference(reference: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = validate_subdomain(reference["apiGroup"], f"{at}.apiGroup") if reference.get("apiGroup") else []
    for field in ("kind", "name"):
        value, place = reference.get(field), f"{at}.{field}"
        errors += validate_format(value, place, names.check_path_segment) if value else [required(place)]
    return errors


KIND: Final = Kind(
    "scheduling.k8s.io",
    "Workload",
    "workloads",
    versions=("v1beta1", "v1alpha3", "v1alpha2", "v1alpha1"),
    gate="GenericWorkload",
    strategy=lambda _: WorkloadStrategy(),
    printer=NAME_AND_AGE_PRINTER,
)
