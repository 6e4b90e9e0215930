"""The walks over typed values: what changed, what is merged, what a value has, what is left without it."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.managed_fields.compare import compare
from mockkube.api.managed_fields.field_set import FieldSet, format_path
from mockkube.api.managed_fields.merge_values import merge_values
from mockkube.api.managed_fields.remove_fields import remove_fields
from mockkube.api.managed_fields.reset_fields import get_field_filter
from mockkube.api.managed_fields.value_field_set import ensure_named_fields, to_field_set

names = st.sampled_from("abc")
containers = st.lists(
    st.fixed_dictionaries({"name": names}, optional={"image": names, "args": st.lists(names, max_size=2)}),
    unique_by=lambda one: one["name"],
    max_size=3,
)
objects = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {}, optional={"labels": st.dictionaries(names, names), "finalizers": st.lists(names, unique=True)}
        ),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "replicas": st.integers(0, 2),
                "containers": containers,
                "selector": st.dictionaries(names, names),
                "tolerations": st.lists(names, max_size=2),
                "any": st.recursive(names, lambda inner: st.dictionaries(names, inner, max_size=2), max_leaves=3),
            },
        ),
    },
)


def c(name, **more):
    return {"name": name, **more}


def texts(fields):
    return [format_path(path) for path in fields.paths()]


@pytest.mark.parametrize(
    ("old", "new", "removed", "modified", "added"),
    [
        pytest.param({"data": {"a": "1"}}, {"data": {"a": "2", "b": "1"}}, [], [".data.a"], [".data.b"], id="map"),
        pytest.param({}, {"data": {"a": "1"}}, [], [], [".data", ".data.a"], id="new map"),
        pytest.param({"data": {"a": "1"}}, {}, [".data", ".data.a"], [], [], id="map gone"),
        pytest.param({"spec": {}}, {"spec": {"replicas": 1}}, [], [], [".spec.replicas"], id="into an empty struct"),
        pytest.param({}, {"spec": {}}, [], [], [".spec"], id="empty struct"),
        pytest.param({"spec": {"selector": {"a": "1"}}}, {"spec": {"selector": {"a": "1", "b": "2"}}}, [],
                     [".spec.selector"], [], id="atomic map"),
        pytest.param({"spec": {"tolerations": [1]}}, {"spec": {"tolerations": [2]}}, [], [".spec.tolerations"], [],
                     id="atomic list"),
        pytest.param({"spec": {"containers": [c("a", image="1"), c("b")]}},
                     {"spec": {"containers": [c("c"), c("a", image="2")]}},
                     ['.spec.containers[name="b"]', '.spec.containers[name="b"].name'],
                     ['.spec.containers[name="a"].image'],
                     ['.spec.containers[name="c"]', '.spec.containers[name="c"].name'], id="items by key"),
        pytest.param({"metadata": {"finalizers": ["a", "b"]}}, {"metadata": {"finalizers": ["b", "c"]}},
                     ['.metadata.finalizers[="a"]'], [], ['.metadata.finalizers[="c"]'], id="items by value"),
        pytest.param({"spec": {"containers": [c("a"), c("b")]}}, {"spec": {"containers": [c("b"), c("a")]}}, [], [],
                     [], id="order is no change"),
        pytest.param({"spec": {"containers": [c("a")]}}, {"spec": {"containers": [c("a"), c("a", image="2")]}},
                     ['.spec.containers[name="a"].name', '.spec.containers[name="a"]'], [],
                     ['.spec.containers[name="a"]'], id="becomes duplicate"),
        pytest.param({"spec": {"containers": [c("a"), c("a")]}}, {"spec": {"containers": [c("a"), c("a", image="2")]}},
                     [], ['.spec.containers[name="a"]'], [], id="duplicates change"),
        pytest.param({"spec": {"containers": [c("a"), c("a")]}}, {"spec": {"containers": [c("a")]}},
                     ['.spec.containers[name="a"]'], [],
                     ['.spec.containers[name="a"]', '.spec.containers[name="a"].name'], id="no duplicate any more"),
        pytest.param({"spec": {"any": "x"}}, {"spec": {"any": {"y": 1}}}, [], [".spec.any"], [".spec.any.y"],
                     id="text becomes a map"),
        pytest.param({"data": {"a": "1"}}, {"data": None}, [".data.a"], [], [], id="null"),
    ],
)  # fmt: skip
def test_a_change_removes_modifies_and_adds(thing, old, new, removed, modified, added):
    change = compare(old, new, thing)
    assert sorted(texts(change.removed)) == sorted(removed)
    assert sorted(texts(change.modified)) == sorted(modified)
    assert sorted(texts(change.added)) == sorted(added)


def test_what_an_endpoint_does_not_write_is_no_change(thing):
    change = compare({}, {"status": {"replicas": 1}, "data": {}}, thing).filter_fields(get_field_filter("", "Thing"))
    assert texts(change.added) == [".data"]


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        pytest.param("abc", "b", "abc", id="order of the live list"),
        pytest.param("abc", "ca", "bca", id="applied order"),
        pytest.param("ab", "xa", "xab", id="new before a known one"),
        pytest.param("abc", "ax", "abcx", id="new behind the last"),
        pytest.param("abc", "axc", "abxc", id="new between two"),
        pytest.param("", "ba", "ba", id="into nothing"),
        pytest.param("ab", "", "ab", id="nothing applied"),
        pytest.param("abcd", "dxb", "acdxb", id="swapped, with the others where they stood"),
    ],
)
def test_lists_are_woven(thing, live, applied, merged):
    assert merge_values({"spec": {"containers": [c(one) for one in live]}},
                 {"spec": {"containers": [c(one) for one in applied]}}, thing) == {
        "spec": {"containers": [c(one) for one in merged]}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        pytest.param({"data": {"a": "1"}}, {"data": {"b": "2"}}, {"data": {"a": "1", "b": "2"}}, id="maps"),
        pytest.param({"spec": {"selector": {"a": "1"}}}, {"spec": {"selector": {"b": "2"}}},
                     {"spec": {"selector": {"b": "2"}}}, id="atomic map"),
        pytest.param({"spec": {"containers": [c("a", image="1", args=["x"])]}},
                     {"spec": {"containers": [c("a", image="2")]}},
                     {"spec": {"containers": [c("a", image="2", args=["x"])]}}, id="items"),
        pytest.param({"data": {"a": "1"}}, {"data": None}, {"data": {"a": "1"}}, id="null takes nothing away"),
        pytest.param({"data": {"a": "1"}}, {"data": {"a": None}}, {"data": {"a": None}}, id="null for a scalar"),
        pytest.param({"spec": {}}, {"spec": {}, "data": {}}, {"spec": {}, "data": {}}, id="empty maps"),
        pytest.param({"spec": {"containers": [c("a", image="1"), c("a", image="2")]}},
                     {"spec": {"containers": [c("a", args=["x"])]}},
                     {"spec": {"containers": [c("a", args=["x"])]}}, id="duplicates make place for what is applied"),
        pytest.param({"spec": {"ports": [{"port": 1, "protocol": "TCP"}]}},
                     {"spec": {"ports": [{"port": 1, "name": "n"}]}},
                     {"spec": {"ports": [{"port": 1, "protocol": "TCP", "name": "n"}]}}, id="default of a key"),
    ],
)  # fmt: skip
def test_what_is_applied_wins_and_the_rest_stays(thing, live, applied, merged):
    assert merge_values(live, applied, thing) == merged


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        pytest.param({"data": {"a": "1"}, "spec": {"replicas": 1}}, [".data.a", ".spec.replicas"], id="leaves"),
        pytest.param({"data": {}, "spec": None}, [".data", ".spec"], id="empty and null"),
        pytest.param({"spec": {"containers": [c("a")]}},
                     ['.spec.containers[name="a"]', '.spec.containers[name="a"].name'], id="items"),
        pytest.param({"spec": {"containers": [c("a"), c("a")]}}, ['.spec.containers[name="a"]'], id="duplicates"),
        pytest.param({"metadata": {"finalizers": ["a"]}}, ['.metadata.finalizers[="a"]'], id="values"),
        pytest.param({"spec": {"containers": [], "tolerations": [], "selector": {"a": "b"}}},
                     [".spec.selector", ".spec.tolerations"], id="an empty list is nobody's, an atomic one somebody's"),
        pytest.param({"spec": {"any": {"x": {"y": 1}}}}, [".spec.any", ".spec.any.x", ".spec.any.x.y"][1:],
                     id="entries of what is no struct"),
    ],
)  # fmt: skip
def test_the_extent_of_a_value(thing, obj, fields):
    assert sorted(texts(to_field_set(obj, thing))) == sorted(fields)


def test_named_fields_are_the_fields_of_structs_on_the_way(thing):
    fields = FieldSet.from_paths(
        ("f:spec", "f:containers", 'k:{"name":"a"}', "f:resources", "f:cpu"), ("f:data", "f:x")
    )
    assert texts(ensure_named_fields(fields, thing)) == [
        ".data", ".spec", ".data.x", ".spec.containers", '.spec.containers[name="a"].resources',
        '.spec.containers[name="a"].resources.cpu',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("unwanted", "left"),
    [
        pytest.param(("f:spec", "f:replicas"), {"spec": {"containers": [c("a", image="1"), c("b")]}}, id="field"),
        pytest.param(("f:spec", "f:containers", 'k:{"name":"a"}'), {"spec": {"replicas": 1, "containers": [c("b")]}},
                     id="item"),
        pytest.param(("f:spec", "f:containers", 'k:{"name":"a"}', "f:image"),
                     {"spec": {"replicas": 1, "containers": [c("a"), c("b")]}}, id="field of an item"),
        pytest.param(("f:spec",), None, id="everything"),
        pytest.param(("f:data", "f:x"), {"spec": {"replicas": 1, "containers": [c("a", image="1"), c("b")]}},
                     id="what is not there"),
    ],
)  # fmt: skip
def test_pruning_takes_fields_out(thing, unwanted, left):
    obj = {"spec": {"replicas": 1, "containers": [c("a", image="1"), c("b")]}}
    before = copy.deepcopy(obj)
    assert remove_fields(obj, FieldSet.from_paths(unwanted), thing) == left
    assert obj == before


@given(old=objects, new=objects)
def test_a_change_is_empty_only_between_equals_and_reversed_it_adds_what_it_removed(thing, old, new):
    change, back = compare(old, new, thing), compare(new, old, thing)
    assert (change.removed, change.modified, change.added) == (back.added, back.modified, back.removed)
    same = compare(new, new, thing)
    assert [same.removed, same.modified, same.added] == [FieldSet()] * 3


@given(live=objects, applied=objects)
def test_merging_keeps_both_changes_nothing_given_and_is_done_once(thing, live, applied):
    before = copy.deepcopy((live, applied))
    merged = merge_values(live, applied, thing)
    assert (live, applied) == before
    if isinstance(merged, dict):
        assert merge_values(merged, applied, thing) == merged
        change = compare(applied, merged, thing)
        assert not change.modified
        assert not change.removed


@given(obj=objects)
def test_nothing_is_left_without_its_extent(thing, obj):
    rest = remove_fields(obj, ensure_named_fields(to_field_set(obj, thing), thing), thing)
    assert not rest or not to_field_set(rest, thing) or all(value in (None, {}, []) for value in rest.values())
