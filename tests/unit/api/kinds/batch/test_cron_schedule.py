import pytest

from mockkube.api.kinds.batch.cron_schedule import find_schedule_error, is_time_zone


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
        "@every 2562047h47m16.854775807s",
        "@every -1h",
        "@every 1.5h",
        "@every +0",
    ],
)
def test_schedules_are_read(text):
    assert find_schedule_error(text) is None


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
        pytest.param(
            "@every 9999999999h",
            'failed to parse duration @every 9999999999h: time: invalid duration "9999999999h"',
            id="duration past 64 bits",
        ),
        pytest.param(
            "@every 2562047h47m16.854775808s",
            "failed to parse duration @every 2562047h47m16.854775808s: "
            'time: invalid duration "2562047h47m16.854775808s"',
            id="duration just past 64 bits",
        ),
        pytest.param(
            "99999999999999999999 * * * *",
            "failed to parse int from 99999999999999999999: strconv.Atoi: "
            'parsing "99999999999999999999": value out of range',
            id="number past 64 bits",
        ),
        pytest.param("@never", "unrecognized descriptor: @never", id="unknown descriptor"),
        pytest.param("TZ=Odd/Zone * * * * *", "provided bad location Odd/Zone: unknown time zone Odd/Zone", id="zone"),
    ],
)
def test_what_cannot_be_read_is_explained(text, complaint):
    assert find_schedule_error(text) == complaint


def test_zones_are_known_by_name():
    assert is_time_zone("Etc/UTC")
    assert not is_time_zone("Odd/Zone")
