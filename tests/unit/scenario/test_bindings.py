"""Names and expressions in YAML."""

from typing import Any

import pytest

from mockkube.scenario.bindings import is_expression, resolve
from mockkube.scenario.errors import StepFailed

BOUND = {"n": 3, "name": "web", "case": {"seconds": 60}}


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        pytest.param("($n)", 3, id="a number stays one"),
        pytest.param("($case.seconds)", 60, id="a member"),
        pytest.param("(join('-', ['a', $name]))", "a-web", id="a function"),
        pytest.param("pod-($name)-x", "pod-web-x", id="within a text"),
        pytest.param("$($name)", "$($name)", id="what shells mean"),
        pytest.param("(split($name, 'e')[0])", "w", id="a function of ours"),
        pytest.param("('$n')", "$n", id="in quotes it is a text"),
        pytest.param({"($name)": ["($n)"]}, {"web": [3]}, id="everywhere"),
        pytest.param("(a) and (b)", "(a) and (b)", id="two parentheses are no expression"),
        pytest.param(True, True, id="other values"),
    ],
)
def test_resolves(value: Any, resolved: Any) -> None:
    assert resolve(value, BOUND) == resolved


def test_a_name_that_is_not_bound_is_told_with_those_that_are() -> None:
    with pytest.raises(StepFailed, match=r"\$other is not bound: known are \$case, \$n, \$name"):
        resolve("($other)", BOUND)


@pytest.mark.parametrize(("text", "is_one"), [("(a)", True), ("(a)(b)", False), ("('(')", True), ("()", False)])
def test_tells_expressions_from_texts(text: Any, is_one: bool) -> None:
    assert is_expression(text) is is_one
