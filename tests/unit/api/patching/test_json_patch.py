"""JSON patches: operations, odd paths, what is refused, and that nothing given is changed."""

import contextlib
import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.patching import json_patch
from mockkube.api.patching.errors import BadPatch, PatchRejected, TestFailed, TooManyOperations

DOC = {"a": {"b": "1", "n": None}, "list": ["x", "y", {"k": "v"}], "s": "text", "a/b~c": 1}


def op(name, path, **more):
    return {"op": name, "path": path, **more}


@pytest.mark.parametrize(
    ("operations", "change"),
    [
        pytest.param([op("add", "/new", value=1)], {"new": 1}, id="add"),
        pytest.param([op("add", "/s", value=1)], {"s": 1}, id="add replaces"),
        pytest.param([op("add", "/new")], {"new": None}, id="add without a value"),
        pytest.param([op("add", "/list/1", value="z")], {"list": ["x", "z", "y", {"k": "v"}]}, id="insert"),
        pytest.param([op("add", "/list/-", value="z")], {"list": ["x", "y", {"k": "v"}, "z"]}, id="append"),
        pytest.param([op("add", "/list/-1", value="z")], {"list": ["x", "y", {"k": "v"}, "z"]}, id="from the end"),
        pytest.param([op("add", "/list/3", value="z")], {"list": ["x", "y", {"k": "v"}, "z"]}, id="behind the last"),
        pytest.param([op("add", "/list/2/j", value=1)], {"list": ["x", "y", {"k": "v", "j": 1}]}, id="through a list"),
        pytest.param([op("add", "ignored/new", value=1)], {"new": 1}, id="before the first slash"),
        pytest.param([op("remove", "/list/-2")], {"list": ["x", {"k": "v"}]}, id="remove from the end"),
        pytest.param([op("remove", "/a/n")], {"a": {"b": "1"}}, id="remove a null"),
        pytest.param([op("replace", "/a~1b~0c", value=2)], {"a/b~c": 2}, id="escaped"),
        pytest.param([op("replace", "/new", value=2)], {"new": 2}, id="replace what is not there"),
        pytest.param([op("replace", "/list/+1", value=2)], {"list": ["x", 2, {"k": "v"}]}, id="index with a sign"),
        pytest.param([op("move", "/a/c", **{"from": "/s"})], {"s": ..., "a": {"b": "1", "n": None, "c": "text"}},
                     id="move"),
        pytest.param([op("copy", "/t", **{"from": "/s"})], {"t": "text"}, id="copy"),
        pytest.param([op("copy", "/t", **{"from": "/nosuch"})], {"t": None}, id="copy what is not there"),
        pytest.param(
            [op("add", "/a/x", value=1), op("copy", "/c", **{"from": "/a"}), op("add", "/c/y", value=2)],
            {"a": {"b": "1", "n": None, "x": 1}, "c": {"b": "1", "n": None, "x": 1, "y": 2}},
            id="a copy is a thing of its own",
        ),
        pytest.param([op("test", "/s", value="text"), op("test", "", value=DOC)], {}, id="test"),
        pytest.param([op("test", "/nosuch", value=None), op("test", "/a/n")], {}, id="null is absence"),
        pytest.param([op("test", "/list/2", value={"k": "v"})], {}, id="test an object"),
        pytest.param([], {}, id="nothing to do"),
    ],
)  # fmt: skip
def test_applies(operations, change):
    expected = {key: value for key, value in {**DOC, **change}.items() if value is not ...}
    assert json_patch.apply(DOC, json_patch.parse_operations(operations)) == expected


def test_the_whole_document_can_be_replaced():
    assert json_patch.apply(DOC, [op("replace", "", value={"x": 1}), op("add", "/y", value=2)]) == {"x": 1, "y": 2}
    assert json_patch.apply(DOC, [op("replace", "", value=[1])]) == [1]


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(op("remove", "/nosuch"), id="remove a key that is not there"),
        pytest.param(op("remove", "/list/3"), id="remove behind the last"),
        pytest.param(op("remove", "/list/-"), id="remove at the dash"),
        pytest.param(op("replace", "/list/3", value=1), id="replace behind the last"),
        pytest.param(op("replace", "", value="x"), id="replace all by text"),
        pytest.param(op("add", "/list/4", value=1), id="insert too far"),
        pytest.param(op("add", "/list/x", value=1), id="no index"),
        pytest.param(op("add", "/nosuch/a", value=1), id="no such parent"),
        pytest.param(op("add", "/s/a", value=1), id="text for a parent"),
        pytest.param(op("add", "/a/n/x", value=1), id="null for a parent"),
        pytest.param(op("add", "nosuch", value=1), id="path without a slash"),
        pytest.param(op("add", "", value={}), id="add at the root"),
        pytest.param({"op": "add", "value": 1}, id="no path"),
        pytest.param({"op": "copy", "path": "/a"}, id="no from"),
        pytest.param(op("move", "/z", **{"from": "/nosuch"}), id="move what is not there"),
        pytest.param(op("test", "/s", value="other"), id="test fails"),
        pytest.param(op("test", "/s"), id="test without a value"),
        pytest.param(op("test", "/a~1b~0c", value=True), id="true is not one"),
        pytest.param(op("test", "/list/9", value=None), id="test behind the last"),
        pytest.param(op("frob", "/a"), id="unknown operation"),
        pytest.param({"path": "/a"}, id="no operation"),
        pytest.param(None, id="null"),
    ],
)
def test_what_does_not_fit_is_rejected(operation):
    with pytest.raises(PatchRejected):
        json_patch.apply(DOC, json_patch.parse_operations([operation]))


@pytest.mark.parametrize(
    ("patch", "typed", "complaint"),
    [
        pytest.param(
            {},
            True,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            id="object",
        ),
        pytest.param({}, False, "json: cannot unmarshal object into Go value of type jsonpatch.Patch", id="loosely"),
        pytest.param(
            [1], True, "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
            id="number",
        ),
        pytest.param([1], False, "json: cannot unmarshal number into Go value of type jsonpatch.Operation", id="item"),
        pytest.param(
            [{"op": 1}], True,
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
            id="operation that is no text",
        ),
    ],
)  # fmt: skip
def test_what_is_no_patch_is_refused_in_upstreams_words(patch, typed, complaint):
    with pytest.raises(BadPatch) as caught:
        json_patch.parse_operations(patch, typed=typed)
    assert str(caught.value) == complaint


def test_there_is_a_limit_to_operations():
    with pytest.raises(TooManyOperations, match="in a JSON patch is 10000, got 10001"):
        json_patch.parse_operations([op("test", "")] * 10001)
    assert json_patch.parse_operations(None) == []


def test_unknown_fields_of_operations_are_named():
    assert json_patch.find_unknown_fields([op("test", "/a"), op("test", "/a", foo=1)]) == [
        'json patch unknown field "[1].foo"'
    ]


paths = st.lists(st.sampled_from(["a", "b", "list", "0", "-", "2", "k"]), max_size=3).map(lambda p: "".join(
    f"/{part}" for part in p
))  # fmt: skip
contents = st.sampled_from([1, None, "x", {}, [], {"k": {"b": 1}}, [{"k": 1}]])
operations = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
        "path": paths,
        "from": paths,
        "value": contents,
    }
)


@given(st.lists(operations, max_size=6))
def test_the_given_document_and_patch_are_never_changed(given_operations):
    before = copy.deepcopy((DOC, given_operations))
    with contextlib.suppress(PatchRejected):
        json_patch.apply(DOC, given_operations)
    assert (DOC, given_operations) == before


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            {"op": "add", "path": "/x/y", "value": 1},
            'add operation does not apply: doc is missing path: "/x/y": missing value',
        ),
        (
            {"op": "remove", "path": "/x"},
            "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            {"op": "replace", "path": "/x/y"},
            "replace operation does not apply: doc is missing path: /x/y: missing value",
        ),
        (
            {"op": "move", "from": "/x", "path": "/y"},
            "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            {"op": "copy", "from": "/x/y", "path": "/y"},
            "copy operation does not apply: doc is missing from path: /x/y: missing value",
        ),
        (
            {"op": "add", "path": "/list/9", "value": 1},
            "error in add for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        ({"op": "test", "path": "/list", "value": 1}, "testing value /list failed: test failed"),
        ({"op": "bogus", "path": "/list"}, "Unexpected kind: bogus"),
    ],
)
def test_what_does_not_apply_is_told(operation, message):
    with pytest.raises(PatchRejected) as caught:
        json_patch.apply({"list": [1]}, [operation])
    assert str(caught.value) == message


def test_copies_are_refused_once_they_add_more_than_the_limit():
    doc = {"text": "x" * 1_000_000}
    three = [op("copy", f"/t{index}", **{"from": "/text"}) for index in range(3)]
    assert len(json_patch.apply(doc, three)) == 4
    with pytest.raises(
        PatchRejected, match=r"accumulated size increase of copy is 4000008, exceeding the limit 3145728"
    ):
        json_patch.apply(doc, [*three, op("copy", "/t3", **{"from": "/text"})])


@pytest.mark.parametrize("count", [21, 40, 10_000])
def test_a_document_that_copies_double_is_refused_however_many_copies_there_are(count):
    doc = {"a": {"b": "x" * 20}}
    growing = [op("copy", f"/a/c{index}", **{"from": "/a"}) for index in range(count)]
    with pytest.raises(PatchRejected, match="accumulated size increase of copy"):
        json_patch.apply(doc, growing)


def test_characters_that_go_escapes_count_as_written_by_go():
    doc = {"text": "<" * 600_000}
    with pytest.raises(PatchRejected, match="is 3600002,"):
        json_patch.apply(doc, [op("copy", "/t", **{"from": "/text"})])


def test_a_copy_shares_nothing_with_what_was_copied():
    copied = json_patch.apply({"a": {"l": [1]}}, [op("copy", "/b", **{"from": "/a"}), op("add", "/b/l/-", value=2)])
    assert copied == {"a": {"l": [1]}, "b": {"l": [1, 2]}}


def test_operations_that_nest_the_document_deeper_and_deeper_are_refused():
    nesting = [
        operation
        for _ in range(2000)
        for operation in (
            op("move", "/b", **{"from": "/a"}),
            op("add", "/a", value={}),
            op("move", "/a/a", **{"from": "/b"}),
        )
    ]
    with pytest.raises(PatchRejected, match="too deeply"):
        json_patch.apply({"a": {}}, [*nesting, op("copy", "/c", **{"from": "/a"})])


@pytest.mark.parametrize(
    ("found", "asked"),
    [
        (True, 1),
        (1, 1.0),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": None}, {"b": None}),
        ([1, 2], [2, 1]),
        ("1", 1),
        (None, {}),
    ],
)
def test_different_json_does_not_pass_a_test(found, asked):
    with pytest.raises(TestFailed):
        json_patch.apply({"a": found}, [op("test", "/a", value=asked)])
    assert json_patch.apply({"a": asked}, [op("test", "/a", value=asked)]) == {"a": asked}
