"""Estimated cost of CEL rules in CRDs: figures of upstream, which decide which CRDs are accepted."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/cel/compilation_test.go, cel-go checker/cost.go
from typing import Any

import pytest

from mockkube.api.custom.structural import parse_structural
from mockkube.apiserver.custom.validation_rules import compile_rules

_WORDS = {"type": "object", "required": ["required"], "properties": {
    "required": {"type": "string"}, "optional": {"type": "string"},
}}  # fmt: skip


def estimate(schema: dict[str, Any], rule: str) -> int:
    """Return the largest cost of a rule of a schema."""
    raw = {**schema, "x-kubernetes-validations": [{"rule": rule}]}
    rules = compile_rules(parse_structural(raw), is_resource_root=False)
    assert rules is not None
    (compiled,) = rules.own
    assert not compiled.error
    assert compiled.compiled.estimate is not None
    return compiled.compiled.estimate.max


def text(most: int | None = None) -> dict[str, Any]:
    return {"type": "string"} if most is None else {"type": "string", "maxLength": most}


def items(item: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    return {"type": "array", "items": item, **({} if most is None else {"maxItems": most})}


def entries(value: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    more = {} if most is None else {"maxProperties": most}
    return {"type": "object", "additionalProperties": value, **more}


@pytest.mark.parametrize(
    ("schema", "rule", "cost"),
    [
        (items({"type": "number"}), "self.all(x, true)", 4718591),
        (items({"type": "number"}, 10), "self.all(x, true)", 32),
        (items({"type": "number"}, 10), "self.all(x, self.all(y, self.all(z, true)))", 3552),
        (items(_WORDS), "self.all(x, true)", 555128),
        (entries(_WORDS), "self.all(x, true)", 428963),
        (entries({"type": "string", "format": "date-time"}), "self.all(x, true)", 349526),
        (items({"x-kubernetes-int-or-string": True}), "self.all(x, true)", 4718591),
        (items(text()), "self[1] == self[1]", 314577),
        (text(), "self.contains('test')", 314574),
        ({"type": "string", "enum": ["A", "LongValue"]}, "self.contains('A')", 2),
        ({"type": "string", "enum": ["A"], "maxLength": 1000}, "self.contains('A')", 401),
        (items(text()), "self.join(' ') == 'aa bb'", 329853068905),
        (items(text(10), 10), "self.join(' ') == 'aa bb'", 43),
        (items(text()), "self.isSorted() == true", 329854432052),
        (items(text(10), 10), "self.isSorted() == true", 52),
        (text(), "self.find('[0-9]+') == ''", 629147),
        ({"x-kubernetes-int-or-string": True, "maxLength": 20}, "isQuantity(self)", 9),
    ],
)
def test_the_cost_is_upstreams(schema: dict[str, Any], rule: str, cost: int) -> None:
    assert estimate(schema, rule) == cost


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        # self 1, split 8, index 1, match 5: a part is as long as self, which has up to 40 bytes.
        ("self.split('@')[1].matches('x')", 15),
        ("self.split('@').all(part, part.matches('x'))", 9 + 40 * (2 + 1 + 6) + 1),
        ("self.findAll('@')[0].startsWith('x')", 8),
        ("self.split('@').map(part, part + 'x').all(one, one.matches('x'))", 1101),
    ],
)
def test_parts_of_a_calls_result_are_as_large_as_self(rule: str, cost: int) -> None:
    assert estimate(text(10), rule) == cost


def test_a_path_is_a_slice_of_go() -> None:
    """After the loop over `x.a`, its path ends in the field that the body read last, and so its size is of that."""
    fields = {"a": items(text(1), 2), "b": items(text(1), 1000)}
    schema = {"type": "object", "properties": {"list": items({"type": "object", "properties": fields}, 1)}}
    assert estimate(schema, "self.list.all(x, x.a.all(y, y == 'z'))") == 19
    # 1,000 rounds instead of 2 in the inner loop, each with a search through the 1,000 items of x.b.
    assert estimate(schema, "self.list.all(x, x.a.all(y, y in x.b))") == 1000 * 1006 + 9
