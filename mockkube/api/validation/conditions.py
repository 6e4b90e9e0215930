"""Validation of conditions of the common type `metav1.Condition`."""

import re
from collections.abc import Iterable
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, duplicate, invalid, required, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.formats import validate_one_of, validate_qualified_name

STATUSES: Final = ("False", "True", "Unknown")
REASON_BYTES_MAX: Final = 1024
MESSAGE_BYTES_MAX: Final = 32 * 1024
_REASON_FORM: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON: Final = re.compile(_REASON_FORM)
_REASON_TEXT: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'"
)


def validate_conditions(conditions: Iterable[ReadOnlyObject] | None, at: str) -> list[FieldError]:
    """Validate each condition, and that no type occurs twice."""
    types: set[str] = set()
    errors: list[FieldError] = []
    for index, condition in enumerate(conditions or []):
        kind = condition.get("type", "")
        if kind in types:
            errors.append(duplicate(f"{at}[{index}].type", kind))
        types.add(kind)
        errors += _validate_condition(condition, f"{at}[{index}]")
    return errors


def is_condition_true(conditions: Iterable[ReadOnlyObject] | None, kind: str) -> bool:
    """Return whether the condition of that type exists and is true."""
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions or [])


def is_condition_false(conditions: Iterable[ReadOnlyObject] | None, kind: str) -> bool:
    """Return whether the condition of that type exists and is false."""
    return any(each.get("type") == kind and each.get("status") == "False" for each in conditions or [])


def _validate_condition(condition: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = validate_qualified_name(condition.get("type", ""), f"{at}.type")
    errors += validate_one_of(condition.get("status"), f"{at}.status", STATUSES)
    if condition.get("observedGeneration", 0) < 0:
        value = condition["observedGeneration"]
        errors.append(invalid(f"{at}.observedGeneration", value, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{at}.lastTransitionTime"))
    errors += _validate_reason(condition.get("reason", ""), f"{at}.reason")
    if len(condition.get("message", "").encode()) > MESSAGE_BYTES_MAX:
        errors.append(too_long(f"{at}.message", MESSAGE_BYTES_MAX))
    return errors


def _validate_reason(reason: str, at: str) -> list[FieldError]:
    if not reason:
        return [required(at)]
    errors = []
    if not _REASON.fullmatch(reason):
        examples = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
        errors.append(invalid(at, reason, names.format_regex_error(_REASON_TEXT, _REASON_FORM, *examples)))
    if len(reason.encode()) > REASON_BYTES_MAX:
        errors.append(too_long(at, REASON_BYTES_MAX))
    return errors
