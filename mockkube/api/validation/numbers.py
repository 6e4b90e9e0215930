"""Validation of numbers: signs, ranges, integers or percentages."""

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import ReadOnlyObject

NOT_NEGATIVE: Final = "must be greater than or equal to 0"


def validate_nonnegative(value: int | None, at: str) -> list[FieldError]:
    """Validate a number that must not be negative; a missing one is valid."""
    return [invalid(at, value, NOT_NEGATIVE)] if value is not None and value < 0 else []


def validate_nonnegative_fields(obj: ReadOnlyObject, at: str, *fields: str) -> list[FieldError]:
    """Validate that none of the named fields is negative."""
    return [invalid(f"{at}.{name}", obj[name], NOT_NEGATIVE) for name in fields if (obj.get(name) or 0) < 0]


def validate_port(value: int | None, at: str) -> list[FieldError]:
    """Validate a port number; a missing one counts as 0."""
    return validate_in_range(value or 0, at, 1, 65535)


def validate_port_or_name(value: int | str | None, at: str) -> list[FieldError]:
    """Validate a port number or the name of a port."""
    if isinstance(value, str):
        return [invalid(at, value, message) for message in names.check_port_name(value)]
    return validate_port(value, at)


def validate_in_range(value: int, at: str, least: int, most: int) -> list[FieldError]:
    """Validate that a number is between `least` and `most`."""
    return [invalid(at, value, message) for message in names.check_in_range(value, least, most)]


def validate_int_or_percent(value: int | str, at: str) -> list[FieldError]:
    """Validate a non-negative number or a percentage."""
    if isinstance(value, str):
        return [invalid(at, value, message) for message in names.check_percent(value)]
    return validate_nonnegative(value, at)


def validate_at_most_100_percent(value: int | str, at: str) -> list[FieldError]:
    """Validate that a percentage does not exceed 100."""
    share = get_percent_value(value)
    return [invalid(at, value, "must not be greater than 100%")] if share is not None and share > 100 else []


def get_percent_value(value: int | str) -> int | None:
    """Return the number of a percentage; None for anything else."""
    return int(value[:-1]) if isinstance(value, str) and not names.check_percent(value) else None


def get_int_or_percent_value(value: int | str | None) -> int:
    """Return the number of a percentage, or the number itself; 0 for any other text."""
    if isinstance(value, str):
        share = get_percent_value(value)
        if share is not None:
            return share
        return int(value) if value.lstrip("+-").isdigit() else 0
    return value or 0
