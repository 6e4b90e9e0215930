"""Tolerations of a pod: what they may say, and what an update may do to them."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidateTolerations

from collections.abc import Sequence
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, quoted
from mockkube.api.types import ReadOnlyObject
from mockkube.api.validation.extensions import Extensions, unsupported_toleration
from mockkube.api.validation.labels import validate_label_name

COMPARISON_GATE: Final = "TaintTolerationComparisonOperators"
COMPARISON_OPERATORS: Final = ("Lt", "Gt")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_INT64_MAX: Final = 2**63 - 1
_CHANGED: Final = "existing toleration can not be modified except its tolerationSeconds"


def validate_tolerations(
    tolerations: Sequence[ReadOnlyObject],
    at: str,
    *,
    comparison: bool,
    extensions: Extensions,
    allowed: frozenset[str],
) -> list[FieldError]:
    """Judge tolerations; `comparison` admits Gt and Lt, `allowed` are the gates whose extensions may be used."""
    found: list[FieldError] = []
    for i, toleration in enumerate(tolerations):
        rule = next((rule for name, rule in extensions.toleration_fields.items() if name in toleration), None)
        if rule is None:
            found += _validate_toleration(toleration, f"{at}[{i}]", comparison, extensions, allowed)
        else:
            check = rule.check if rule.gate in allowed else rule.refuse
            found += check(toleration, f"{at}[{i}]")
    return found


def _validate_toleration(
    toleration: ReadOnlyObject, at: str, comparison: bool, extensions: Extensions, allowed: frozenset[str]
) -> list[FieldError]:
    operator, effect = toleration.get("operator", ""), toleration.get("effect", "")
    found = []
    if key := toleration.get("key"):
        found += validate_label_name(key, f"{at}.key")
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        found.append(invalid(f"{at}.operator", operator, text))
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        found.append(invalid(f"{at}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
    found += _validate_operator(toleration, at, comparison, extensions, allowed)
    if effect:
        found += validate_taint_effect(effect, f"{at}.effect")
    return found


def _validate_operator(
    toleration: ReadOnlyObject, at: str, comparison: bool, extensions: Extensions, allowed: frozenset[str]
) -> list[FieldError]:
    value = toleration.get("value", "")
    match toleration.get("operator", ""):
        case "Equal" | "":
            texts = names.label_value(value)
            return [invalid(f"{at}.operator", value, ";".join(texts))] if texts else []
        case "Exists":
            text = "value must be empty when `operator` is 'Exists'"
            return [invalid(f"{at}.operator", value, text)] if value else []
        case "Lt" | "Gt" as operator:
            if comparison:
                return _validate_integer(value, f"{at}.value")
            return [not_supported(f"{at}.operator", operator, ("Equal", "Exists", *COMPARISON_OPERATORS))]
        case operator if operator in extensions.tolerations:
            rule = extensions.tolerations[operator]
            return (rule.check if rule.gate in allowed else rule.refuse)(toleration, at)
        case _:
            return unsupported_toleration(toleration, at)


def _validate_integer(value: str, at: str) -> list[FieldError]:
    """Judge an integer twice: whether it is written canonically, and whether Go can read it into 64 bits."""
    found = [invalid(at, value, text) for text in names.decimal_integer(value)]
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not (digits.isascii() and digits.isdigit()):
        found.append(invalid(at, value, f"strconv.ParseInt: parsing {quoted(value)}: invalid syntax"))
    elif not -_INT64_MAX - 1 <= int(value) <= _INT64_MAX:
        found.append(invalid(at, value, f"strconv.ParseInt: parsing {quoted(value)}: value out of range"))
    return found


def validate_taint_effect(effect: str, at: str) -> list[FieldError]:
    """Judge the effect of a taint, or the one a toleration is for."""
    return [] if effect in EFFECTS else [not_supported(at, effect, EFFECTS)]


def validate_added_tolerations(
    new: Sequence[ReadOnlyObject], old: Sequence[ReadOnlyObject], at: str
) -> list[FieldError]:
    """Refuse that a toleration was removed or changed in more than its seconds."""
    kept = [_without_seconds(toleration) for toleration in new]
    for toleration in old:
        if _without_seconds(toleration) not in kept:
            return [forbidden(at, _CHANGED)]
    return []


def _without_seconds(toleration: ReadOnlyObject) -> ReadOnlyObject:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def uses_comparison(tolerations: Sequence[ReadOnlyObject]) -> bool:
    """Whether a stored pod compares, so that its successor may."""
    return any(toleration.get("operator") in COMPARISON_OPERATORS for toleration in tolerations)
