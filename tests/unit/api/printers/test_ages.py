from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.printers.ages import format_age, format_time_since, human_duration, parse_time

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        pytest.param(-2, "<invalid>", id="two seconds ahead"),
        pytest.param(-1.9, "0s", id="a clock that lags a little"),
        pytest.param(0, "0s", id="now"),
        pytest.param(119.9, "119s", id="just under two minutes"),
        pytest.param(120, "2m", id="two minutes"),
        pytest.param(257, "4m17s", id="minutes and seconds"),
        pytest.param(599, "9m59s", id="just under ten minutes"),
        pytest.param(659, "10m", id="ten minutes, seconds dropped"),
        pytest.param(3 * 3600 - 1, "179m", id="just under three hours"),
        pytest.param(3 * 3600, "3h", id="three hours"),
        pytest.param(5 * 3600 + 61, "5h1m", id="hours and minutes"),
        pytest.param(8 * 3600 + 1800, "8h", id="eight hours, minutes dropped"),
        pytest.param(47 * 3600, "47h", id="just under two days"),
        pytest.param(48 * 3600, "2d", id="two days"),
        pytest.param(3 * 86400 + 4 * 3600, "3d4h", id="days and hours"),
        pytest.param(8 * 86400 + 4 * 3600, "8d", id="eight days, hours dropped"),
        pytest.param(729 * 86400, "729d", id="just under two years"),
        pytest.param(730 * 86400, "2y", id="two years"),
        pytest.param((3 * 365 + 17) * 86400, "3y17d", id="years and days"),
        pytest.param((9 * 365 + 17) * 86400, "9y", id="nine years, days dropped"),
        pytest.param(900 * 365 * 86400, "292y", id="no longer than nanoseconds can be counted"),
    ],
)
def test_a_duration_is_told_in_the_unit_of_its_size(seconds: float, shown: str) -> None:
    assert human_duration(timedelta(seconds=seconds)) == shown


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        pytest.param("2026-03-14T15:09:21Z", "5s", id="whole seconds"),
        pytest.param("2026-03-14T15:09:20.250000Z", "5s", id="microseconds"),
        pytest.param("2026-03-14T16:09:16+01:00", "10s", id="another zone"),
        pytest.param("", "<unknown>", id="none"),
        pytest.param("0001-01-01T00:00:00Z", "<unknown>", id="the zero time"),
        pytest.param("yesterday", "<unknown>", id="no timestamp"),
        pytest.param("2026-03-14T15:10:26Z", "<invalid>", id="in the future"),
    ],
)
def test_an_age_counts_from_a_timestamp(timestamp: str, shown: str) -> None:
    assert format_time_since(timestamp, NOW) == shown


def test_an_object_is_as_old_as_its_creation() -> None:
    assert format_age({"metadata": {"creationTimestamp": "2026-03-14T15:00:00Z"}}, NOW) == "9m26s"
    assert format_age({}, NOW) == "<unknown>"


def seconds_of(shown: str) -> int:
    total, digits = 0, ""
    for char in shown:
        if char.isdigit():
            digits += char
        else:
            total, digits = total + int(digits) * UNITS[char], ""
    return total


LENGTHS = st.integers(min_value=0, max_value=200 * UNITS["y"])


@given(LENGTHS, LENGTHS)
def test_a_longer_duration_never_reads_shorter(one: int, other: int) -> None:
    short, long = sorted((one, other))
    shown = [seconds_of(human_duration(timedelta(seconds=length))) for length in (short, long)]
    assert shown[0] <= shown[1]


@given(LENGTHS)
def test_what_is_shown_is_rounded_down_by_less_than_an_eighth(seconds: int) -> None:
    shown = seconds_of(human_duration(timedelta(seconds=seconds)))
    assert 0 <= seconds - shown < max(seconds / 8, 1)


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_any_two_moments_have_an_age_between_them(then: datetime, now: datetime) -> None:
    assert format_time_since(then.isoformat(), now)


@given(st.text())
def test_any_text_is_a_moment_or_is_not(text: str) -> None:
    moment = parse_time(text)
    assert moment is None or moment.tzinfo is not None
