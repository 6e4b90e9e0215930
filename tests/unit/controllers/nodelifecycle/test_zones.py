import pytest

from mockkube.controllers.framework.options import NodeOptions
from mockkube.controllers.nodelifecycle.zones import (
    RateLimitedTimedQueue,
    ZoneState,
    compute_zone_state,
    eviction_rate,
    zone_key,
)
from mockkube.runtime.virtual_time import VirtualClock


@pytest.mark.parametrize(
    ("ready", "lost", "state"),
    [
        pytest.param(3, 0, ZoneState.NORMAL, id="all are ready"),
        pytest.param(1, 2, ZoneState.NORMAL, id="two lost nodes are never many"),
        pytest.param(3, 3, ZoneState.NORMAL, id="half are lost"),
        pytest.param(2, 3, ZoneState.PARTIAL, id="more than half are lost"),
        pytest.param(0, 1, ZoneState.FULL, id="the only node is lost"),
    ],
)
def test_the_state_of_a_zone(ready, lost, state):
    assert compute_zone_state([True] * ready + [False] * lost, 0.55) is state


@pytest.mark.parametrize(
    ("state", "size", "rate"),
    [
        pytest.param(ZoneState.NORMAL, 10, 0.1, id="normal"),
        pytest.param(ZoneState.FULL, 10, 0.1, id="one zone of several is down"),
        pytest.param(ZoneState.PARTIAL, 50, 0.0, id="small zones stop"),
        pytest.param(ZoneState.PARTIAL, 51, 0.01, id="large zones go slowly"),
    ],
)
def test_the_rate_of_a_zone(state, size, rate):
    assert eviction_rate(state, size, NodeOptions()) == rate


def test_a_zone_is_named_by_region_and_zone():
    labels = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}
    assert zone_key({"metadata": {"labels": labels}}) == "r:\x00:z"
    assert zone_key({"metadata": {}}) == ""


def queue(per_second=0.1):
    clock = VirtualClock()
    return clock, RateLimitedTimedQueue(per_second, clock.monotonic)


def test_nodes_go_one_at_a_time_at_the_rate_of_the_zone():
    clock, zone = queue()
    zone.add("a")
    zone.add("b")
    assert zone.take() == "a"
    zone.finish("a")
    assert (zone.take(), zone.due_at()) == (None, 10.0)
    clock.move_to(10)
    assert zone.take() == "b"


def test_a_node_is_taken_up_once_until_it_is_removed():
    _, zone = queue()
    assert zone.add("a")
    zone.take()
    zone.finish("a")
    assert not zone.add("a")
    assert zone.remove("a")
    assert zone.add("a")


def test_a_zone_that_was_stopped_starts_with_a_wait():
    clock, zone = queue()
    zone.swap_limiter(0.0)
    zone.add("a")
    clock.move_to(100)
    assert (zone.take(), zone.due_at()) == (None, None)
    zone.swap_limiter(0.1)
    assert zone.due_at() == 110.0


def test_a_node_that_cannot_be_tainted_waits_behind_others():
    clock, zone = queue(1.0)
    zone.add("a")
    zone.add("b")
    zone.postpone(zone.take(), 5.0)
    clock.move_to(1)
    assert zone.take() == "b"
