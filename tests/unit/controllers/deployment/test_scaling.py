"""The arithmetic of rollouts."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mockkube.controllers.deployment import scaling as sizes


def deployment(replicas, surge="25%", unavailable="25%", kind="RollingUpdate", **status):
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable} if kind == "RollingUpdate" else None
    spec = {"replicas": replicas, "strategy": {"type": kind, "rollingUpdate": rolling}}
    return {"metadata": {"name": "d"}, "spec": spec, "status": status}


def replica_set(name, replicas, available=0, annotated=None, created="2030-01-01T00:00:00Z"):
    annotations = {} if annotated is None else {sizes.MAX: str(annotated)}
    metadata = {"name": name, "uid": name, "creationTimestamp": created, "annotations": annotations}
    return {"metadata": metadata, "spec": {"replicas": replicas}, "status": {"availableReplicas": available}}


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(4, "25%", "25%", (1, 1), id="a-quarter"),
        pytest.param(10, "25%", "25%", (3, 2), id="surge-rounds-up-unavailability-down"),
        pytest.param(1, "25%", "25%", (1, 0), id="one-pod"),
        pytest.param(5, 0, 0, (0, 1), id="not-both-zero"),
        pytest.param(2, 1, 5, (1, 2), id="no-more-than-all"),
        pytest.param(0, "50%", "50%", (0, 0), id="none-wanted"),
    ],
)
def test_surge_and_unavailability(replicas, surge, unavailable, expected):
    one = deployment(replicas, surge, unavailable)
    assert (sizes.max_surge(one), sizes.max_unavailable(one)) == expected


def test_recreation_knows_neither():
    one = deployment(4, kind="Recreate")
    assert (sizes.max_surge(one), sizes.max_unavailable(one)) == (0, 0)


@given(
    replicas=st.integers(0, 60),
    old=st.integers(0, 60),
    new=st.integers(0, 60),
    surge=st.integers(0, 20),
    unavailable=st.integers(0, 20),
)
def test_the_new_set_never_grows_beyond_what_surge_allows(replicas, old, new, surge, unavailable):
    one = deployment(replicas, surge, unavailable)
    new = min(new, replicas)
    size = sizes.new_set_replicas(one, [replica_set("old", old), replica_set("new", new)], new)
    assert new <= size <= replicas
    assert size == new or old + size <= replicas + sizes.max_surge(one)


@given(
    replicas=st.integers(1, 60),
    olds=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=4),
    unavailable=st.integers(0, 20),
)
def test_old_sets_never_give_up_more_available_pods_than_can_be_missed(replicas, olds, unavailable):
    one = deployment(replicas, 1, unavailable)
    old = [replica_set(f"o{i}", size, min(size, ready)) for i, (size, ready) in enumerate(olds)]
    cut = sizes.scale_down_available(one, old, old)
    given_up = sum(
        sizes.desired_replicas(each) - cut.get(each["metadata"]["uid"], sizes.desired_replicas(each)) for each in old
    )
    spare = sum(min(size, ready) for size, ready in olds) - (replicas - sizes.max_unavailable(one))
    assert given_up <= max(spare, 0)


def test_what_is_not_available_goes_first():
    one = deployment(4)
    old = [replica_set("older", 2, 2, created="2029-01-01T00:00:00Z"), replica_set("newer", 3, 1)]
    assert sizes.scale_down_unhealthy(one, old, 1) == {"newer": 2}


def test_a_change_of_scale_is_spread_in_proportion():
    one = deployment(15, 3, 2)
    old = replica_set("old", 8, 8, annotated=13, created="2029-01-01T00:00:00Z")
    new = replica_set("new", 5, 0, annotated=13)
    spread = {each["metadata"]["name"]: size for each, size in sizes.proportional_sizes(one, new, [old])}
    assert spread == {"old": 11, "new": 7}


@given(
    replicas=st.integers(0, 60),
    parts=st.lists(st.integers(1, 30), min_size=2, max_size=4),
    surge=st.integers(0, 10),
)
@example(replicas=1, parts=[1, 1, 1, 1], surge=1)
def test_what_is_spread_adds_up_unless_rounding_leaves_the_largest_more_to_give_up_than_it_has(replicas, parts, surge):
    one = deployment(replicas, surge, 1)
    sets = [replica_set(f"s{i}", size, annotated=sum(parts)) for i, size in enumerate(parts)]
    spread = [size for _, size in sizes.proportional_sizes(one, sets[-1], sets[:-1])]
    allowed = replicas + sizes.max_surge(one) if replicas else 0
    assert min(spread) >= 0
    assert sum(spread) == allowed or (sum(spread) > allowed and spread[0] == 0)
