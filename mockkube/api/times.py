"""Times as they stand in objects: RFC 3339, whole seconds (`Time`) or microseconds (`MicroTime`), in UTC."""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

_PLAIN: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_FULL: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)([.,]\d+)?(Z|[+-]\d\d:\d\d)")
_GO_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"


def render_time(moment: datetime) -> str:
    """The moment as a `Time`, cut to whole seconds."""
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def render_micro_time(moment: datetime) -> str:
    """The moment as a `MicroTime`."""
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_time(text: Any) -> datetime:
    """Read an RFC 3339 time; ValueError with Go's words when it is none."""
    if not isinstance(text, str):
        raise TypeError("not text")
    match = _FULL.fullmatch(text)
    if match is None:
        raise ValueError(f'parsing time "{text}" as "{_GO_LAYOUT}": {_cannot_parse(text)}')
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    micro = int(f"{(match[7] or '.0')[1:]:0<6.6}")
    try:
        moment = datetime(year, month, day, hour, minute, second, micro, _zone(match[8]))
    except ValueError as error:
        part = str(error).partition(" ")[0]
        raise ValueError(f'parsing time "{text}": {part} out of range') from error
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f'parsing time "{text}": year out of range') from error


def canonical_time(text: Any) -> str:
    """The text as a `Time` is written; ValueError as `parse_time`."""
    if isinstance(text, str) and _PLAIN.fullmatch(text):
        parse_time(text)
        return text
    return render_time(parse_time(text))


def canonical_micro_time(text: Any) -> str:
    """The text as a `MicroTime` is written; ValueError as `parse_time`."""
    return render_micro_time(parse_time(text))


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[4:6])))


def _cannot_parse(text: str) -> str:
    """Name the first part of the layout that the text fails to give."""
    rest = text
    for pattern, layout in (
        (r"\d{4}", "2006"),
        ("-", "-"),
        (r"\d\d", "01"),
        ("-", "-"),
        (r"\d\d", "02"),
        ("T", "T"),
        (r"\d\d", "15"),
        (":", ":"),
        (r"\d\d", "04"),
        (":", ":"),
        (r"\d\d([.,]\d+)?", "05"),
        (r"Z|[+-]\d\d:\d\d", "Z07:00"),
    ):
        match = re.match(pattern, rest)
        if match is None:
            return f'cannot parse "{rest}" as "{layout}"'
        rest = rest[match.end() :]
    return f'extra text: "{rest}"'
