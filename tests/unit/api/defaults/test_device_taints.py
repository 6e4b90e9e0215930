from datetime import UTC, datetime

import pytest

from mockkube.api.kinds.resource.taint_times import set_slice_taint_times, set_taint_rule_time

NOW = datetime(2026, 3, 1, 12, 30, 15, 999, tzinfo=UTC)
WRITTEN = "2026-03-01T12:30:15Z"
EARLIER = "2020-01-01T00:00:00Z"


@pytest.mark.parametrize("deep", [False, True], ids=["in the device", "one level deeper"])
def test_taints_of_a_slice_are_of_now(deep):
    taints = [{"key": "a"}, {"key": "b", "timeAdded": EARLIER}]
    device = {"taints": taints}
    set_slice_taint_times(
        {"spec": {"devices": [{"name": "d", "basic": device} if deep else device, {"name": "e"}]}}, NOW
    )
    assert [taint["timeAdded"] for taint in taints] == [WRITTEN, EARLIER]


def test_the_taint_of_a_rule_is_of_now():
    obj = {"spec": {"taint": {"key": "a"}}}
    set_taint_rule_time(obj, NOW)
    assert obj["spec"]["taint"] == {"key": "a", "timeAdded": WRITTEN}
