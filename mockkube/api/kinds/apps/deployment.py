"""Deployment: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import SCALE, STATUS
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.apps.columns import READY_COLUMN, format_ready, read_numbers, template_container_cells
from mockkube.api.kinds.apps.pod_owners import (
    REVISION_HISTORY_LIMIT_DEFAULT,
    PodTemplateOwnerStrategy,
    TemplateValidator,
    changed_template_warnings,
    name_warnings,
    template_warnings,
    validate_at_most,
    validate_collision_count,
    validate_replica_set_template,
    validate_required_selector,
)
from mockkube.api.kinds.core.pod.defaults import default_template
from mockkube.api.printers.accessors import name_of, section
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.labels import format_selector_or_none
from mockkube.api.printers.table import (
    AGE_COLUMN,
    NAME_COLUMN,
    SELECTOR_COLUMN,
    WORKLOAD_COLUMNS,
    Cell,
    Printer,
    text_column,
)
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.internal_form import InternalShape, make_optional, order_selector, to_internal
from mockkube.api.validation.numbers import (
    get_int_or_percent_value,
    validate_at_most_100_percent,
    validate_int_or_percent,
    validate_nonnegative_fields,
)
from mockkube.api.validation.status_metadata import restore_fields
from mockkube.features.capabilities import Capabilities


def default_deployment(deployment: Object, caps: Capabilities) -> None:
    """Default to one replica and a rolling update of a quarter at a time."""
    spec = deployment.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", REVISION_HISTORY_LIMIT_DEFAULT)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    default_template(spec.setdefault("template", {}), caps)


_COUNTS: Final = (
    *("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
    *("unavailableReplicas", "terminatingReplicas", "collisionCount"),
)
_BOUND_DETAIL: Final = "cannot be greater than status.replicas"
_BOUNDS: Final = (
    ("updatedReplicas", "replicas", _BOUND_DETAIL),
    ("readyReplicas", "replicas", _BOUND_DETAIL),
    ("availableReplicas", "replicas", _BOUND_DETAIL),
    ("availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"),
)
_ROLLING: Final[InternalShape] = (("MaxUnavailable", "maxUnavailable", 0), ("MaxSurge", "maxSurge", 0))
_STRATEGY: Final[InternalShape] = (("Type", "type", ""), ("RollingUpdate", "rollingUpdate", make_optional(_ROLLING)))
_STRATEGIES: Final = ("Recreate", "RollingUpdate")
TERMINATING_REPLICAS_GATE: Final = "DeploymentReplicaSetTerminatingReplicas"


class DeploymentStrategy(PodTemplateOwnerStrategy):
    """Strategy of Deployment; changed annotations raise the generation, too."""

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status; raise the generation for changes of spec or annotations."""
        super().prepare_for_update(new, old, context)
        annotated = (new["metadata"].get("annotations") or {}) != (old["metadata"].get("annotations") or {})
        # The controller copies annotations to ReplicaSets, so a changed annotation has to reach observedGeneration,
        # too.
        if context.subresource != "status" and annotated:
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec and labels."""
        super().prepare_for_status_update(new, old, context)
        restore_fields(new["metadata"], old["metadata"], "labels")
        drop_terminating_replicas(new, old, context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field."""
        return _validate_spec(obj["spec"], None, self.template_validator(context))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec and that the selector is unchanged, or the counts of the status."""
        if context.subresource == "status":
            status = new.get("status") or {}
            errors = validate_nonnegative_fields(status, "status", *_COUNTS) + validate_at_most(status, _BOUNDS)
            return errors + validate_collision_count(new, old)
        return _validate_spec(new["spec"], old["spec"], self.template_validator(context)) + validate_selector_unchanged(
            new, old
        )

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about name and template."""
        return name_warnings(obj) + template_warnings(obj, context)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the pod template."""
        return [] if context.subresource == "status" else changed_template_warnings(new, old, context)


def drop_terminating_replicas(new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
    """Drop terminatingReplicas if its gate is off and the stored status has none."""
    if not context.caps.enabled(TERMINATING_REPLICAS_GATE) and "terminatingReplicas" not in (old.get("status") or {}):
        (new.get("status") or {}).pop("terminatingReplicas", None)


def validate_selector_unchanged(new: ReadOnlyObject, old: ReadOnlyObject) -> list[FieldError]:
    """Reject a changed selector."""
    selector = new["spec"].get("selector")
    if selector == old["spec"].get("selector"):
        return []
    return [invalid("spec.selector", order_selector(selector), "field is immutable")]


def _validate_spec(
    spec: ReadOnlyObject, before: ReadOnlyObject | None, validator: TemplateValidator
) -> list[FieldError]:
    errors = validate_nonnegative_fields(spec, "spec", "replicas")
    errors += validate_required_selector(spec.get("selector"), "spec.selector", "deployment")
    errors += validate_replica_set_template(spec, before, validator)
    errors += _validate_strategy(spec.get("strategy") or {})
    errors += validate_nonnegative_fields(
        spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"
    )
    # A pod makes progress only once it is available, so an earlier deadline would always be exceeded.
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors


def _validate_strategy(strategy: ReadOnlyObject) -> list[FieldError]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    at = "spec.strategy.rollingUpdate"
    match kind:
        case "Recreate":
            detail = "may not be specified when strategy `type` is 'Recreate'"
            return [] if rolling is None else [forbidden(at, detail)]
        case "RollingUpdate":
            if rolling is None:
                return [required(at, "this should be defaulted and never be nil")]
            return _validate_rolling(rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0), at)
        case _:
            return [not_supported("spec.strategy", to_internal(strategy, _STRATEGY), _STRATEGIES)]


def _validate_rolling(missing: int | str, surge: int | str, at: str) -> list[FieldError]:
    errors = validate_int_or_percent(missing, f"{at}.maxUnavailable") + validate_int_or_percent(surge, f"{at}.maxSurge")
    # With both at zero the controller could neither remove an old pod nor add a new one.
    if not get_int_or_percent_value(missing) and not get_int_or_percent_value(surge):
        errors.append(invalid(f"{at}.maxUnavailable", missing, "may not be 0 when `maxSurge` is 0"))
    return errors + validate_at_most_100_percent(missing, f"{at}.maxUnavailable")


def deployment_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Deployment; unlike other kinds it shows a missing selector as empty."""
    selector = format_selector_or_none(section(obj, "spec", "selector"))
    return [
        name_of(obj),
        format_ready(obj),
        *read_numbers(obj, "status", "updatedReplicas", "availableReplicas"),
        format_age(obj, now),
        *template_container_cells(obj),
        "<invalid>" if selector is None else selector,
    ]


DEPLOYMENT = Printer(
    (
        NAME_COLUMN,
        READY_COLUMN,
        text_column("Up-to-date", "Pods with the current pod template."),
        text_column("Available", "Pods that have been ready for minReadySeconds."),
        AGE_COLUMN,
        *WORKLOAD_COLUMNS,
        SELECTOR_COLUMN,
    ),
    deployment_cells,
)

KIND: Final = Kind(
    "apps",
    "Deployment",
    "deployments",
    short_names=("deploy",),
    categories=("all",),
    subresources=(SCALE, STATUS),
    pod_spec=("spec", "template", "spec"),
    strategy=lambda dependencies: DeploymentStrategy(dependencies.extensions),
    defaults={"v1": default_deployment},
    printer=DEPLOYMENT,
)
