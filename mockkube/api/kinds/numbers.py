"""Rules for numbers: signs, ranges, integers or percentages."""

import re
from typing import Any, Final

from mockkube.api.fields import FieldError, invalid

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_PERCENT: Final = re.compile(r"[0-9]+%")
_NOT_A_PERCENT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def nonnegative(value: int | None, at: str) -> list[FieldError]:
    """Complain about a number below zero; absence is zero."""
    return [invalid(at, value, NOT_NEGATIVE)] if value is not None and value < 0 else []


def nonnegatives(obj: dict[str, Any], at: str, *names: str) -> list[FieldError]:
    """Complain about each named field that is below zero."""
    return [invalid(f"{at}.{name}", obj[name], NOT_NEGATIVE) for name in names if (obj.get(name) or 0) < 0]


def positive(value: int | None, at: str) -> list[FieldError]:
    """Complain about a number that is not above zero; absence is zero."""
    return [] if value is not None and value > 0 else [invalid(at, value or 0, "must be greater than 0")]


def port(value: int | None, at: str) -> list[FieldError]:
    """Complain about what is no port number; absence is zero."""
    number = value or 0
    return [] if 1 <= number <= 65535 else [invalid(at, number, "must be between 1 and 65535, inclusive")]


def in_range(value: int, at: str, least: int, most: int) -> list[FieldError]:
    """Complain about a number outside `least` to `most`."""
    return [] if least <= value <= most else [invalid(at, value, f"must be between {least} and {most}, inclusive")]


def int_or_percent(value: int | str, at: str) -> list[FieldError]:
    """Complain about what is neither a number from zero on nor a percentage."""
    if isinstance(value, str):
        return [] if _PERCENT.fullmatch(value) else [invalid(at, value, _NOT_A_PERCENT)]
    return nonnegative(value, at)


def at_most_100_percent(value: int | str, at: str) -> list[FieldError]:
    """Complain about a percentage above 100."""
    share = percent(value)
    return [invalid(at, value, "must not be greater than 100%")] if share is not None and share > 100 else []


def percent(value: int | str) -> int | None:
    """Return the number of a percentage; None for anything else."""
    return int(value[:-1]) if isinstance(value, str) and _PERCENT.fullmatch(value) else None


def amount(value: int | str | None) -> int:
    """Return the number in front of a `%`, or the number itself; 0 for a text that holds none."""
    if isinstance(value, str):
        share = percent(value)
        if share is not None:
            return share
        return int(value) if value.lstrip("+-").isdigit() else 0
    return value or 0
