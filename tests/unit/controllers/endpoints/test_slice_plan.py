from hypothesis import given
from hypothesis import strategies as st

from mockkube.controllers.endpoints.slice_plan import SliceGroup, endpoint_key, plan_slices, ports_key, sort_ports

MAX = 3


def endpoint(number, ready=True):
    return {"addresses": [f"10.0.0.{number}"], "conditions": {"ready": ready}}


def one_slice(name, *numbers):
    return {"metadata": {"name": name, "labels": {}}, "endpoints": [endpoint(number) for number in numbers]}


def group(*slices):
    return SliceGroup(
        slices=slices,
        labels={},
        has_stale_labels=lambda one: False,
        new_slice=lambda: {"metadata": {}, "endpoints": []},
        size_max=MAX,
    )


def numbers(one):
    return [int(endpoint["addresses"][0].rpartition(".")[2]) for endpoint in one["endpoints"]]


def test_nothing_changes_when_all_is_right():
    plan = plan_slices(group(one_slice("a", 1, 2)), [endpoint(1), endpoint(2)])
    assert (plan.create, plan.update, plan.delete) == ([], [], [])


def test_a_slice_that_must_change_anyway_is_filled_first():
    plan = plan_slices(group(one_slice("a", 1, 2), one_slice("b", 3)), [endpoint(1), endpoint(3), endpoint(4)])
    assert [(one["metadata"]["name"], numbers(one)) for one in plan.update] == [("a", [1, 4])]


def test_an_empty_slice_goes():
    plan = plan_slices(group(one_slice("a", 1), one_slice("b", 2)), [endpoint(1)])
    assert [one["metadata"]["name"] for one in plan.delete] == ["b"]


def test_a_state_that_changed_is_written():
    plan = plan_slices(group(one_slice("a", 1)), [endpoint(1, ready=False)])
    assert plan.update[0]["endpoints"] == [endpoint(1, ready=False)]


def test_what_fits_into_a_slice_that_was_right_goes_there():
    plan = plan_slices(group(one_slice("a", 1), one_slice("b", 2, 3)), [endpoint(one) for one in (1, 2, 3, 4)])
    assert [(one["metadata"]["name"], numbers(one)) for one in plan.update] == [("b", [2, 3, 4])]


@given(st.lists(st.sets(st.integers(0, 20), min_size=1, max_size=MAX), max_size=4), st.sets(st.integers(0, 20)))
def test_whatever_there_was_everything_wanted_is_somewhere_once(before, wanted):
    slices, seen = [], set()
    for at, there in enumerate(before):
        slices.append(one_slice(f"s{at}", *sorted(there - seen)))
        seen |= there
    plan = plan_slices(group(*slices), [endpoint(one) for one in sorted(wanted)])
    after = [*plan.create, *plan.update, *plan.unchanged_slices(slices)]
    assert sorted(number for one in after for number in numbers(one)) == sorted(wanted)
    assert all(len(one["endpoints"]) <= MAX for one in after)


def test_ports_are_the_same_in_any_order():
    one, other = {"name": "a", "port": 1}, {"name": "b", "port": 2}
    assert ports_key([one, other]) == ports_key([other, one])
    assert sort_ports([one, other]) == sort_ports([other, one])


def test_an_endpoint_is_told_by_address_name_and_pod():
    assert endpoint_key(endpoint(1)) == endpoint_key(endpoint(1, ready=False))
    assert endpoint_key(endpoint(1)) != endpoint_key(endpoint(2))
