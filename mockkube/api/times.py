"""Times in objects: RFC 3339 in UTC, with whole seconds (`Time`) or microseconds (`MicroTime`)."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_PLAIN: Final = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\dZ", re.ASCII)
_PLAIN_MICRO: Final = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d\.\d{6}Z", re.ASCII)
_FULL: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)([.,]\d+)?(Z|[+-]\d\d:\d\d)")
_FULL_MICRO: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)([.,]\d{6})(Z|[+-]\d\d:\d\d)")
_DATE: Final = ((r"\d{4}", "2006"), ("-", "-"), (r"\d\d", "01"), ("-", "-"), (r"\d\d", "02"), ("T", "T"))
_CLOCK: Final = ((r"\d\d", "15"), (":", ":"), (r"\d\d", "04"), (":", ":"))
_ZONE: Final = (r"Z|[+-]\d\d:\d\d", "Z07:00")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_LAYOUT: Final = (*_DATE, *_CLOCK, (r"\d\d([.,]\d+)?", "05"), _ZONE)
# Patterns in the order in which they are parsed, each with its name in Go's layout.
_MICRO_LAYOUT: Final = (*_DATE, *_CLOCK, (r"\d\d", "05"), (r"[.,]\d{6}", ".000000"), _ZONE)


# The second that was rendered last, since the epoch, and its text: a server renders one second many times.
_rendered: tuple[int, str] = (0, "1970-01-01T00:00:00Z")


def render_time(moment: datetime) -> str:  # hot: several times per write
    """Return the time as a `Time`, truncated to whole seconds."""
    global _rendered
    second, text = _rendered
    seconds = (moment - _EPOCH) // _SECOND
    if seconds == second:
        return text
    text = moment.isoformat(timespec="seconds")[:19] + "Z"  # without the zone
    _rendered = seconds, text
    return text


def render_micro_time(moment: datetime) -> str:
    """Return the time as a `MicroTime`."""
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def add_seconds(moment: datetime, seconds: float) -> datetime:
    """Return the moment so many seconds later; the first or last there is, if it lies beyond."""
    # Seconds in objects have 64 bits; Python's years end at 9999.
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        bound = datetime(9999, 12, 31, tzinfo=UTC) if seconds > 0 else datetime(1, 1, 1, tzinfo=UTC)
        return bound.replace(tzinfo=moment.tzinfo)


def parse_time(text: Any) -> datetime:
    """Parse an RFC 3339 time; raise ValueError with Go's text if it is none."""
    return _parse(text, _FULL, _LAYOUT)


def parse_micro_time(text: Any) -> datetime:
    """Parse a time with exactly six decimals, as a `MicroTime` requires; raise ValueError as `parse_time`."""
    # upstream 1.36: apimachinery/pkg/apis/meta/v1/micro_time.go
    return _parse(text, _FULL_MICRO, _MICRO_LAYOUT)


def _parse(text: Any, full: re.Pattern[str], layout: Sequence[tuple[str, str]]) -> datetime:
    if not isinstance(text, str):
        raise TypeError("not text")
    match = full.fullmatch(text)
    if match is None:
        raise ValueError(f"parsing time {_quote(text)}{_find_layout_error(text, layout)}")
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    micro = int(f"{(match[7] or '.0')[1:]:0<6.6}")
    try:
        moment = datetime(year, month, day, hour, minute, second, micro, UTC)
    except ValueError as error:
        part = str(error).partition(" ")[0]
        raise ValueError(f"parsing time {_quote(text)}: {part} out of range") from error
    try:
        return moment - _parse_offset(match[8], text)
    except OverflowError as error:
        raise ValueError(f"parsing time {_quote(text)}: year out of range") from error


def canonicalize_time(text: Any) -> str:
    """Return the canonical text of a `Time`; raise ValueError as `parse_time`."""
    if isinstance(text, str) and _PLAIN.fullmatch(text):  # hot: a dozen times in a running pod
        try:
            datetime.fromisoformat(text)  # the pattern also matches dates such as 2024-02-31
        except ValueError:
            pass  # `parse_time` raises the error with Go's text
        else:
            return text
    return render_time(parse_time(text))


def canonicalize_micro_time(text: Any) -> str:
    """Return the canonical text of a `MicroTime`; raise ValueError as `parse_micro_time`."""
    if isinstance(text, str) and _PLAIN_MICRO.fullmatch(text):  # hot: every renewal of a lease
        try:
            datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            return text
    return render_micro_time(parse_micro_time(text))


def _parse_offset(zone: str, text: str) -> timedelta:
    if zone == "Z":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 24 or minutes > 60:
        part = "hour" if hours > 24 else "minute"
        raise ValueError(f"parsing time {_quote(text)}: time zone offset {part} out of range")
    return (-1 if zone[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes)


def _find_layout_error(text: str, layout: Sequence[tuple[str, str]]) -> str:
    """Return the error for the first part of the layout that the text does not match."""
    rest = text
    for pattern, part in layout:
        match = re.match(pattern, rest)
        if match is None:
            whole = "".join(part for _, part in layout)
            return f" as {_quote(whole)}: cannot parse {_quote(rest)} as {_quote(part)}"
        rest = rest[match.end() :]
    return f": extra text: {_quote(rest)}"


def _quote(text: str) -> str:
    """Quote a text as Go's `time` does: bytes that are no printable ASCII in hexadecimal."""
    escaped = "".join(
        ("\\" if char in '"\\' else "") + char
        if " " <= char < "\x80"
        else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))
        for char in text
    )
    return f'"{escaped}"'
