"""DeviceTaintRule: strategy, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, too_many
from mockkube.api.kind import Kind
from mockkube.api.kinds.resource.device_fields import validate_pool_name, validate_taint
from mockkube.api.kinds.resource.taint_times import set_taint_rule_time
from mockkube.api.printers.ages import age, since
from mockkube.api.printers.reading import name_of, string
from mockkube.api.printers.table import AGE, NAME, Cell, Printer, text_column
from mockkube.api.strategy import Judge, StatusStrategy
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.conditions import validate_conditions
from mockkube.api.validation.formats import label, validate_csi_driver_name
from mockkube.api.validation.status_metadata import reset_metadata_for_status

CONDITIONS_MAX: Final = 8


class DeviceTaintRuleStrategy(StatusStrategy):
    """Strategy of DeviceTaintRule."""

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Set timeAdded to the present when the effect changes."""
        if judge.subresource != "status":
            taint, before = new["spec"].get("taint") or {}, old["spec"].get("taint") or {}
            changed = taint.get("effect") != before.get("effect")
            # tolerationSeconds count from timeAdded: a new effect starts them again, unless the client sets a time
            # itself.
            if changed and taint.get("timeAdded") == before.get("timeAdded"):
                taint["timeAdded"] = render_time(judge.now)
        super().prepare_for_update(new, old, judge)

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Keep the stored spec and metadata."""
        super().prepare_for_status_update(new, old, judge)
        reset_metadata_for_status(new, old)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Validate selector and taint."""
        return _validate_spec(obj["spec"], None)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Validate selector and taint, or the conditions of the status."""
        if judge.subresource != "status":
            return _validate_spec(new["spec"], (old["spec"].get("taint") or {}).get("effect", ""))
        conditions, at = (new.get("status") or {}).get("conditions") or [], "status.conditions"
        errors = validate_conditions(conditions, at)
        return [*errors, too_many(at, len(conditions), CONDITIONS_MAX)] if len(conditions) > CONDITIONS_MAX else errors


def _validate_spec(spec: ReadOnlyObject, old_effect: str | None) -> list[FieldError]:
    selector, at = spec.get("deviceSelector") or {}, "spec.deviceSelector"
    errors: list[FieldError] = []
    for name, rule in (("driver", validate_csi_driver_name), ("pool", validate_pool_name), ("device", label)):
        if selector.get(name) is not None:
            errors += rule(selector[name], f"{at}.{name}")
    return errors + validate_taint(spec.get("taint") or {}, "spec.taint", old_effect=old_effect)


def taint_rule_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a DeviceTaintRule: the taint, without its selector."""
    added = string(obj, "spec", "taint", "timeAdded")
    return [
        name_of(obj),
        *[string(obj, "spec", "taint", key) for key in ("key", "value", "effect")],
        since(added, now) if added else "",
        age(obj, now),
    ]


DEVICE_TAINT_RULE = Printer(
    (
        NAME,
        text_column("Key", "The key of the taint."),
        text_column("Value", "The value of the taint."),
        text_column("Effect", "Effect of the taint on pods that do not tolerate it."),
        text_column("TimeAdded", "Time since the taint was added."),
        AGE,
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
