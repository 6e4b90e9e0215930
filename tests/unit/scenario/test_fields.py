"""Dataclasses read from YAML by their annotations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.fields import Seconds, SourceLocation, Tree, read
from mockkube.scenario.json_schema import make_schema
from mockkube.scenario.yaml_lines import read_text


@dataclass(frozen=True)
class Inner:
    """Something inside."""

    deep_name: Annotated[str, "a name"]


@dataclass(frozen=True)
class Outer:
    """Something."""

    as_: Annotated[str, "who"] = ""
    count: Annotated[int | None, "how many"] = None
    wait: Annotated[Seconds, "how long"] = Seconds(1.0)  # noqa: RUF009 - a name for a float
    mode: Annotated[Literal["a", "b"], "which"] = "a"
    inner: Annotated[Inner | None, "what is in it"] = None
    several: Annotated[tuple[Inner, ...], "more of them"] = ()
    gates: Annotated[Mapping[str, bool], "gates"] = field(default_factory=dict)
    tree: Annotated[Tree | None, "a claim"] = None
    anything: Annotated[Any, "anything"] = None


def made(text: str, bindings: Mapping[str, Any] | None = None) -> Outer:
    [node] = read_text(text, "f.yaml")
    return read(Outer, node, SourceLocation("f.yaml", bindings=bindings))


def test_every_kind_of_value_is_read() -> None:
    text = (
        "{as: x, count: 2, wait: 1m30s, mode: b, inner: {deepName: 1.36}, several: [{deepName: y}], gates: {A: true}}"
    )
    wanted = Outer("x", 2, Seconds(90.0), "b", Inner("1.36"), (Inner("y"),), {"A": True})
    assert made(text) == wanted


def test_bound_names_are_put_in_place_but_not_in_claims() -> None:
    text = "{count: ($n), gates: {A: ($on)}, tree: {a: ($n)}, anything: {a: [($n)]}, as: u-($n)}"
    seen = made(text, {"n": 3, "on": False})
    assert (seen.count, seen.gates, seen.tree, seen.anything, seen.as_) == (
        3, {"A": False}, {"a": "($n)"}, {"a": [3]}, "u-3"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("count: many", "f.yaml:1: count: 'many' is not a whole number: give one", id="a number"),
        pytest.param("count: true", "count: True is not a whole number", id="true is no number"),
        pytest.param("mode: c", "mode: 'c' is none of a, b", id="a choice"),
        pytest.param("inner: {}", "inner: deepName is missing: a name", id="a missing member"),
        pytest.param("a: 1\nsevral: []", "f.yaml:1: a: unknown field", id="the first of two"),
        pytest.param("\n\nsevral: []", "f.yaml:3: sevral: unknown field: did you mean 'several'?", id="its line"),
        pytest.param("several: {}", "several: {} is not a list", id="a list"),
        pytest.param(
            "several: [{deepName: x}, 3]", "several[1]: 3 is not a mapping: give one of deepName", id="an item"
        ),
        pytest.param("gates: {A: 1}", "gates.A: 1 is not true or false", id="a member of a map"),
        pytest.param("wait: -1", "wait: -1 is not a duration", id="a duration"),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(ScenarioError) as error:
        made(text)
    assert told in str(error.value)


def test_a_bound_value_of_the_wrong_type_is_told() -> None:
    with pytest.raises(ScenarioError, match="count: 'x' is not a whole number"):
        made("count: ($n)", {"n": "x"})


def test_the_schema_says_the_same() -> None:
    schema = make_schema(Outer)
    assert schema["properties"]["as"]["description"] == "who"
    assert schema["properties"]["several"]["items"]["required"] == ["deepName"]
    assert {"enum": ["a", "b"]} in schema["properties"]["mode"]["anyOf"]
    assert schema["additionalProperties"] is False
