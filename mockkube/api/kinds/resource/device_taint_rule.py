"""DeviceTaintRule: strategy, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, too_many
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.resource.device_fields import validate_pool_name, validate_taint
from mockkube.api.kinds.resource.taint_times import set_taint_rule_time
from mockkube.api.printers.accessors import name_of, string
from mockkube.api.printers.ages import format_age, format_time_since
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.times import render_time
from mockkube.api.validation.conditions import validate_conditions
from mockkube.api.validation.formats import validate_csi_driver_name, validate_label
from mockkube.api.validation.status_metadata import reset_metadata_for_status

CONDITIONS_MAX: Final = 8


class DeviceTaintRuleStrategy(StatusStrategy):
    """Strategy of DeviceTaintRule."""

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Set timeAdded to the present when the effect changes."""
        if context.subresource != "status":
            taint, before = new["spec"].get("taint") or {}, old["spec"].get("taint") or {}
            changed = taint.get("effect") != before.get("effect")
            # tolerationSeconds count from timeAdded: a new effect starts them again, unless the client sets a time
            # itself.
            if changed and taint.get("timeAdded") == before.get("timeAdded"):
                taint["timeAdded"] = render_time(context.now)
        super().prepare_for_update(new, old, context)

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec and metadata."""
        super().prepare_for_status_update(new, old, context)
        reset_metadata_for_status(new, old)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate selector and taint."""
        return _validate_spec(obj["spec"], None)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate selector and taint, or the conditions of the status."""
        if context.subresource != "status":
            return _validate_spec(new["spec"], (old["spec"].get("taint") or {}).get("effect", ""))
        conditions, at = (new.get("status") or {}).get("conditions") or [], "status.conditions"
        errors = validate_conditions(conditions, at)
        return [*errors, too_many(at, len(conditions), CONDITIONS_MAX)] if len(conditions) > CONDITIONS_MAX else errors


def _validate_spec(spec: ReadOnlyObject, old_effect: str | None) -> list[FieldError]:
    selector, at = spec.get("deviceSelector") or {}, "spec.deviceSelector"
    errors: list[FieldError] = []
    for name, rule in (("driver", validate_csi_driver_name), ("pool", validate_pool_name), ("device", validate_label)):
        if selector.get(name) is not None:
            errors += rule(selector[name], f"{at}.{name}")
    return errors + validate_taint(spec.get("taint") or {}, "spec.taint", old_effect=old_effect)


def taint_rule_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a DeviceTaintRule: the taint, without its selector."""
    added = string(obj, "spec", "taint", "timeAdded")
    return [
        name_of(obj),
        *[string(obj, "spec", "taint", key) for key in ("key", "value", "effect")],
        format_time_since(added, now) if added else "",
        format_age(obj, now),
    ]


DEVICE_TAINT_RULE = Printer(
    (
        NAME_COLUMN,
        text_column("Key", "The key of the taint."),
        text_column("Value", "The value of the taint."),
        text_column("Effect", "Effect of the taint on pods that do not tolerate it."),
        text_column("TimeAdded", "Time since the taint was added."),
        AGE_COLUMN,
    ),
    taint_rule_cells,
)

KIND: Final = Kind(
    "resource.k8s.io",
    "DeviceTaintRule",
    "devicetaintrules",
    namespaced=False,
    versions=("v1", "v1beta2", "v1alpha3"),
    subresources=(STATUS,),
    strategy=lambda _: DeviceTaintRuleStrategy(),
    time_defaults=dict.fromkeys(("v1", "v1beta2", "v1alpha3"), set_taint_rule_time),
    printer=DEVICE_TAINT_RULE,
)
