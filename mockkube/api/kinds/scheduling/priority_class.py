"""PriorityClass: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.fields import FieldError, forbidden
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, number, string, truth
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import (
    AGE_COLUMN,
    NAME_COLUMN,
    Cell,
    Printer,
    boolean_column,
    integer_column,
    text_column,
)
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_immutable_field, validate_required_one_of
from mockkube.features.capabilities import Capabilities

PREEMPT_LOWER_PRIORITY: Final = "PreemptLowerPriority"


def default_priority_class(priority_class: Object, caps: Capabilities) -> None:
    """Default the preemption policy to PreemptLowerPriority."""
    # upstream 1.36: pkg/apis/scheduling/v1/defaults.go
    priority_class.setdefault("preemptionPolicy", PREEMPT_LOWER_PRIORITY)


USER_PRIORITY_MAX: Final = 1_000_000_000
_SYSTEM_PRIORITIES: Final = {
    "system-node-critical": 2 * USER_PRIORITY_MAX + 1000,
    "system-cluster-critical": 2 * USER_PRIORITY_MAX,
}


class PriorityClassStrategy(Strategy):
    """Strategy of PriorityClass; value and preemption policy are immutable."""

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Set the first generation, which never rises."""
        obj["metadata"]["generation"] = 1

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate name, value and preemption policy."""
        name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
        errors = []
        if name.startswith("system-"):
            message = _find_system_class_error(name, value, default=bool(obj.get("globalDefault")))
            if message:
                detail = (
                    f"priority class names with 'system-' prefix are reserved for system use only. error: {message}"
                )
                errors.append(forbidden("metadata.name", detail))
        elif value > USER_PRIORITY_MAX:
            errors.append(
                forbidden("value", f"maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}")
            )
        if obj.get("preemptionPolicy") is not None:
            errors += validate_required_one_of(
                obj["preemptionPolicy"], "preemptionPolicy", ("PreemptLowerPriority", "Never")
            )
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject another value or preemption policy."""
        # Pods keep the number that admission resolved, so a changed value would split the pods of one class.
        changed = new.get("value", 0) != old.get("value", 0)
        errors = [forbidden("value", "may not be changed in an update.")] if changed else []
        return errors + validate_immutable_field(new, old, "preemptionPolicy")


def _find_system_class_error(name: str, value: int, *, default: bool) -> str | None:
    if name not in _SYSTEM_PRIORITIES:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM_PRIORITIES[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM_PRIORITIES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if default else None


def priority_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PriorityClass."""
    return [
        name_of(obj),
        number(obj, "value"),
        truth(obj, "globalDefault"),
        format_age(obj, now),
        string(obj, "preemptionPolicy"),
    ]


PRIORITY_CLASS = Printer(
    (
        NAME_COLUMN,
        integer_column("Value", "Priority of the pods; higher values are scheduled first."),
        boolean_column("Global-Default", "Whether pods without a priority class get this one."),
        AGE_COLUMN,
        text_column("PreemptionPolicy", "Whether pods may preempt others."),
    ),
    priority_class_cells,
)

KIND: Final = Kind(
    "scheduling.k8s.io",
    "PriorityClass",
    "priorityclasses",
    namespaced=False,
    short_names=("pc",),
    strategy=lambda _: PriorityClassStrategy(),
    defaults={"v1": default_priority_class},
    printer=PRIORITY_CLASS,
)
