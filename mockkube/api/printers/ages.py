"""Ages and durations as kubectl prints them: `5m30s`, `3d4h`, `2y17d`."""

from datetime import UTC, datetime, timedelta

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import string

UNKNOWN = "<unknown>"
INVALID = "<invalid>"
MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY

_SECOND = timedelta(seconds=1)
_ZERO = datetime(1, 1, 1, tzinfo=UTC)
_SECONDS_MAX = (2**63 - 1) // 10**9


def human_duration(duration: timedelta) -> str:
    """Return the duration in its largest unit, with the next smaller unit while that is significant."""
    # upstream 1.36: apimachinery/pkg/util/duration; a clock that lags by less than two seconds is forgiven
    seconds = min(int(duration / _SECOND), _SECONDS_MAX)
    if seconds < -1:
        return INVALID
    if seconds < 2 * MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * MINUTE:
        return _format_two_units(seconds, MINUTE, "m", 1, "s")
    if seconds < 3 * HOUR:
        return f"{seconds // MINUTE}m"
    if seconds < 8 * HOUR:
        return _format_two_units(seconds, HOUR, "h", MINUTE, "m")
    if seconds < 2 * DAY:
        return f"{seconds // HOUR}h"
    if seconds < 8 * DAY:
        return _format_two_units(seconds, DAY, "d", HOUR, "h")
    if seconds < 2 * YEAR:
        return f"{seconds // DAY}d"
    if seconds < 8 * YEAR:
        return _format_two_units(seconds, YEAR, "y", DAY, "d")
    return f"{seconds // YEAR}y"


def _format_two_units(seconds: int, unit: int, sign: str, small: int, small_sign: str) -> str:
    rest = seconds % unit // small
    return f"{seconds // unit}{sign}" + (f"{rest}{small_sign}" if rest else "")


def parse_time(timestamp: str) -> datetime | None:
    """Return the time of a timestamp; None for an empty one, the zero time, and invalid text."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None if moment == _ZERO else moment


def format_time_since(timestamp: str, now: datetime) -> str:
    """Return the printed time since a timestamp."""
    moment = parse_time(timestamp)
    return UNKNOWN if moment is None else human_duration(now - moment)


def format_age(obj: ReadOnlyObject, now: datetime) -> str:
    """Return the printed time since the creation of an object."""
    return format_time_since(string(obj, "metadata", "creationTimestamp"), now)
