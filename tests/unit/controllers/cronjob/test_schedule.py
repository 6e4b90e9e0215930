"""When cron schedules strike."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.controllers.cronjob.missed_times import find_missed_schedules
from mockkube.controllers.cronjob.schedule import ScheduleParseError, parse_schedule


def strikes(text, start, count=3):
    """Return the next moments of a schedule as they are written in UTC."""
    schedule, moment, found = parse_schedule(text), datetime.fromisoformat(start), []
    for _ in range(count):
        moment = schedule.next(moment)
        if moment is None:
            return found
        found.append(moment.strftime("%m-%d %H:%M:%S"))
    return found


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        pytest.param("* * * * *", "2030-01-01T00:00:30.5Z", ["01-01 00:01:00", "01-01 00:02:00"], id="every minute"),
        pytest.param("*/20 3 * * *", "2030-01-01T00:00:00Z", ["01-01 03:00:00", "01-01 03:20:00"], id="in steps"),
        pytest.param("5/20 * * * *", "2030-01-01T00:00:00Z", ["01-01 00:05:00", "01-01 00:25:00"], id="from a start"),
        pytest.param("30 6-16/4 * * 1-5", "2030-01-05T00:00:00Z", ["01-07 06:30:00", "01-07 10:30:00"], id="weekdays"),
        pytest.param("0 0 1,15 * *", "2030-01-02T00:00:00Z", ["01-15 00:00:00", "02-01 00:00:00"], id="days"),
        pytest.param("0 0 13 * fri", "2030-09-01T00:00:00Z", ["09-06 00:00:00", "09-13 00:00:00"], id="either day"),
        pytest.param("0 0 * feb *", "2030-01-01T00:00:00Z", ["02-01 00:00:00", "02-02 00:00:00"], id="a month"),
        pytest.param("@hourly", "2030-01-01T00:59:59Z", ["01-01 01:00:00", "01-01 02:00:00"], id="hourly"),
        pytest.param("@weekly", "2030-01-01T00:00:00Z", ["01-06 00:00:00", "01-13 00:00:00"], id="weekly"),
        pytest.param("@every 90s", "2030-01-01T00:00:00.7Z", ["01-01 00:01:30", "01-01 00:03:00"], id="every so long"),
        pytest.param("@every 10ms", "2030-01-01T00:00:00Z", ["01-01 00:00:01"], id="a second at the least"),
        pytest.param("0 0 29 2 *", "2030-01-01T00:00:00Z", ["02-29 00:00:00"], id="leap days"),
        pytest.param("0 0 31 2 *", "2030-01-01T00:00:00Z", [], id="never"),
    ],
)
def test_a_schedule_strikes(text, start, expected):
    assert strikes(text, start, max(len(expected), 1)) == expected


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        pytest.param("30 9 * * *", "2030-01-01T00:00:00Z", ["01-01 08:30:00", "01-02 08:30:00"], id="winter"),
        pytest.param("30 9 * * *", "2030-07-01T00:00:00Z", ["07-01 07:30:00", "07-02 07:30:00"], id="summer"),
        pytest.param("30 2 * * *", "2030-03-30T12:00:00Z", ["04-01 00:30:00"], id="an hour that is left out"),
        pytest.param("30 2 * * *", "2030-10-26T12:00:00Z", ["10-27 00:30:00", "10-27 01:30:00"], id="an hour twice"),
    ],
)
def test_a_schedule_goes_by_the_clocks_of_its_zone(text, start, expected):
    assert strikes(f"TZ=Europe/Berlin {text}", start, len(expected)) == expected


def test_where_clocks_are_put_forward_at_midnight_a_day_begins_later():
    assert strikes("TZ=America/Havana * * 10 3 *", "2030-03-09T12:00:00Z", 1) == ["03-10 05:00:00"]


def test_what_cannot_be_read_says_why():
    with pytest.raises(ScheduleParseError, match="expected exactly 5 fields, found 1"):
        parse_schedule("never")


FIELDS = st.tuples(
    st.sampled_from(["*", "0", "5,35", "*/7", "58-59"]),
    st.sampled_from(["*", "0", "2-4", "23"]),
    st.sampled_from(["*", "1", "28-31", "*/2"]),
    st.sampled_from(["*", "2", "jun-aug"]),
    st.sampled_from(["*", "0", "mon-fri", "6"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu"]),
)


@given(FIELDS, st.integers(0, 20 * 365 * 24 * 3600))
def test_moments_come_in_order_and_none_is_left_out(fields, start):
    *parts, zone = fields
    schedule = parse_schedule(f"TZ={zone} {' '.join(parts)}")
    moment, found = datetime(2015, 1, 1, tzinfo=UTC) + timedelta(seconds=start), []
    for _ in range(4):
        moment = schedule.next(moment)
        found.append(moment)
    for earlier, later in pairwise(found):
        assert later > earlier
        assert schedule.next(earlier + (later - earlier) / 2) == later


def test_a_deadline_of_64_bits_reaches_back_for_ever() -> None:
    now = datetime(2030, 1, 1, 0, 10, 30, tzinfo=UTC)
    spec = {"startingDeadlineSeconds": (1 << 63) - 1}
    cron_job = {"metadata": {"creationTimestamp": "2030-01-01T00:00:00Z"}, "spec": spec}
    found = find_missed_schedules(cron_job, parse_schedule("* * * * *"), now, within_deadline=True)
    assert found.latest == now.replace(second=0)
