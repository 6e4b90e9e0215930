"""Merge patches: the examples of RFC 7386, upstream's liberties, complaints."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.patching import merge_patch
from mockkube.api.patching.errors import BadPatch
from mockkube.api.patching.merge_patch import drop_nulls

values = st.recursive(
    st.none() | st.integers(0, 3) | st.text("ab", max_size=1),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@pytest.mark.parametrize(
    ("doc", "patch", "result"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="replace"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="add"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="delete"),
        pytest.param({"a": "b"}, {"z": None}, {"a": "b"}, id="delete what is not there"),
        pytest.param({"a": {"b": "c", "d": 1}}, {"a": {"b": None}}, {"a": {"d": 1}}, id="nested"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="lists are replaced"),
        pytest.param({"a": "c"}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}, id="object for a scalar"),
        pytest.param({}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}, id="nulls of new objects are pruned"),
        pytest.param({}, {"a": [None, {"b": None}]}, {"a": [None, {}]}, id="also inside lists"),
        pytest.param({"a": {"x": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}, id="list for an object"),
    ],
)
def test_merges(doc, patch, result):
    assert merge_patch.apply(doc, patch) == result


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        pytest.param(None, "Invalid JSON Patch", id="null"),
        pytest.param(
            [{}], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
            id="list",
        ),
        pytest.param(
            "x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
            id="text",
        ),
    ],
)  # fmt: skip
def test_only_an_object_is_a_patch(patch, complaint):
    with pytest.raises(BadPatch) as caught:
        merge_patch.apply({}, patch)
    assert str(caught.value) == complaint


@given(objects, objects)
def test_nothing_given_is_changed_and_a_second_time_changes_nothing(doc, patch):
    before = copy.deepcopy((doc, patch))
    once = merge_patch.apply(doc, patch)
    assert (doc, patch) == before
    # A list that takes the place of an object keeps the nulls in it, one that takes the place of a list does not.
    assert drop_nulls(merge_patch.apply(once, patch)) == drop_nulls(once)


@given(objects)
def test_the_empty_patch_changes_nothing(doc):
    assert merge_patch.apply(doc, {}) == doc
