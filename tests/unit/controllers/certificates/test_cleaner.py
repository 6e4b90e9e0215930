from datetime import UTC, datetime, timedelta

import pytest

from mockkube.controllers.certificates.cleaner import next_check_after

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("minutes", "look"),
    [
        pytest.param(-90, 0, id="passed before the start"),
        pytest.param(1, 60, id="the next hour"),
        pytest.param(60, 120, id="not at the moment itself"),
        pytest.param(61, 120, id="a later hour"),
    ],
)
def test_what_has_ended_is_noticed_at_the_next_look(minutes, look):
    assert next_check_after(START, START + timedelta(minutes=minutes)) == START + timedelta(minutes=look)
