"""What expressions compute is bounded, also where upstream charges nothing for it."""

from typing import Any

import pytest
from mockkube_cel import types
from mockkube_cel.environment import Environment
from mockkube_cel.schema import Schema
from mockkube_cel.values import CelError

COST_MAX = 1_000_000


def evaluate(text: str, a: Any) -> Any:
    compiled = Environment(Schema(variables={"a": types.DYN})).compile(text)
    assert compiled.program is not None, compiled.error
    return compiled.program.evaluate({"a": a}, COST_MAX)


def nested(depth: int) -> list[Any]:
    value: list[Any] = [1]
    for _ in range(depth):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("text", "a"),
    [
        pytest.param("(a + a).size() > 0", "x" * 6_000_000, id="joined texts of unknown type"),
        pytest.param("(a + a).size() > 0", [1] * 6_000_000, id="joined lists"),
        pytest.param("[a, a].map(x, x + x).size() > 0", "x" * 3_000_000, id="joined in a loop"),
        pytest.param("a.replace('x', a).size() > 0", "x" * 100_000, id="replaced by much"),
        pytest.param("a.replace('', a).size() > 0", "x" * 100_000, id="much inserted everywhere"),
        pytest.param("[a, a, a, a].join().size() > 0", "x" * 5_000_000, id="joined from a list"),
        pytest.param("'%s'.format([a]).size() > 0", nested(40), id="nested lists as text"),
        pytest.param("a == a", nested(40), id="nested lists compared"),
        pytest.param("a in [a]", nested(40), id="nested lists found"),
    ],
)
def test_what_grows_without_end_is_cancelled(text: str, a: Any) -> None:
    evaluation = evaluate(text, a)
    assert isinstance(evaluation.value, CelError)
    assert evaluation.value.message == "operation cancelled: actual cost limit exceeded"
    assert evaluation.cost > COST_MAX


@pytest.mark.parametrize(
    ("text", "a"),
    [
        pytest.param("(a + a).size() == 2000000", "x" * 1_000_000, id="texts"),
        pytest.param("a.replace('x', 'yy').size() == 20000", "x" * 10_000, id="replaced"),
        pytest.param("a == a", nested(10), id="nested lists"),
        pytest.param("'%s'.format([a]).size() > 0", nested(5), id="as text"),
    ],
)
def test_what_is_long_but_not_too_long_is_computed(text: str, a: Any) -> None:
    assert evaluate(text, a).value is True
