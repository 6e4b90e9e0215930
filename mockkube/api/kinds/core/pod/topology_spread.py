"""Validate topology spread constraints of pods."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validateTopologySpreadConstraints

from collections.abc import Sequence
from typing import Final

from mockkube.api.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import validate_match_label_keys
from mockkube.api.validation.labels import validate_label_name, validate_label_selector
from mockkube.lazy_dataclasses import dataclass

UNSATISFIABLE_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
NODE_POLICIES: Final = ("Honor", "Ignore")
_POSITIVE_DETAIL: Final = "must be greater than zero"


@dataclass(frozen=True, slots=True)
class SpreadValidationOptions:
    """Validation options of spread constraints."""

    merge_label_keys: bool = True
    allow_invalid_selector: bool = False


def validate_topology_spread(
    constraints: Sequence[ReadOnlyObject], at: str, options: SpreadValidationOptions
) -> list[FieldError]:
    """Validate spread constraints, and that none is repeated."""
    errors: list[FieldError] = []
    forms = [(one.get("topologyKey"), one.get("whenUnsatisfiable")) for one in constraints]
    # Upstream compares each constraint with those after it, so every one but the last is reported.
    last = {form: i for i, form in enumerate(forms)}
    for i, constraint in enumerate(constraints):
        errors += _validate_constraint(constraint, f"{at}[{i}]", options, is_repeated=last[forms[i]] != i)
    return errors


def _validate_constraint(
    constraint: ReadOnlyObject, at: str, options: SpreadValidationOptions, *, is_repeated: bool
) -> list[FieldError]:
    """Validate one constraint; the flag tells that a later one has the same key and action."""
    skew, key, action = (constraint.get(name) for name in ("maxSkew", "topologyKey", "whenUnsatisfiable"))
    errors = []
    if not skew or skew < 0:
        errors.append(invalid(f"{at}.maxSkew", skew or 0, _POSITIVE_DETAIL))
    if not key:
        errors.append(required(f"{at}.topologyKey", "can not be empty"))
    if action not in UNSATISFIABLE_ACTIONS:
        errors.append(not_supported(f"{at}.whenUnsatisfiable", action or "", UNSATISFIABLE_ACTIONS))
    if is_repeated:
        errors.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key or ''}, {action or ''}}}"))
    errors += _validate_min_domains(constraint, f"{at}.minDomains")
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if name in constraint and constraint[name] not in NODE_POLICIES:
            errors.append(not_supported(f"{at}.{name}", constraint[name], NODE_POLICIES))
    if options.merge_label_keys:
        errors += validate_match_label_keys(constraint, at)
    else:
        errors += validate_unmerged_keys(constraint, f"{at}.matchLabelKeys")
    if not options.allow_invalid_selector:
        errors += validate_label_selector(constraint.get("labelSelector"), f"{at}.labelSelector")
    return errors


def _validate_min_domains(constraint: ReadOnlyObject, at: str) -> list[FieldError]:
    domains, action = constraint.get("minDomains"), constraint.get("whenUnsatisfiable", "")
    if domains is None:
        return []
    errors = [invalid(at, domains, _POSITIVE_DETAIL)] if domains <= 0 else []
    # With ScheduleAnyway too few domains would not keep a pod from being scheduled.
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(at, domains, text))
    return errors


def validate_unmerged_keys(constraint: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate matchLabelKeys that are not merged: the selector must not contain them."""
    keys = constraint.get("matchLabelKeys", ())
    if not keys:
        return []
    errors: list[FieldError] = []
    selector = constraint.get("labelSelector")
    if selector is None:
        errors.append(forbidden(at, "must not be specified when labelSelector is not set"))
        selector = {}
    taken = {*selector.get("matchLabels", ()), *(item.get("key", "") for item in selector.get("matchExpressions", ()))}
    for i, key in enumerate(keys):
        errors += validate_label_name(key, f"{at}[{i}]")
        if key in taken:
            errors.append(invalid(f"{at}[{i}]", key, "exists in both matchLabelKeys and labelSelector"))
    return errors


def has_invalid_merged_keys(constraints: Sequence[ReadOnlyObject]) -> bool:
    """Return whether stored constraints violate the rule for merged keys."""
    return any(validate_match_label_keys(constraint, "") for constraint in constraints)


def has_invalid_unmerged_keys(constraints: Sequence[ReadOnlyObject]) -> bool:
    """Return whether stored constraints violate the rule for keys that are not merged."""
    return any(validate_unmerged_keys(constraint, "") for constraint in constraints)
