"""Cron schedules: parsing, and the next time at which one fires in its time zone.

upstream 1.36: vendor/github.com/robfig/cron/v3
"""

from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from mockkube_cel.golang.gotime import parse_duration

from mockkube.api.kinds.batch.cron_schedule import find_schedule_error
from mockkube.lazy_dataclasses import dataclass

# As the upstream library, give up after five years: the schedule may name a day that does not exist.
_YEARS_MAX: Final = 5
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_NAMES: Final = {**{name: number for number, name in enumerate(_MONTHS, 1)}, **{d: n for n, d in enumerate(_DAYS)}}
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_SECOND: Final = timedelta(seconds=1)


class ScheduleParseError(ValueError):
    """A schedule that cannot be parsed; the message is in Go's words."""


class Schedule(Protocol):
    """Endless sequence of times in whole seconds."""

    def next(self, moment: datetime) -> datetime | None:
        """Return the first time after `moment`; None if there is none within years."""
        ...


@dataclass(frozen=True, slots=True)
class ConstantDelaySchedule:
    """Schedule that fires at a constant interval."""

    seconds: int

    def next(self, moment: datetime) -> datetime | None:
        """Return the time one interval after `moment`."""
        return moment.replace(microsecond=0) + timedelta(seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class _FieldValues:
    """Values of one field; `is_any` marks a field of `*`, which matters for days."""

    numbers: frozenset[int]
    is_any: bool

    def __contains__(self, number: int) -> bool:
        return number in self.numbers


@dataclass(frozen=True, slots=True)
class SpecSchedule:
    """Schedule by minute, hour, day of month, month and day of week in a time zone."""

    minute: _FieldValues
    hour: _FieldValues
    day: _FieldValues
    month: _FieldValues
    weekday: _FieldValues
    zone: tzinfo

    def next(self, moment: datetime) -> datetime | None:
        """Return the first time after `moment` whose local time matches all fields."""
        at = moment.replace(microsecond=0) + _SECOND
        year_last = at.astimezone(self.zone).year + _YEARS_MAX
        while (local := at.astimezone(self.zone)).year <= year_last:
            later = self._next_candidate(local)
            if later is None:
                return at
            at = later
        return None

    def _next_candidate(self, local: datetime) -> datetime | None:
        """Return the next time to check if this one does not match; None if it matches."""
        if local.month not in self.month:
            first = local.date().replace(day=1) + timedelta(days=32)
            return self._start_of_day(first.replace(day=1))
        if not self._matches_day(local):
            return self._start_of_day(local.date() + timedelta(days=1))
        # Hours are advanced in UTC, so that an hour that a clock change skips or repeats causes no endless loop.
        since_hour = timedelta(minutes=local.minute, seconds=local.second)
        if local.hour not in self.hour:
            return local.astimezone(UTC) - since_hour + timedelta(hours=1)
        if local.minute not in self.minute or local.second:
            return local.astimezone(UTC) + timedelta(seconds=60 - local.second)
        return None

    def _matches_day(self, local: datetime) -> bool:
        by_month, by_week = local.day in self.day, local.isoweekday() % 7 in self.weekday
        # As in every cron: with both days restricted either may match, with `*` in one of them both must.
        return by_month and by_week if self.day.is_any or self.weekday.is_any else by_month or by_week

    def _start_of_day(self, day: date) -> datetime:
        """Return when a day begins, also where a clock change skips midnight."""
        return datetime(day.year, day.month, day.day, tzinfo=self.zone).astimezone(UTC)


def load_time_zone(name: str) -> tzinfo:
    """Return the time zone of a name; `Local` is UTC."""
    return UTC if name in ("", "UTC", "Local") else ZoneInfo(name)


def parse_schedule(text: str) -> Schedule:
    """Parse a schedule with an optional `TZ=zone` in front; raise ScheduleParseError."""
    if (message := find_schedule_error(text)) is not None:
        raise ScheduleParseError(message)
    zone: tzinfo = UTC
    if text.startswith(("TZ=", "CRON_TZ=")):
        head, _, text = text.partition(" ")
        zone = load_time_zone(head.partition("=")[2])
    text = text.strip()
    if text.startswith("@every "):
        span = parse_duration(text.removeprefix("@every "))
        if span is None:
            raise ScheduleParseError(f"failed to parse duration {text}")
        # The upstream library rounds intervals below one second up and drops fractions.
        return ConstantDelaySchedule(max(span.nanos // 10**9, 1))
    minute, hour, day, month, weekday = map(_parse_field, _DESCRIPTORS.get(text, text).split(), _BOUNDS)
    return SpecSchedule(minute, hour, day, month, weekday, zone)


def _parse_field(text: str, bounds: tuple[int, int]) -> _FieldValues:
    parts = [_parse_range(part, bounds) for part in text.split(",") if part]
    return _FieldValues(
        frozenset(number for part in parts for number in part.numbers), any(part.is_any for part in parts)
    )


def _parse_range(text: str, bounds: tuple[int, int]) -> _FieldValues:
    """Parse one part of a field: `*`, `3`, `1-5`, each with an optional `/step`."""
    whole, slash, step_text = text.partition("/")
    low, dash, high = whole.partition("-")
    step = int(step_text) if slash else 1
    if low in ("*", "?"):
        return _FieldValues(frozenset(range(bounds[0], bounds[1] + 1, step)), step == 1)
    start = _parse_number(low)
    # `5/15` means from 5 to the end of the range, `5` alone only itself.
    last = _parse_number(high) if dash else bounds[1] if slash else start
    return _FieldValues(frozenset(range(start, last + 1, step)), is_any=False)


def _parse_number(text: str) -> int:
    named = _NAMES.get(text.lower())
    return int(text) if named is None else named
