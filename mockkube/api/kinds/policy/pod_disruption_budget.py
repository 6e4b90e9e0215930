"""PodDisruptionBudget: strategy, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, invalid, not_supported
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, number, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, integer_column, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.conditions import validate_conditions
from mockkube.api.validation.internal_form import InternalShape, order_selector, to_internal
from mockkube.api.validation.labels import is_invalid_selector, validate_label_selector
from mockkube.api.validation.numbers import (
    validate_at_most_100_percent,
    validate_int_or_percent,
    validate_nonnegative_fields,
)

_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_UNHEALTHY_POD_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_SPEC: Final[InternalShape] = (
    ("MinAvailable", "minAvailable", None),
    ("Selector", "selector", None),
    ("MaxUnavailable", "maxUnavailable", None),
    ("UnhealthyPodEvictionPolicy", "unhealthyPodEvictionPolicy", None),
)


class PodDisruptionBudgetStrategy(StatusStrategy):
    """Strategy of PodDisruptionBudget."""

    requires_qualified_finalizers = False
    # Evictions decrease disruptionsAllowed with a resourceVersion; a blind overwrite would allow more than the budget.
    allow_unconditional_update = False

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require a path segment, which is all that upstream requires here."""
        return names.check_path_segment(name)

    def empty_status(self) -> Object:
        """Return the counts that a Go server writes even when they are zero."""
        return dict.fromkeys(_COUNTS, 0)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec."""
        return _validate_spec(obj["spec"], lenient=False)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec, or conditions and counts of the status."""
        if context.subresource == "status":
            status = new.get("status") or {}
            errors = validate_conditions(status.get("conditions"), "status.conditions")
            return errors + validate_nonnegative_fields(status, "status", *_COUNTS)
        return _validate_spec(new["spec"], lenient=is_invalid_selector(old["spec"].get("selector")))


def _validate_spec(spec: ReadOnlyObject, *, lenient: bool) -> list[FieldError]:
    errors = []
    # The two could contradict each other, so that no number of healthy pods satisfies both.
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        errors.append(invalid("spec", _to_internal(spec), "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        if spec.get(name) is not None:
            errors += validate_int_or_percent(spec[name], f"spec.{name}")
            errors += validate_at_most_100_percent(spec[name], f"spec.{name}")
    errors += validate_label_selector(spec.get("selector"), "spec.selector", allow_invalid_values=lenient)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _UNHEALTHY_POD_EVICTION_POLICIES:
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _UNHEALTHY_POD_EVICTION_POLICIES))
    return errors


def _to_internal(spec: ReadOnlyObject) -> ReadOnlyObject | None:
    return to_internal({**spec, "selector": order_selector(spec.get("selector"))}, _SPEC)


NOT_SET = "N/A"


def disruption_budget_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PodDisruptionBudget."""
    return [
        name_of(obj),
        string(obj, "spec", "minAvailable", missing=NOT_SET),
        string(obj, "spec", "maxUnavailable", missing=NOT_SET),
        number(obj, "status", "disruptionsAllowed"),
        format_age(obj, now),
    ]


POD_DISRUPTION_BUDGET = Printer(
    (
        NAME_COLUMN,
        text_column("Min Available", "Number of pods that must stay available."),
        text_column("Max Unavailable", "Number of pods that may be unavailable."),
        integer_column("Allowed Disruptions", "Number of pods that may be disrupted now."),
        AGE_COLUMN,
    ),
    disruption_budget_cells,
)

KIND: Final = Kind(
    "policy",
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    short_names=("pdb",),
    subresources=(STATUS,),
    strategy=lambda _: PodDisruptionBudgetStrategy(),
    printer=POD_DISRUPTION_BUDGET,
)
