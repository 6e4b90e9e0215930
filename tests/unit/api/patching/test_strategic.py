"""Strategic merge patches: maps, lists by key, directives, orders, complaints."""

import copy
from dataclasses import dataclass, field

import pytest

from mockkube.api.patching import strategic
from mockkube.api.patching.errors import BadPatch, PatchFailed, PatchRejected


@dataclass
class Type:
    go: str = "v1.Thing"
    fields: dict = field(default_factory=dict)
    item: "Type | None" = None


@dataclass
class Field:
    node: Type
    patch_strategy: str = ""
    merge_key: str = ""


SCALAR = Type("string")
MAP = Type("map[string]string", item=SCALAR)
ENV = Type("v1.EnvVar", {"name": Field(SCALAR)})
CONTAINER = Type(
    "v1.Container",
    {
        "env": Field(Type("[]v1.EnvVar", item=ENV), "merge", "name"),
        "args": Field(Type("[]string", item=SCALAR)),
    },
)
SPEC = Type(
    "v1.PodSpec",
    {
        "containers": Field(Type("[]v1.Container", item=CONTAINER), "merge", "name"),
        "tolerations": Field(Type("[]v1.Toleration", item=Type("v1.Toleration"))),
        "volumes": Field(Type("[]v1.Volume", item=Type("v1.Volume")), "merge,retainKeys", "name"),
        "nodeSelector": Field(MAP),
        "strategy": Field(Type("v1.Strategy", {"rolling": Field(MAP)}), "retainKeys"),
        "whole": Field(MAP, "replace"),
        "keyless": Field(Type("[]v1.X", item=Type("v1.X")), "merge"),
        "nested": Field(Type("map[string]object", item=MAP)),
    },
)
META = Type("v1.ObjectMeta", {"finalizers": Field(Type("[]string", item=SCALAR), "merge"), "labels": Field(MAP)})
POD = Type("v1.Pod", {"metadata": Field(META), "spec": Field(SPEC)})


def c(name, **more):
    return {"name": name, **more}


def merged(spec, patch):
    """Patch a spec; whatever the outcome, nothing given may change."""
    before = copy.deepcopy((spec, patch))
    try:
        return strategic.apply({"spec": spec}, {"spec": patch}, POD)["spec"]
    finally:
        assert (spec, patch) == before


@pytest.mark.parametrize(
    ("spec", "patch", "result"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 3, "b": None, "z": None}, {"a": 3}, id="fields"),
        pytest.param({}, {"new": {"x": None, "y": 1}}, {"new": {"y": 1}}, id="nulls of a new map are left out"),
        pytest.param({}, {"new": {"$patch": "replace", "y": 1}}, {}, id="a new map with a directive is left out"),
        pytest.param({"a": 1}, {"a": {"$patch": "delete"}}, {}, id="a directive in place of a value deletes it"),
        pytest.param(
            {}, {"new": [{"$patch": "delete", "name": "x"}, c("y")]}, {"new": [c("y")]}, id="directives of a new list"
        ),
        pytest.param({"nodeSelector": {"a": "1", "b": "2"}}, {"nodeSelector": {"a": None, "c": "3"}},
                     {"nodeSelector": {"b": "2", "c": "3"}}, id="map"),
        pytest.param({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$patch": "replace", "b": "2"}},
                     {"nodeSelector": {"b": "2"}}, id="map replaced"),
        pytest.param({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$patch": "delete", "b": "2"}},
                     {"nodeSelector": {}}, id="map emptied"),
        pytest.param({"whole": {"a": "1"}}, {"whole": {"b": "2"}}, {"whole": {"b": "2"}}, id="replaced by its type"),
        pytest.param({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]},
                     {"tolerations": [{"key": "b"}]}, id="atomic list"),
        pytest.param({"strategy": {"type": "R", "rolling": {}}}, {"strategy": {"$retainKeys": ["type"], "type": "X"}},
                     {"strategy": {"type": "X"}}, id="retain keys"),
        pytest.param({"strategy": {"type": "R", "rolling": {}}}, {"strategy": {"$retainKeys": ["type"], "o": None}},
                     {"strategy": {"type": "R"}}, id="retain keys, and a null that is not named"),
        pytest.param({"volumes": [c("v", emptyDir={})]},
                     {"volumes": [c("v", hostPath={}, **{"$retainKeys": ["name", "hostPath"]})]},
                     {"volumes": [c("v", hostPath={})]}, id="retain keys of a list item"),
    ],
)  # fmt: skip
def test_merges_fields(spec, patch, result):
    assert merged(spec, patch) == result


@pytest.mark.parametrize(
    ("names", "patch", "result"),
    [
        pytest.param("ab", [c("b", image="2")], [c("a"), c("b", image="2")], id="matched by key"),
        pytest.param("ab", [c("n")], [c("n"), c("a"), c("b")], id="a new item comes first"),
        pytest.param("abc", [c("b"), c("n")], [c("a"), c("b"), c("n"), c("c")], id="new behind the one it follows"),
        pytest.param("abc", [c("c"), c("a")], [c("b"), c("c"), c("a")], id="order of the patch, then of the object"),
        pytest.param("ab", [c("a", **{"$patch": "delete"})], [c("b")], id="delete"),
        pytest.param("ab", [c("z", **{"$patch": "delete"})], [c("a"), c("b")], id="delete what is not there"),
        pytest.param("ab", [c("n"), {"$patch": "replace"}], [c("n")], id="replace"),
        pytest.param("ab", [], [c("a"), c("b")], id="empty"),
        pytest.param("", [c("n")], [c("n")], id="into an empty list"),
    ],
)
def test_lists_are_merged_by_their_key(names, patch, result):
    assert merged({"containers": [c(name) for name in names]}, {"containers": patch}) == {"containers": result}


def test_the_lists_of_an_item_are_merged_in_turn():
    spec = {"containers": [c("a", env=[c("X", value="1"), c("Y", value="2")], args=["x", "y"])]}
    patch = {"containers": [c("a", env=[c("Y", value="3")], args=["z"])]}
    assert merged(spec, patch) == {
        "containers": [c("a", env=[c("X", value="1"), c("Y", value="3")], args=["z"])],
    }


@pytest.mark.parametrize(
    ("names", "order", "patch", "result"),
    [
        pytest.param("ab", "ba", None, "ba", id="only the order"),
        pytest.param("ab", "ba", [c("b")], "ba", id="with a change"),
        pytest.param("abc", "zba", [c("z")], "zbac", id="new item where it is said; the rest keeps its place"),
        pytest.param("abcd", "dc", None, "abdc", id="the others before the first that was behind them"),
        pytest.param("ab", "b", [c("a", **{"$patch": "delete"}), c("b")], "b", id="a deletion needs no place"),
        pytest.param(
            "abd", "bc", [c("c"), c("a", **{"$patch": "delete"})], "bdc", id="a new item in the place of a deleted one"
        ),
        pytest.param(None, "ba", [c("b"), c("a")], "ba", id="a new list"),
        pytest.param(None, "ba", None, None, id="no list at all"),
    ],
)
def test_the_order_of_a_list_can_be_prescribed(names, order, patch, result):
    spec = {} if names is None else {"containers": [c(name) for name in names]}
    changes = {"$setElementOrder/containers": [c(name) for name in order]}
    changes |= {} if patch is None else {"containers": patch}
    expected = {} if result is None else {"containers": [c(name) for name in result]}
    assert merged(spec, changes) == expected


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        pytest.param({"finalizers": ["c", "a"]}, ["c", "a", "b"], id="union"),
        pytest.param({"$deleteFromPrimitiveList/finalizers": ["a", "z"]}, ["b"], id="delete"),
        pytest.param({"$setElementOrder/finalizers": ["b", "a"]}, ["b", "a"], id="order"),
        pytest.param(
            {"$setElementOrder/finalizers": ["c", "b"], "finalizers": ["c"],
             "$deleteFromPrimitiveList/finalizers": ["a"]},
            ["c", "b"], id="all three",
        ),
        pytest.param({"$deleteFromPrimitiveList/labels": ["a"]}, ["a", "b"], id="delete from what is not there"),
        pytest.param({"$deleteFromPrimitiveList/finalizers": None}, None, id="null deletes the list"),
    ],
)  # fmt: skip
def test_lists_of_plain_values_are_sets(patch, result):
    patched = strategic.apply({"metadata": {"finalizers": ["a", "b"]}}, {"metadata": patch}, POD)
    assert patched["metadata"].get("finalizers") == result


@pytest.mark.parametrize(
    ("spec", "patch", "answer", "complaint"),
    [
        pytest.param({"nodeSelector": {}}, {"nodeSelector": {"$patch": "frob", "q": "r"}}, PatchFailed,
                     "unknown patch type: frob in map: map[$patch:frob q:r]", id="unknown directive"),
        pytest.param({"containers": [c("a")]}, {"containers": [{"image": "x"}]}, PatchFailed,
                     "map: map[image:x] does not contain declared merge key: name", id="no merge key"),
        pytest.param({"containers": [c("a")]}, {"containers": [{"$patch": "delete"}]}, PatchFailed,
                     "map: map[$patch:delete] does not contain declared merge key: name", id="delete nothing"),
        pytest.param({"containers": [c("a")]}, {"containers": [{"$patch": "merge"}]}, PatchFailed,
                     "merging lists cannot yet be specified in the patch", id="merge directive"),
        pytest.param({"containers": [c("a")]}, {"containers": ["x"]}, PatchFailed,
                     "list element types are not identical: [[map[name:a]] [x]]", id="text among objects"),
        pytest.param({"containers": []}, {"containers": [["x"]]}, PatchRejected,
                     "lists of lists are not supported", id="list of lists"),
        pytest.param({"keyless": [{}]}, {"keyless": [{"a": 1}]}, PatchFailed,
                     "cannot merge lists without merge key for struct", id="objects without a key"),
        pytest.param({"strategy": {}}, {"strategy": {"$retainKeys": ["type"], "other": 1}}, BadPatch,
                     "invalid patch format of retainKeys", id="a field that is not retained"),
        pytest.param({"strategy": {}}, {"strategy": {"$retainKeys": "type"}}, BadPatch,
                     "invalid patch format of retainKeys", id="retain keys is no list"),
        pytest.param({}, {"$setElementOrder": []}, BadPatch,
                     "invalid patch format of setElementOrder list", id="order of what"),
        pytest.param({}, {"$deleteFromPrimitiveListX/a": []}, BadPatch,
                     "invalid patch format of primitive list", id="deletion misspelt"),
        pytest.param({}, {"$setElementOrder/containers": {}}, PatchFailed,
                     "expected a []interface {}, but received a map[string]interface {}", id="order is no list"),
        pytest.param({"containers": [c("a")]},
                     {"$setElementOrder/containers": [c("b"), c("a")], "containers": [c("a"), c("b")]}, PatchFailed,
                     "The order in patch list:\n[map[name:a] map[name:b]]\n doesn't match $setElementOrder list:\n"
                     "[map[name:b] map[name:a]]\n", id="order and patch disagree"),
        pytest.param({}, {"$setElementOrder/nosuch": []}, PatchFailed,
                     'unable to find api field in struct PodSpec for the json field "nosuch"', id="unknown list"),
        pytest.param({"nested": {"a": {}}}, {"nested": {"a": {}}}, PatchFailed,
                     "merging an object in json but data type is not struct, instead is: map", id="map in a map"),
        pytest.param({"containers": [c("a")]}, {"containers": [c({})]}, PatchFailed,
                     "runtime error: comparing uncomparable type map[string]interface {}", id="object for a key"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_upstreams_words(spec, patch, answer, complaint):
    with pytest.raises(answer) as caught:
        merged(spec, patch)
    assert str(caught.value) == complaint


def test_the_patch_is_an_object_or_null():
    assert strategic.apply({"a": 1}, None, POD) == {"a": 1}
    with pytest.raises(BadPatch, match=r"cannot unmarshal array into Go value of type map\[string\]interface"):
        strategic.apply({}, [], POD)


def test_many_deletions_and_changes_each_find_their_item():
    live = {"spec": {"containers": [{"name": f"c{index}", "args": ["a"]} for index in range(3000)]}}
    deleted = [{"name": f"c{index}", "$patch": "delete"} for index in range(0, 3000, 3)]
    changed = [{"name": f"c{index}", "args": ["b"]} for index in range(1, 3000, 3)]
    patched = strategic.apply(live, {"spec": {"containers": [*deleted, *changed]}}, POD)
    assert sorted((item["name"], item["args"][0]) for item in patched["spec"]["containers"]) == sorted(
        (f"c{index}", "ab"[index % 3 == 1]) for index in range(3000) if index % 3
    )


def test_a_change_of_an_item_that_the_patch_itself_adds_is_merged_into_it():
    added = [{"name": "new", "args": ["a"]}, {"name": "new", "env": [{"name": "E"}]}]
    patched = strategic.apply({"spec": {"containers": [{"name": "old"}]}}, {"spec": {"containers": added}}, POD)
    assert {"name": "new", "args": ["a"], "env": [{"name": "E"}]} in patched["spec"]["containers"]


def test_objects_are_not_deleted_from_a_list_of_plain_values():
    patch = {"spec": {"$deleteFromPrimitiveList/containers": [{"name": "a"}]}}
    with pytest.raises(PatchFailed, match="hash of unhashable type"):
        strategic.apply({"spec": {"containers": [{"name": "a"}]}}, patch, POD)
