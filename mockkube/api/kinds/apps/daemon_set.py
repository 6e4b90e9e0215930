"""DaemonSet: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.apps.columns import read_numbers, template_container_cells
from mockkube.api.kinds.apps.deployment import validate_selector_unchanged
from mockkube.api.kinds.apps.pod_owners import (
    REVISION_HISTORY_LIMIT_DEFAULT,
    SELECTOR_MISMATCH,
    PodTemplateOwnerStrategy,
    TemplateValidator,
    empty_selector_error,
    is_empty_selector,
    selector_matches_template,
    template_labels,
    template_warnings,
    validate_collision_count,
    validate_restart_policy_always,
)
from mockkube.api.kinds.core.pod.defaults import default_template
from mockkube.api.printers.accessors import name_of, section
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.labels import format_labels, format_selector
from mockkube.api.printers.table import (
    AGE_COLUMN,
    NAME_COLUMN,
    SELECTOR_COLUMN,
    WORKLOAD_COLUMNS,
    Cell,
    Printer,
    integer_column,
    text_column,
)
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.internal_form import InternalShape, make_optional, to_internal
from mockkube.api.validation.labels import is_invalid_selector, validate_label_selector
from mockkube.api.validation.numbers import (
    get_int_or_percent_value,
    validate_at_most_100_percent,
    validate_int_or_percent,
    validate_nonnegative_fields,
)
from mockkube.features.capabilities import Capabilities


def default_daemon_set(daemon_set: Object, caps: Capabilities) -> None:
    """Default to a rolling update of one pod at a time."""
    spec = daemon_set.setdefault("spec", {})
    spec.setdefault("revisionHistoryLimit", REVISION_HISTORY_LIMIT_DEFAULT)
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    default_template(spec.setdefault("template", {}), caps)


# spec.templateGeneration of the internal type; apps/v1 has no such field and keeps it in this annotation. upstream
# 1.36: pkg/apis/apps/v1/conversion.go
TEMPLATE_GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"
_COUNTS: Final = (
    *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration"),
    *("updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
)
_ROLLING: Final[InternalShape] = (("MaxUnavailable", "maxUnavailable", 0), ("MaxSurge", "maxSurge", 0))
_STRATEGY: Final[InternalShape] = (("Type", "type", ""), ("RollingUpdate", "rollingUpdate", make_optional(_ROLLING)))


class DaemonSetStrategy(PodTemplateOwnerStrategy):
    """Strategy of DaemonSet; counts versions of the pod template in an annotation."""

    def empty_status(self) -> Object:
        """Return the counts that a Go server writes even when they are zero."""
        names = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
        return dict.fromkeys(names, 0)

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status and start with the first version of the template."""
        super().prepare_for_create(obj, context)
        _set_template_generation(obj, max(_template_generation(obj), 1))

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status; count versions of the template."""
        super().prepare_for_update(new, old, context)
        changed = new["spec"].get("template") != old["spec"].get("template")
        _set_template_generation(new, _template_generation(old) + changed)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field."""
        return _validate_spec(obj, None, self.template_validator(context))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec and that the selector is unchanged, or the counts of the status."""
        if context.subresource == "status":
            status = new.get("status") or {}
            return validate_nonnegative_fields(status, "status", *_COUNTS) + validate_collision_count(new, old)
        return validate_selector_unchanged(new, old) + _validate_spec(new, old, self.template_validator(context))

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the pod template."""
        return template_warnings(obj, context)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the pod template when it changed."""
        if context.subresource == "status" or _template_generation(new) == _template_generation(old):
            return []
        return template_warnings(new, context)


def _template_generation(obj: ReadOnlyObject) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION_ANNOTATION, "")
    return int(text) if text.lstrip("+-").isdigit() else 0


def _set_template_generation(obj: Object, number: int) -> None:
    metadata = obj["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION_ANNOTATION: str(number)}


def _validate_spec(obj: ReadOnlyObject, old: ReadOnlyObject | None, validator: TemplateValidator) -> list[FieldError]:
    spec, before = obj["spec"], old["spec"] if old else None
    selector, template, at = spec.get("selector"), spec.get("template") or {}, "spec.template"
    # Selectors with invalid label values were accepted once; a stored one must stay writable.
    lenient = before is not None and is_invalid_selector(before.get("selector"))
    errors = validate_label_selector(selector, "spec.selector", allow_invalid_values=lenient)
    # A selector that does not parse gives None; its own errors are reported above.
    if selector_matches_template(selector, template) is False:
        errors.append(invalid(f"{at}.metadata.labels", template_labels(template), SELECTOR_MISMATCH))
    if is_empty_selector(selector):
        errors.append(empty_selector_error(selector or {}, "spec.selector", "daemonset"))
    errors += validator.validate(template, before and before.get("template"), at)
    errors += validate_restart_policy_always(template, at, "DaemonSet")
    errors += validate_nonnegative_fields(spec, "spec", "minReadySeconds")
    errors += validate_nonnegative_fields(
        {"templateGeneration": _template_generation(obj)}, "spec", "templateGeneration"
    )
    errors += _validate_strategy(spec.get("updateStrategy") or {})
    return errors + validate_nonnegative_fields(spec, "spec", "revisionHistoryLimit")


def _validate_strategy(strategy: ReadOnlyObject) -> list[FieldError]:
    rolling, at = strategy.get("rollingUpdate"), "spec.updateStrategy.rollingUpdate"
    match strategy.get("type", ""):
        case "OnDelete":
            return []
        case "RollingUpdate":
            if rolling is None:
                return [required(at)]
            return _validate_rolling(rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0), at)
        case _:
            supported = ("RollingUpdate", "OnDelete")
            return [not_supported("spec.updateStrategy", to_internal(strategy, _STRATEGY), supported)]


def _validate_rolling(missing: int | str, surge: int | str, at: str) -> list[FieldError]:
    places = ((missing, f"{at}.maxUnavailable"), (surge, f"{at}.maxSurge"))
    errors = [
        error
        for rule in (validate_int_or_percent, validate_at_most_100_percent)
        for each in places
        for error in rule(*each)
    ]
    # A surge pod and its predecessor share the node, so a node is either surged or allowed to be without a pod, not
    # both.
    if get_int_or_percent_value(missing) and get_int_or_percent_value(surge):
        errors.append(invalid(f"{at}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not get_int_or_percent_value(missing) and not get_int_or_percent_value(surge):
        errors.append(required(f"{at}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def daemon_set_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a DaemonSet."""
    scheduled = read_numbers(obj, "status", "desiredNumberScheduled", "currentNumberScheduled")
    progress = read_numbers(obj, "status", "numberReady", "updatedNumberScheduled", "numberAvailable")
    return [
        name_of(obj),
        *scheduled,
        *progress,
        format_labels(section(obj, "spec", "template", "spec", "nodeSelector")),
        format_age(obj, now),
        *template_container_cells(obj),
        format_selector(section(obj, "spec", "selector")),
    ]


DAEMON_SET = Printer(
    (
        NAME_COLUMN,
        integer_column("Desired", "Nodes that should run the pod."),
        integer_column("Current", "Nodes that run the pod and should."),
        integer_column("Ready", "Nodes on which the pod is ready."),
        integer_column("Up-to-date", "Nodes that run the current pod template."),
        integer_column("Available", "Nodes on which the pod has been ready for minReadySeconds."),
        text_column("Node Selector", "The labels of the nodes that should run the pod."),
        AGE_COLUMN,
        *WORKLOAD_COLUMNS,
        SELECTOR_COLUMN,
    ),
    daemon_set_cells,
)

KIND: Final = Kind(
    "apps",
    "DaemonSet",
    "daemonsets",
    short_names=("ds",),
    categories=("all",),
    subresources=(STATUS,),
    pod_spec=("spec", "template", "spec"),
    strategy=lambda dependencies: DaemonSetStrategy(dependencies.extensions),
    defaults={"v1": default_daemon_set},
    printer=DAEMON_SET,
)
