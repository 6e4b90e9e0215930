"""Times as objects hold them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api import times

moments = st.datetimes(timezones=st.just(UTC)).filter(lambda moment: moment.year >= 1000)  # for those before see below
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z", id="as it is written"),
        pytest.param("2026-01-02T03:04:05+01:30", "2026-01-02T01:34:05Z", id="another zone"),
        pytest.param("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z", id="fractions are cut"),
        pytest.param("2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05Z", id="a comma"),
        pytest.param("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z", id="a leap day"),
    ],
)
def test_a_time_is_whole_seconds_in_utc(text: str, canonical: str) -> None:
    assert times.canonicalize_time(text) == canonical


def test_a_micro_time_keeps_six_digits() -> None:
    assert times.canonicalize_micro_time("2026-01-02T03:04:05.123456+01:00") == "2026-01-02T02:04:05.123456Z"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("2026-01-02T03:04:05Z", 'cannot parse "Z" as ".000000"', id="none"),
        pytest.param("2026-01-02T03:04:05.12345Z", 'cannot parse ".12345Z" as ".000000"', id="five"),
        pytest.param("2026-01-02T03:04:05.1234567Z", 'cannot parse "7Z" as "Z07:00"', id="seven"),
    ],
)
def test_a_micro_time_with_other_than_six_digits_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match="parsing time") as caught:
        times.canonicalize_micro_time(text)
    assert str(caught.value) == f'parsing time "{text}" as "2006-01-02T15:04:05.000000Z07:00": {complaint}'


def test_extra_text_is_told_without_the_layout() -> None:
    with pytest.raises(ValueError, match="extra") as caught:
        times.parse_time("2026-01-02T03:04:05Zx")
    assert str(caught.value) == 'parsing time "2026-01-02T03:04:05Zx": extra text: "x"'


def test_what_is_not_printable_is_quoted_by_its_bytes() -> None:
    with pytest.raises(ValueError, match="cannot parse") as caught:
        times.parse_time('ü"\n')
    assert str(caught.value).endswith(r'cannot parse "\xc3\xbc\"\x0a" as "2006"')


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", 'cannot parse "" as "2006"', id="nothing"),
        pytest.param("today", 'cannot parse "today" as "2006"', id="a word"),
        pytest.param("2026", 'cannot parse "" as "-"', id="a year"),
        pytest.param("2026-01-02 03:04:05Z", 'cannot parse " 03:04:05Z" as "T"', id="a space"),
        pytest.param("2026-01-02T03:04:05", 'cannot parse "" as "Z07:00"', id="no zone"),
        pytest.param("2026-01-02T03:04:05Zx", 'extra text: "x"', id="more"),
        pytest.param("2026-13-02T03:04:05Z", "month out of range", id="a month"),
        pytest.param("2026-02-30T03:04:05Z", "day out of range", id="a day"),
        pytest.param("2026-01-02T24:00:00Z", "hour out of range", id="an hour"),
        pytest.param("2026-01-02T00:00:00+25:00", "time zone offset hour out of range", id="an offset"),
    ],
)
def test_what_is_no_time_is_refused_in_gos_words(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match="parsing time") as caught:
        times.parse_time(text)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("value", [5, None, [], True])
def test_what_is_no_text_is_no_time(value: object) -> None:
    with pytest.raises(TypeError):
        times.parse_time(value)


@given(moments)
def test_what_is_written_is_read_as_the_same_second(moment: datetime) -> None:
    assert times.parse_time(times.render_time(moment)) == moment.replace(microsecond=0)
    assert times.parse_time(times.render_micro_time(moment)) == moment


@given(moments.filter(lambda moment: moment.year < 9999), offsets)
def test_the_zone_does_not_matter(moment: datetime, zone: timezone) -> None:
    local = moment.astimezone(zone).isoformat(timespec="seconds")
    assert times.canonicalize_time(local) == times.render_time(moment)


@given(moments)
def test_what_is_canonical_stays(moment: datetime) -> None:
    text = times.render_time(moment)
    assert times.canonicalize_time(text) == text
    assert times.canonicalize_micro_time(times.render_micro_time(moment)) == times.render_micro_time(moment)


@pytest.mark.parametrize("year", ["0001", "0999"])
def test_a_year_has_four_digits(year: str) -> None:
    assert times.canonicalize_micro_time(f"{year}-01-01T00:00:00.000000Z") == f"{year}-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_a_time_beyond_the_years_is_refused_not_a_bug(text: str) -> None:
    with pytest.raises(ValueError, match="out of range"):
        times.parse_time(text)


@pytest.mark.parametrize("seconds", [(1 << 63) - 1, -(1 << 63)])
def test_seconds_of_64_bits_lead_to_the_first_or_last_moment(seconds: int) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    moment = times.add_seconds(now, seconds)
    assert moment.tzinfo is UTC
    assert moment.year == (9999 if seconds > 0 else 1)
    assert times.add_seconds(now, 60).minute == 1
