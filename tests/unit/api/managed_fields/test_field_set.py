"""Sets of fields: their algebra, how they are written, how paths are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.managed_fields.errors import InvalidEntry
from mockkube.api.managed_fields.field_set import FieldSet, format_path, make_key_element, make_value_element

elements = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "v:1"])
paths = st.lists(elements, min_size=1, max_size=3).map(tuple)
path_sets = st.frozensets(paths, max_size=6)


def of(members):
    return FieldSet.from_paths(*sorted(members))


@given(path_sets, path_sets)
def test_the_algebra_is_that_of_sets_of_paths(left, right):
    assert set((of(left) | of(right)).paths()) == left | right
    assert set((of(left) & of(right)).paths()) == left & right
    assert set((of(left) - of(right)).paths()) == left - right
    assert bool(of(left)) is bool(left)


@given(path_sets, path_sets)
def test_taking_a_path_away_with_all_beneath_it(left, right):
    beneath = {path for path in left if any(path[: len(gone)] == gone for gone in right)}
    assert set(of(left).recursive_difference(of(right)).paths()) == left - beneath


@given(path_sets)
def test_what_is_written_reads_the_same(members):
    written = of(members).to_fields_v1()
    assert FieldSet.from_fields_v1(written) == of(members)
    assert FieldSet.from_fields_v1(written).to_fields_v1() == written
    assert set(FieldSet.from_fields_v1(written).paths()) == members


@given(path_sets, paths)
def test_membership_is_of_the_path_itself(members, path):
    assert of(members).has(path) is (path in members)


def test_fields_v1_marks_members_that_have_others_beneath_them():
    made = FieldSet.from_paths(("f:data",), ("f:data", "f:a"), ("f:spec", "f:replicas"))
    assert made.to_fields_v1() == {"f:data": {".": {}, "f:a": {}}, "f:spec": {"f:replicas": {}}}


def test_keys_are_read_in_whatever_way_they_were_written():
    loose = FieldSet.from_fields_v1(
        {'k:{"b": 1, "a": "x"}': {".": {}, "f:c": {}}, ".": {}, "f:d": {".": {}}, "z:9": {}}
    )
    assert loose.to_fields_v1() == {'k:{"a":"x","b":1}': {".": {}, "f:c": {}}, "f:d": {}}


@pytest.mark.parametrize("fields", [{"a": {}}, {"k:{": {}}, {"v:": {}}, {"i:x": {}}, {"f:a": 1}])
def test_what_is_no_path_element_is_refused(fields):
    with pytest.raises(InvalidEntry):
        FieldSet.from_fields_v1(fields)


def test_paths_are_walked_fields_first_and_members_before_what_is_beneath():
    made = FieldSet.from_paths(
        ("v:2",), ("v:10",), ("f:b",), ("f:a", "f:z"), (make_key_element({"name": "c"}),), ("i:1",)
    )
    assert list(made.paths()) == [("f:b",), ('k:{"name":"c"}',), ("v:2",), ("v:10",), ("i:1",), ("f:a", "f:z")]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param(("f:spec", "f:replicas"), ".spec.replicas", id="fields"),
        pytest.param(
            ("f:containers", make_key_element({"name": "c"}), "f:image"), '.containers[name="c"].image', id="key"
        ),
        pytest.param(
            (make_key_element({"protocol": "TCP", "port": 80}),), '[port=80,protocol="TCP"]', id="keys in order"
        ),
        pytest.param((make_value_element("a<b"),), '[="a<b"]', id="value"),
        pytest.param((make_value_element(True), make_value_element(None), "i:3"), "[=true][=null][3]", id="others"),
    ],
)
def test_paths_are_shown_as_upstream_does(path, text):
    assert format_path(path) == text
