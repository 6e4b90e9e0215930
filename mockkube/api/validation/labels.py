"""Validation of labels and label selectors."""

# upstream 1.36: apimachinery/pkg/apis/meta/v1/validation/validation.go

from collections.abc import Mapping

from mockkube.api import names
from mockkube.api.fields import FieldError, TypedString, forbidden, invalid, required
from mockkube.api.json_objects import ReadOnlyObject

NULL_SELECTOR_WARNING = "a null labelSelector results in matching no pod"


def validate_label_name(name: str, at: str) -> list[FieldError]:
    """Validate the key of a label."""
    texts = names.check_qualified_name(name)
    return [invalid(at, name, text) for text in texts] if texts else []


def validate_labels(labels: Mapping[str, str], at: str) -> list[FieldError]:
    """Validate keys and values of labels."""
    found: list[FieldError] = []
    for key, value in labels.items():  # hot: per label of every written object
        if texts := names.check_qualified_name(key):
            found += [invalid(at, key, text) for text in texts]
        if texts := names.check_label_value(value):
            found += [invalid(at, value, text) for text in texts]
    return found


def validate_label_selector(
    selector: ReadOnlyObject | None, at: str, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    """Validate a label selector; `allow_invalid_values` is for one stored with such a value."""
    if not selector:
        return []
    found = validate_labels(selector["matchLabels"], f"{at}.matchLabels") if "matchLabels" in selector else []
    for i, requirement in enumerate(selector.get("matchExpressions", ())):
        found += _validate_requirement(requirement, f"{at}.matchExpressions[{i}]", allow_invalid_values)
    return found


def _validate_requirement(requirement: ReadOnlyObject, at: str, allow_invalid_values: bool) -> list[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values", ())
    found = []
    match operator:
        case "In" | "NotIn":
            if not values:
                found.append(required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        case "Exists" | "DoesNotExist":
            if values:
                text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.append(forbidden(f"{at}.values", text))
        case _:
            found.append(invalid(f"{at}.operator", TypedString(operator), "not a valid selector operator"))
    found += validate_label_name(requirement.get("key", ""), f"{at}.key")
    if not allow_invalid_values:
        for i, value in enumerate(values):
            found += [invalid(f"{at}.values[{i}]", value, text) for text in names.check_label_value(value)]
    return found


def is_invalid_selector(selector: ReadOnlyObject | None) -> bool:
    """Return whether a stored selector is invalid, so that an update may keep it."""
    return bool(selector) and bool(validate_label_selector(selector, ""))
