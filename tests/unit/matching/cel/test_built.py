"""Objects and patches that expressions write out."""

import pytest
from mockkube_cel.object_literals import NotJson, to_json, type_name_errors
from mockkube_cel.schema import Schema
from mockkube_cel.values import ObjectLiteral

from mockkube.matching.cel.environment import kubernetes_environment

BUILDING = kubernetes_environment(Schema(allows_object_literals=True))


def value_of(text):
    compiled = BUILDING.compile(text, boolean=False)
    assert compiled.program is not None, compiled.error
    return compiled.program.evaluate({}, 1_000_000).value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(
            "Object{a: 1, b: Object.b{c: [Object.b.c{d: 'e'}]}}", {"a": 1, "b": {"c": [{"d": "e"}]}}, id="parts"
        ),
        pytest.param("Object{?a: optional.none(), ?b: optional.of(null)}", {"b": None}, id="optional fields"),
        pytest.param("Object{a: {'k': b'abc'}, b: {'d': 1.5}}", {"a": {"k": "YWJj"}, "b": {"d": 1.5}}, id="a map"),
        pytest.param(
            "Object{a: timestamp('2020-01-01T00:00:00Z'), b: duration('90s')}",
            {"a": "2020-01-01T00:00:00Z", "b": "90s"},
            id="times",
        ),
    ],
)
def test_a_literal_is_json(text, value):
    assert to_json(value_of(text)) == value


@pytest.mark.parametrize("text", ["Object{a: {1: 'x'}}", "Object{a: semver('1.2.3')}"])
def test_what_json_has_nothing_for_is_refused(text):
    with pytest.raises(NotJson):
        to_json(value_of(text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("Object{a: Object.a{b: Object.a.b{}}}", [], id="each where its name says"),
        pytest.param("Object{a: Object.b{}}", ["Object.b"], id="in the place of another"),
        pytest.param("Object{a: [{'k': Object{}}]}", ["Object"], id="the root in a list of maps"),
    ],
)
def test_a_part_is_named_for_its_place(text, names):
    assert [complaint.split('"')[1] for complaint in type_name_errors(value_of(text))] == names


def test_literals_of_different_types_are_different():
    assert value_of("Object{a: 1} == Object{a: 1}") is True
    assert value_of("dyn(Object{a: 1}) == dyn(Object.x{a: 1})") is False
    assert isinstance(value_of("JSONPatch{op: 'add'}"), ObjectLiteral)


def test_elsewhere_there_are_none():
    assert "undeclared reference to 'Object'" in (
        kubernetes_environment(Schema()).compile("Object{}", boolean=False).error or ""
    )
