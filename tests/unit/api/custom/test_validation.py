"""Values against schemas: each complaint in the words that clients know."""

from typing import Any

import pytest

from mockkube.api.custom.correlation import CorrelatedObject
from mockkube.api.custom.structural import parse_structural
from mockkube.api.custom.validation import validate
from mockkube.api.custom.validation_schema import ValidationSchemaParser
from mockkube.features.versions import Version

PARSER = ValidationSchemaParser(Version(1, 36), lambda pattern, text: text.startswith(pattern.lstrip("^")))


def complaints(schema: dict[str, Any], value: Any, old: Any = None) -> list[str]:
    whole = {"type": "object", "properties": {"x": schema}}
    correlated = None if old is None else CorrelatedObject({"x": value}, {"x": old}, parse_structural(whole))
    return [str(error) for error in validate({"x": value}, PARSER.parse(whole), correlated)]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param(
            {"type": "string"}, 1, 'x: Invalid value: "integer": x in body must be of type string: "integer"',
            id="another type",
        ),
        pytest.param(
            {"type": "string"}, None, 'x: Invalid value: "null": x in body must be of type string: "null"',
            id="null where it may not be",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True}, True,
            'x: Invalid value: "boolean": x in body must be of type integer,string: "boolean"', id="neither of two",
        ),
        pytest.param({"type": "string", "enum": ["a", "b"]}, "c",
                     'x: Unsupported value: "c": supported values: "a", "b"', id="not among the choices"),
        pytest.param({"type": "string", "maxLength": 2}, "abc",
                     "x: Too long: may not be more than 2 bytes", id="too long"),
        pytest.param({"type": "string", "minLength": 2}, "a",
                     'x: Invalid value: "a": x in body should be at least 2 chars long', id="too short"),
        pytest.param({"type": "string", "pattern": "^x"}, "y",
                     "x: Invalid value: \"y\": x in body should match '^x'", id="another pattern"),
        pytest.param({"type": "string", "format": "date"}, "soon",
                     'x: Invalid value: "soon": x in body must be of type date: "soon"', id="another format"),
        pytest.param({"type": "integer", "exclusiveMinimum": True, "minimum": 1}, 1,
                     "x: Invalid value: 1: x in body should be greater than 1", id="at an excluded bound"),
        pytest.param({"type": "integer", "format": "int32"}, 1 << 31,
                     '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x',
                     id="beyond the format"),
        pytest.param({"type": "number", "multipleOf": 0.5}, 0.7,
                     "x: Invalid value: 0.7: x in body should be a multiple of 0.5", id="no multiple"),
        pytest.param({"type": "array", "maxItems": 1, "items": {}}, [1, 2],
                     "x: Too many: 2: must have at most 1 item", id="too many items"),
        pytest.param({"type": "array", "minItems": 1, "items": {}}, [],
                     "x: Invalid value: 0: x in body should have at least 1 items", id="too few items"),
        pytest.param({"type": "object", "required": ["a"]}, {}, "x.a: Required value", id="a field is missing"),
        pytest.param({"type": "object", "not": {"required": ["a"]}}, {"a": 1},
                     '<nil>: Invalid value: "": "x" must not validate the schema (not)', id="what it must not be"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_complained_of(schema: dict[str, Any], value: Any, expected: str) -> None:
    assert complaints(schema, value) == [expected]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param({"type": "string", "nullable": True}, None, id="null where it may be"),
        pytest.param({"type": "number"}, 1, id="an integer where a number is wanted"),
        pytest.param({"x-kubernetes-int-or-string": True}, "80%", id="one of two types"),
        pytest.param({"type": "string", "format": "no-such"}, "x", id="a format nobody checks"),
        pytest.param({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "x", id="one alternative fits"),
    ],
)
def test_a_value_that_fits_is_not_complained_of(schema: dict[str, Any], value: Any) -> None:
    assert complaints(schema, value) == []


def test_of_several_alternatives_exactly_one_must_fit() -> None:
    schema = {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    title = '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf).'
    assert complaints(schema, {}) == [f"{title} Found none valid", "x.a: Required value"]
    assert complaints(schema, {"a": 1, "b": 2}) == [f"{title} Found 2 valid alternatives"]


def test_what_is_as_it_was_is_not_judged_anew() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 1}, "b": {"type": "integer"}}}
    assert complaints(schema, {"a": 5, "b": 2}, {"a": 5, "b": 1}) == []
    assert complaints(schema, {"a": 6}, {"a": 5}) == [
        "x.a: Invalid value: 6: x.a in body should be less than or equal to 1"
    ]


def test_items_of_a_map_are_told_apart_by_their_keys() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer", "maximum": 1}}}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    old, added = {"name": "a", "n": 5}, {"name": "b", "n": 1}
    assert complaints({"type": "array", "items": item, **keyed}, [added, old], [old]) == []
    assert len(complaints({"type": "array", "items": item}, [added, old], [old])) == 1


@pytest.mark.parametrize(
    ("value", "fits"),
    [(3.0, True), (-3.0, True), (float(2**53 - 1), True), (5e9 + 0.5, True), (5.5, False), (-5e9 - 0.5, False)],
)
def test_a_float_counts_as_an_integer_as_in_go(value: float, fits: bool) -> None:
    found = complaints({"type": "integer"}, value)
    assert ('x: Invalid value: "number": x in body must be of type integer: "number"' not in found) == fits


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 1e19])
def test_integers_beyond_64_bits_are_floats(value: float) -> None:
    kind = {"type": "integer", "format": "int64"}
    assert complaints(kind, value)[0] == 'x: Invalid value: "float64": x in body must be of type int64: "float64"'
    assert complaints({"type": "number"}, value) == []
