"""Rules for numbers: signs, ranges, integers or percentages."""

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid
from mockkube.api.types import ReadOnlyObject

NOT_NEGATIVE: Final = "must be greater than or equal to 0"


def nonnegative(value: int | None, at: str) -> list[FieldError]:
    """Complain about a number below zero; absence is zero."""
    return [invalid(at, value, NOT_NEGATIVE)] if value is not None and value < 0 else []


def nonnegatives(obj: ReadOnlyObject, at: str, *fields: str) -> list[FieldError]:
    """Complain about each named field that is below zero."""
    return [invalid(f"{at}.{name}", obj[name], NOT_NEGATIVE) for name in fields if (obj.get(name) or 0) < 0]


def positive(value: int | None, at: str) -> list[FieldError]:
    """Complain about a number that is not above zero; absence is zero."""
    return [] if value is not None and value > 0 else [invalid(at, value or 0, "must be greater than 0")]


def validate_port(value: int | None, at: str) -> list[FieldError]:
    """Complain about what is no port number; absence is zero."""
    return in_range(value or 0, at, 1, 65535)


def port_or_name(value: int | str | None, at: str) -> list[FieldError]:
    """Complain about what is neither a port's number nor its name."""
    if isinstance(value, str):
        return [invalid(at, value, message) for message in names.port_name(value)]
    return validate_port(value, at)


def in_range(value: int, at: str, least: int, most: int) -> list[FieldError]:
    """Complain about a number outside `least` to `most`."""
    return [invalid(at, value, message) for message in names.in_range(value, least, most)]


def int_or_percent(value: int | str, at: str) -> list[FieldError]:
    """Complain about what is neither a number from zero on nor a percentage."""
    if isinstance(value, str):
        return [invalid(at, value, message) for message in names.percent(value)]
    return nonnegative(value, at)


def at_most_100_percent(value: int | str, at: str) -> list[FieldError]:
    """Complain about a percentage above 100."""
    share = percent(value)
    return [invalid(at, value, "must not be greater than 100%")] if share is not None and share > 100 else []


def percent(value: int | str) -> int | None:
    """Return the number of a percentage; None for anything else."""
    return int(value[:-1]) if isinstance(value, str) and not names.percent(value) else None


def amount(value: int | str | None) -> int:
    """Return the number in front of a `%`, or the number itself; 0 for a text that holds none."""
    if isinstance(value, str):
        share = percent(value)
        if share is not None:
            return share
        return int(value) if value.lstrip("+-").isdigit() else 0
    return value or 0
