"""The search finds devices whenever there is a way to give them out, and only then; against trying everything."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.plugins.dynamic_resources.plugin import DynamicResources
from mockkube.scheduler.plugins.dynamic_resources.state import STATE

GPU = "gpu.example.com"
MEMORY = 4
"""What the partitions of the card may take together."""

Device = tuple[str, int]
"""A model, and what it takes of the card's memory."""
Wish = tuple[str, int]
"""A model, or any, and how many."""

devices_of = st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 3)), max_size=6)
wishes_of = st.lists(st.tuples(st.sampled_from(["x", "y", ""]), st.integers(1, 2)), min_size=1, max_size=2)


def ways(devices: list[Device], wishes: list[Wish], free: frozenset[int]) -> Iterator[list[int]]:
    """Return every way to give out devices by number, without looking at what they have to share."""
    if not wishes:
        yield []
        return
    (model, count), *rest = wishes
    fitting = [number for number in sorted(free) if not model or devices[number][0] == model]
    for picked in combinations(fitting, count):
        for others in ways(devices, rest, free - {*picked}):
            yield [*picked, *others]


def allowed(devices: list[Device], picked: list[int], first: int, *, alike: bool) -> bool:
    """Whether the devices can be had together; `first` of them are for the first claim, each of which may be picky."""
    models = [{devices[number][0] for number in some} for some in (picked[:first], picked[first:])]
    return sum(devices[number][1] for number in picked) <= MEMORY and not (alike and max(map(len, models)) > 1)


@pytest.fixture
def publish(pools: Callable[..., Any], slice_of: Any, claim_for: Any, request_for: Any, selectors: Any) -> Any:
    """Return what makes a cluster with these devices, and two claims with these wishes."""

    def make(devices: list[Device], claims: dict[str, list[Wish]], *, alike: bool) -> Any:
        pool = pools()
        counters = [{"name": "card", "counters": {"memory": {"value": str(MEMORY)}}}]
        both = {"resourceSliceCount": 2}
        pool.other("ResourceSlice", slice_of("n1", name="card", pool=both, sharedCounters=counters, nodeName="n1"))
        published = []
        for number, (model, memory) in enumerate(devices):
            device = {"name": f"d{number}", "attributes": {"model": {"string": model}}}
            if memory:
                takes = {"counterSet": "card", "counters": {"memory": {"value": str(memory)}}}
                device["consumesCounters"] = [takes]
            published.append(device)
        pool.other("ResourceSlice", slice_of("n1", *published, pool=both))
        for name, wishes in claims.items():
            requests = []
            for number, (model, count) in enumerate(wishes):
                wanted = selectors(f'device.attributes["{GPU}"].model == "{model}"') if model else []
                requests.append(request_for(f"r{number}", count=count, selectors=wanted))
            constraints = [{"matchAttribute": f"{GPU}/model"}] if alike else []
            pool.other("ResourceClaim", claim_for(name, *requests, constraints=constraints))
        return pool

    return make


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(devices=devices_of, one=wishes_of, other=wishes_of, alike=st.booleans())
def test_devices_are_found_whenever_there_is_a_way(
    publish: Any, devices: list[Device], one: list[Wish], other: list[Wish], alike: bool
) -> None:
    pool = publish(devices, {"c": one, "d": other}, alike=alike)
    plugin, pod, state = pool.build(DynamicResources), pool.uses("c", "d"), CycleState()
    assert plugin.pre_filter(state, pod, pool.cache).status.is_success
    found = plugin.filter(state, pod, pool.cache.get("n1")).is_success
    first = sum(count for _, count in one)
    every = ways(devices, one + other, frozenset(range(len(devices))))
    assert found == any(allowed(devices, picked, first, alike=alike) for picked in every)
    note = state.get(STATE)
    if found and note is not None:
        given_out = [each["devices"]["results"] for each in note.node_allocations["n1"].allocations]
        picked = [int(result["device"][1:]) for results in given_out for result in results]
        assert len({*picked}) == len(picked) == sum(count for _, count in one + other)
        assert allowed(devices, picked, first, alike=alike)
