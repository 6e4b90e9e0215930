"""Objects as their schema reads them: pruned, completed, their lists judged."""

from typing import Any

import pytest

from mockkube.api.custom.defaulting import set_defaults
from mockkube.api.custom.list_types import validate_lists
from mockkube.api.custom.metadata import validate_embedded
from mockkube.api.custom.pruning import drop_nulls, prune_object
from mockkube.api.custom.structural import parse_structural

PRESERVE = {"x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}


def structural(**properties: Any) -> Any:
    return parse_structural({"type": "object", "properties": properties})


@pytest.mark.parametrize(
    ("schema", "value", "kept", "unknown"),
    [
        pytest.param({"type": "object", "properties": {"a": TEXT}}, {"a": "1", "b": 2}, {"a": "1"},
                     ["x.b"], id="a field"),
        pytest.param({"type": "object", **PRESERVE, "properties": {"a": {"type": "object"}}}, {"a": {"c": 1}, "b": 2},
                     {"a": {}, "b": 2}, ["x.a.c"], id="what stands beside known fields"),
        pytest.param({"type": "array", "items": {"type": "object"}}, [{"a": 1}], [{}], ["x[0].a"], id="in a list"),
        pytest.param({"type": "object", "additionalProperties": {"type": "object"}}, {"k": {"a": 1}}, {"k": {}},
                     ["x.k.a"],
                     id="in a map"),
        pytest.param({"type": "object", "x-kubernetes-embedded-resource": True}, {"kind": "K", "spec": 1},
                     {"kind": "K"}, ["x.spec"], id="in an embedded object"),
    ],
)  # fmt: skip
def test_what_a_schema_does_not_know_is_pruned(schema: Any, value: Any, kept: Any, unknown: list[str]) -> None:
    found: list[str] = []
    assert prune_object({"kind": "K", "x": value}, structural(x=schema), found) == {"kind": "K", "x": kept}
    assert found == unknown


def test_nulls_go_unless_they_are_allowed_or_replaced() -> None:
    schema = structural(gone=TEXT, stays={**TEXT, "nullable": True}, replaced={**TEXT, "default": "d"})
    obj: dict[str, Any] = {"gone": None, "stays": None, "replaced": None}
    drop_nulls(obj, schema)
    set_defaults(obj, schema)
    assert obj == {"stays": None, "replaced": "d"}


def test_defaults_fill_what_is_there_and_are_filled_themselves() -> None:
    inner = {"type": "object", "properties": {"b": {**TEXT, "default": "b"}}}
    schema = structural(
        given=inner, missing=inner, whole={**inner, "default": {}}, items={"type": "array", "items": inner}
    )
    obj: dict[str, Any] = {"given": {}, "items": [{}]}
    set_defaults(obj, schema)
    assert obj == {"given": {"b": "b"}, "whole": {"b": "b"}, "items": [{"b": "b"}]}


def test_defaults_are_not_shared_between_objects() -> None:
    schema = structural(list={"type": "array", "items": TEXT, "default": []})
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    set_defaults(first, schema)
    set_defaults(second, schema)
    first["list"].append("x")
    assert second == {"list": []}


@pytest.mark.parametrize(
    ("kind", "items", "expected"),
    [
        pytest.param({"x-kubernetes-list-type": "set"}, ["a", "b", "a", "a"], ['x[2]: Duplicate value: "a"'],
                     id="a set"),
        pytest.param({"x-kubernetes-list-type": "set"}, [1, True, "1"], [], id="a set of several types"),
        pytest.param(
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
            [{"k": 1, "v": 1}, {"k": 1, "v": 2}],
            ['x[1]: Duplicate value: {"k":1}'], id="a map",
        ),
        pytest.param(
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["z", "a"]},
            [{"z": 1, "a": "<"}, {"a": "<", "z": 1}],
            ['x[1]: Duplicate value: {"a":"\\u003c","z":1}'], id="a map with several keys",
        ),
        pytest.param(
            {"x-kubernetes-list-type": "set"},
            [{"z": {"y": 1, "b": 2}, "a": 1}, {"a": 1, "z": {"y": 1, "b": 2}}],
            ['x[1]: Duplicate value: {"a":1,"z":{"b":2,"y":1}}'], id="a set of objects",
        ),
        pytest.param({}, ["a", "a"], [], id="any other list"),
    ],
)  # fmt: skip
def test_nothing_stands_twice_in_a_set_or_map(kind: Any, items: list[Any], expected: list[str]) -> None:
    schema = structural(x={"type": "array", "items": PRESERVE, **kind})
    assert [str(error) for error in validate_lists({"x": items}, schema)] == expected


def test_embedded_objects_say_of_what_kind_they_are() -> None:
    schema = structural(x={"type": "object", "x-kubernetes-embedded-resource": True, **PRESERVE})
    errors = [str(error) for error in validate_embedded({"x": {"metadata": {"name": "n"}}}, schema)]
    assert errors == ["x.apiVersion: Required value", "x.kind: Required value"]
