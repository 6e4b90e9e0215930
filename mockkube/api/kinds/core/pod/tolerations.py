"""Validate tolerations of pods, taint effects, and updates of tolerations."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidateTolerations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, TypedString, forbidden, invalid, not_supported
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.extensions import ItemValidator, ValidationExtensions, reject_toleration_operator
from mockkube.api.validation.labels import validate_label_name

TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MODIFIED_DETAIL: Final = "existing toleration can not be modified except its tolerationSeconds"


def validate_tolerations(
    tolerations: Sequence[ReadOnlyObject],
    at: str,
    *,
    extensions: ValidationExtensions,
    allowed: frozenset[str],
) -> list[FieldError]:
    """Validate tolerations; `allowed` are the gates whose extensions may be used."""
    operators = _extension_checks(extensions, allowed)
    errors: list[FieldError] = []
    for i, toleration in enumerate(tolerations):
        field_rule = next((rule for name, rule in extensions.toleration_fields.items() if name in toleration), None)
        if field_rule is None:
            errors += _validate_toleration(toleration, f"{at}[{i}]", operators)
        else:
            check = field_rule.check if field_rule.gate in allowed else field_rule.refuse
            errors += check(toleration, f"{at}[{i}]")
    return errors


@lru_cache(maxsize=64)
def _extension_checks(extensions: ValidationExtensions, allowed: frozenset[str]) -> Mapping[str, ItemValidator]:
    """Return the check of each operator that an extension adds."""
    return {name: rule.check if rule.gate in allowed else rule.refuse for name, rule in extensions.tolerations.items()}


def _validate_toleration(
    toleration: ReadOnlyObject, at: str, operators: Mapping[str, ItemValidator]
) -> list[FieldError]:
    operator, effect = toleration.get("operator", ""), toleration.get("effect", "")
    errors = []
    if key := toleration.get("key"):
        errors += validate_label_name(key, f"{at}.key")
    # An empty key matches every taint, which only Exists may express.
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid(f"{at}.operator", TypedString(operator), text))
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        errors.append(
            invalid(f"{at}.effect", TypedString(effect), "effect must be 'NoExecute' when `tolerationSeconds` is set")
        )
    match operator:
        case "Equal" | "":
            # Upstream reports a bad value at the path of the operator.
            errors += _validate_equal(toleration.get("value", ""), f"{at}.operator")
        case "Exists":
            errors += _validate_exists(toleration.get("value", ""), f"{at}.operator")
        case _:
            errors += operators.get(operator, reject_toleration_operator)(toleration, at)
    if effect:
        errors += validate_taint_effect(effect, f"{at}.effect")
    return errors


def _validate_equal(value: str, at: str) -> list[FieldError]:
    texts = names.check_label_value(value)
    return [invalid(at, value, ";".join(texts))] if texts else []


def _validate_exists(value: str, at: str) -> list[FieldError]:
    return [invalid(at, value, "value must be empty when `operator` is 'Exists'")] if value else []


def validate_taint_effect(effect: str, at: str) -> list[FieldError]:
    """Validate the effect of a taint or toleration."""
    return [] if effect in TAINT_EFFECTS else [not_supported(at, effect, TAINT_EFFECTS)]


def validate_only_added_tolerations(
    new: Sequence[ReadOnlyObject], old: Sequence[ReadOnlyObject], at: str
) -> list[FieldError]:
    """Reject that a toleration is removed, or changed except for its seconds."""
    remaining = [_without_seconds(toleration) for toleration in new]
    for toleration in old:
        if _without_seconds(toleration) not in remaining:
            return [forbidden(at, _MODIFIED_DETAIL)]
    return []


def _without_seconds(toleration: ReadOnlyObject) -> ReadOnlyObject:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}
