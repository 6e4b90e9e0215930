"""DaemonSet: a pod per node."""

from typing import Final

from mockkube.api.fields import FieldError, invalid, not_supported, required
from mockkube.api.kinds.apps.deployment import selector_kept
from mockkube.api.kinds.apps.pod_owners import (
    MISFIT,
    PodOwnerStrategy,
    TemplateRules,
    empty_selector,
    fits,
    is_empty,
    template_labels,
    template_warnings,
    validate_always_running,
    validate_collisions,
)
from mockkube.api.kinds.internal_form import Shape, internal, optional
from mockkube.api.strategy import Judge
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.labels import selector_is_invalid, validate_label_selector
from mockkube.api.validation.numbers import amount, at_most_100_percent, int_or_percent, nonnegatives

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_COUNTS: Final = (
    *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration"),
    *("updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
)
_ROLLING: Final[Shape] = (("MaxUnavailable", "maxUnavailable", 0), ("MaxSurge", "maxSurge", 0))
_STRATEGY: Final[Shape] = (("Type", "type", ""), ("RollingUpdate", "rollingUpdate", optional(_ROLLING)))


class DaemonSetStrategy(PodOwnerStrategy):
    """Versions of the template are counted, in an annotation."""

    def empty_status(self) -> Object:
        """There are none yet."""
        names = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
        return dict.fromkeys(names, 0)

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Start without a status and with the first version of the template."""
        super().prepare_create(obj, judge)
        _set_template_generation(obj, max(_template_generation(obj), 1))

    def prepare_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Keep the status; count versions of the template."""
        super().prepare_update(new, old, judge)
        changed = new["spec"].get("template") != old["spec"].get("template")
        _set_template_generation(new, _template_generation(old) + changed)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge every field."""
        return _validate_spec(obj, None, self.rules(judge))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Refuse another selector, and judge every field; or the counts."""
        if judge.subresource == "status":
            status = new.get("status") or {}
            return nonnegatives(status, "status", *_COUNTS) + validate_collisions(new, old)
        return selector_kept(new, old) + _validate_spec(new, old, self.rules(judge))

    def warn_create(self, obj: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn of the template."""
        return template_warnings(obj, judge)

    def warn_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn of a new version of the template."""
        if judge.subresource == "status" or _template_generation(new) == _template_generation(old):
            return []
        return template_warnings(new, judge)


def _template_generation(obj: ReadOnlyObject) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    return int(text) if text.lstrip("+-").isdigit() else 0


def _set_template_generation(obj: Object, number: int) -> None:
    metadata = obj["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(number)}


def _validate_spec(obj: ReadOnlyObject, old: ReadOnlyObject | None, rules: TemplateRules) -> list[FieldError]:
    spec, before = obj["spec"], old["spec"] if old else None
    selector, template, at = spec.get("selector"), spec.get("template") or {}, "spec.template"
    lenient = before is not None and selector_is_invalid(before.get("selector"))
    errors = validate_label_selector(selector, "spec.selector", allow_invalid_values=lenient)
    if fits(selector, template) is False:
        errors.append(invalid(f"{at}.metadata.labels", template_labels(template), MISFIT))
    if is_empty(selector):
        errors.append(empty_selector(selector or {}, "spec.selector", "daemonset"))
    errors += rules.validate(template, before and before.get("template"), at)
    errors += validate_always_running(template, at, "DaemonSet")
    errors += nonnegatives(spec, "spec", "minReadySeconds")
    errors += nonnegatives({"templateGeneration": _template_generation(obj)}, "spec", "templateGeneration")
    errors += _validate_strategy(spec.get("updateStrategy") or {})
    return errors + nonnegatives(spec, "spec", "revisionHistoryLimit")


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
            return [not_supported("spec.updateStrategy", internal(strategy, _STRATEGY), supported)]


def _validate_rolling(missing: int | str, surge: int | str, at: str) -> list[FieldError]:
    places = ((missing, f"{at}.maxUnavailable"), (surge, f"{at}.maxSurge"))
    errors = [error for rule in (int_or_percent, at_most_100_percent) for each in places for error in rule(*each)]
    if amount(missing) and amount(surge):
        errors.append(invalid(f"{at}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not amount(missing) and not amount(surge):
        errors.append(required(f"{at}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors
