import pytest

from mockkube.api.kinds.cron_schedule import is_time_zone, schedule_complaint


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "*/5 1-3 ? jan,feb mon-fri",
        "0 0 1 1 0",
        "@daily",
        "@every 1h30m",
        "TZ=UTC * * * * *",
        "0/15 * * * *",
    ],
)
def test_schedules_are_read(text):
    assert schedule_complaint(text) is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", "empty spec string", id="empty"),
        pytest.param("* * *", "expected exactly 5 fields, found 3: [* * *]", id="too few fields"),
        pytest.param("60 * * * *", "end of range (60) above maximum (59): 60", id="too large"),
        pytest.param("* * 0 * *", "beginning of range (0) below minimum (1): 0", id="too small"),
        pytest.param("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3", id="backwards"),
        pytest.param("*/0 * * * *", "step of range should be a positive number: */0", id="no step"),
        pytest.param("1-2-3 * * * *", "too many hyphens: 1-2-3", id="hyphens"),
        pytest.param("1/2/3 * * * *", "too many slashes: 1/2/3", id="slashes"),
        pytest.param(
            "x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax', id="no number"
        ),
        pytest.param("@never", "unrecognized descriptor: @never", id="unknown descriptor"),
        pytest.param("TZ=Odd/Zone * * * * *", "provided bad location Odd/Zone: unknown time zone Odd/Zone", id="zone"),
    ],
)
def test_what_cannot_be_read_is_explained(text, complaint):
    assert schedule_complaint(text) == complaint


def test_zones_are_known_by_name():
    assert is_time_zone("Etc/UTC")
    assert not is_time_zone("Odd/Zone")
