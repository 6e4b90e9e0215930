"""Validate schedules of cron jobs, with the error messages of the Go parser."""

import re
from dataclasses import field
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mockkube.api.fields import quote
from mockkube.lazy_dataclasses import dataclass

# upstream 1.36: vendor/github.com/robfig/cron/v3/parser.go
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_DURATION_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION: Final = re.compile(rf"[-+]?(?:{_DURATION_PART.pattern})+")
_UNIT_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_INT64_MAX: Final = 2**63 - 1
_DURATION_LENGTH_MAX: Final = 1000
_INTEGER: Final = re.compile("[-+]?[0-9]+")
_DIGITS_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class _FieldBounds:
    """Smallest and largest number of a field, and names for some numbers."""

    least: int
    most: int
    names: dict[str, int] = field(default_factory=dict)


_FIELDS: Final = (
    _FieldBounds(0, 59),
    _FieldBounds(0, 23),
    _FieldBounds(1, 31),
    _FieldBounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _FieldBounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


class _ScheduleError(Exception):
    """Error that carries the parser's message."""


def find_schedule_error(text: str) -> str | None:
    """Return why the schedule cannot be parsed, or None."""
    try:
        _parse(text)
    except _ScheduleError as message:
        return str(message)
    return None


def is_time_zone(name: str) -> bool:
    """Return whether a time zone of this name exists."""
    if name in ("", "UTC", "Local"):
        return True
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _parse(text: str) -> None:
    if not text:
        raise _ScheduleError("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        head, space, text = text.partition(" ")
        zone = head.partition("=")[2]
        if not space:
            raise _ScheduleError("invalid schedule format")
        if not is_time_zone(zone):
            raise _ScheduleError(f"provided bad location {zone}: unknown time zone {zone}")
        text = text.strip()
    if text.startswith("@"):
        _parse_descriptor(text)
        return
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise _ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(parts)}: [{' '.join(parts)}]")
    for part, bounds in zip(parts, _FIELDS, strict=True):
        # Go's FieldsFunc drops empty parts, so `1,,2` and even a lone comma are accepted.
        for expression in filter(None, part.split(",")):
            _parse_range(expression, bounds)


def _parse_descriptor(text: str) -> None:
    if text.startswith("@every "):
        duration = text.removeprefix("@every ")
        if not _is_duration(duration):
            detail = f"time: invalid duration {quote(duration)}"
            raise _ScheduleError(f"failed to parse duration {text}: {detail}")
    elif text not in _DESCRIPTORS:
        raise _ScheduleError(f"unrecognized descriptor: {text}")


def _is_duration(text: str) -> bool:
    """Return whether Go parses the text as a duration that fits in 64 bits of nanoseconds."""
    if text.lstrip("+-") == "0" and len(text) <= 2:
        return True
    if len(text) > _DURATION_LENGTH_MAX or not _DURATION.fullmatch(text):
        return False
    longest = _INT64_MAX + text.startswith("-")
    return sum(Decimal(number) * _UNIT_NANOSECONDS[unit] for number, unit in _DURATION_PART.findall(text)) <= longest


def _parse_range(expression: str, bounds: _FieldBounds) -> None:
    whole, *steps = expression.split("/")
    low, *high = whole.split("-")
    if low in ("*", "?"):
        start, end = bounds.least, bounds.most
    else:
        start = _parse_number(low, bounds)
        if len(high) > 1:
            raise _ScheduleError(f"too many hyphens: {expression}")
        end = _parse_number(high[0], bounds) if high else start
    if len(steps) > 1:
        raise _ScheduleError(f"too many slashes: {expression}")
    step = _parse_integer(steps[0]) if steps else 1
    # `N/step` means from N to the end.
    if steps and not high:
        end = bounds.most
    if start < bounds.least:
        raise _ScheduleError(f"beginning of range ({start}) below minimum ({bounds.least}): {expression}")
    if end > bounds.most:
        raise _ScheduleError(f"end of range ({end}) above maximum ({bounds.most}): {expression}")
    if start > end:
        raise _ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise _ScheduleError(f"step of range should be a positive number: {expression}")


def _parse_number(text: str, bounds: _FieldBounds) -> int:
    number = bounds.names.get(text.lower())
    return _parse_integer(text) if number is None else number


def _parse_integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise _ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: invalid syntax")
    # A user may send thousands of digits, and int() takes quadratic time and raises past 4300 of them.
    number = int(text) if len(text.lstrip("+-0")) < _DIGITS_MAX else _INT64_MAX + 1
    if not -_INT64_MAX <= number <= _INT64_MAX:
        raise _ScheduleError(
            f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: value out of range"
        )
    if number < 0:
        raise _ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
