"""Timestamps and durations as Go's time package parses and prints them."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from mockkube_cel.golang.strconv import NumberError, parse_int64
from mockkube_cel.values import Duration, Timestamp

SECOND: Final = 1_000_000_000
_UNITS: Final = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000,
    "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
# Go's RFC 3339 layout also accepts hours of one digit and a comma before the fraction.
_MOMENT: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Range of timestamps in CEL: year 1 to year 9999.
SECONDS_MIN: Final = -62135596800
SECONDS_MAX: Final = 253402300799


class ZoneError(ValueError):
    """Unknown or malformed time zone."""


def parse_duration(text: str) -> Duration | None:
    """Parse a duration such as `1h30m`; return None if the text is none."""
    negative = text[:1] == "-"
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return Duration(0)
    total = position = 0
    while position < len(body):
        match = _PART.match(body, position)
        nanos = _parse_part(match) if match else None
        if match is None or nanos is None:
            return None
        total += nanos
        position = match.end()
    # The least int64 has no positive counterpart, so a negative duration may be one larger.
    if not body or total > 2**63 - (0 if negative else 1):
        return None
    return Duration(-total if negative else total)


def _parse_part(match: re.Match[str]) -> int | None:
    whole, fraction, unit = match[1], match[2], _UNITS.get(match[3])
    if unit is None or not (whole or fraction):
        return None
    digits = whole.lstrip("0") or "0"
    if len(digits) > 19 or (number := int(digits)) > 2**63 // unit:
        return None
    nanos = number * unit
    if fraction:
        numerator, scale = _leading_fraction(fraction)
        # In float64 as in Go: decimal arithmetic would round some fractions to another nanosecond.
        nanos += int(float(numerator) * (unit / scale))
    return nanos if nanos <= 2**63 else None


def _leading_fraction(text: str) -> tuple[int, float]:
    """Return the digits that fit 63 bits, and the power of ten below them."""
    number, scale = 0, 1.0
    for digit in text:
        if number > (2**63 - 1) // 10 or number * 10 + int(digit) > 2**63:
            break
        number = number * 10 + int(digit)
        scale *= 10
    return number, scale


def total_seconds(span: Duration) -> float:
    """Return the duration in seconds."""
    whole = abs(span.nanos) // SECOND
    rest = abs(span.nanos) % SECOND
    value = float(whole) + rest / 1e9
    return -value if span.nanos < 0 else value


def format_decimal(number: float) -> str:
    """Print a float with as few digits as identify it, never with an exponent."""
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_duration(span: Duration) -> str:
    """Print the duration in seconds: `90.5s`."""
    return format_decimal(total_seconds(span)) + "s"


def parse_timestamp(text: str) -> Timestamp | None:
    """Parse an RFC 3339 timestamp; return None if the text is none."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[index]) for index in range(1, 7))
    if not 1 <= month <= 12 or not 1 <= day <= _days_in_month(year, month) or hour > 23 or minute > 59 or second > 59:
        return None
    offset = 0
    if match[8]:
        offset = int(match[9]) * 3600 + int(match[10]) * 60
        if int(match[9]) > 24 or int(match[10]) > 60:
            return None
        offset = -offset if match[8] == "-" else offset
    nanos = int((match[7] or "")[:9].ljust(9, "0"))
    moment = _days_since_epoch(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
    return Timestamp(moment * SECOND + nanos, offset)


def _days_in_month(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _days_since_epoch(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to this date."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def civil_date(moment: Timestamp, offset_seconds: int) -> tuple[int, int, int]:
    """Return year, month and day of a timestamp at an offset."""
    # Not datetime: offsets can carry a timestamp before year 1 or beyond 9999, where datetime overflows.
    days = (moment.nanos // SECOND + offset_seconds) // 86400 + 719468
    era, day = divmod(days, 146097)
    of_era = (day - day // 1460 + day // 36524 - day // 146096) // 365
    of_year = day - (365 * of_era + of_era // 4 - of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return of_era + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def day_of_year(moment: Timestamp, offset_seconds: int) -> int:
    """Return the day of the year, from 1."""
    year, month, day = civil_date(moment, offset_seconds)
    return _days_since_epoch(year, month, day) - _days_since_epoch(year, 1, 1) + 1


def format_timestamp(moment: Timestamp) -> str:
    """Print a timestamp in RFC 3339, with as many decimals as it has."""
    offset = moment.offset_seconds
    year, month, day = civil_date(moment, offset)
    of_day = (moment.nanos // SECOND + offset) % 86400
    nanos = moment.nanos % SECOND
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    clock = f"{of_day // 3600:02d}:{of_day // 60 % 60:02d}:{of_day % 60:02d}{fraction}"
    minutes = abs(offset) // 60
    zone = f"{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}" if offset else "Z"
    return f"{year:04d}-{month:02d}-{day:02d}T{clock}{zone}"


def zone_offset(moment: Timestamp, zone: str) -> int:
    """Return the seconds east of UTC at a timestamp in a zone: a name, or `+01:30`."""
    hours, colon, minutes = zone.partition(":")
    if colon:
        try:
            hour, minute = parse_int64(hours, function="Atoi"), parse_int64(minutes, function="Atoi")
        except NumberError as error:
            raise ZoneError(str(error)) from None
        return (hour * 60 - minute if zone[0] == "-" else hour * 60 + minute) * 60
    # Local is the zone of the API server's process, which is UTC in a container.
    if zone in ("", "UTC", "Local"):
        return 0
    if ".." in zone or zone[0] in "/\\":
        raise ZoneError("time: invalid location name")
    try:
        from zoneinfo import ZoneInfo  # few expressions name a zone

        local = (_EPOCH + timedelta(seconds=moment.nanos // SECOND)).astimezone(ZoneInfo(zone))
    except OverflowError:
        return 0
    except (ValueError, KeyError, OSError):
        raise ZoneError(f"unknown time zone {zone}") from None
    return int((local.utcoffset() or timedelta()).total_seconds())
