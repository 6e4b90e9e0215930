"""The worst case of an expression, as admission reckons it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mockkube_cel import types
from mockkube_cel.schema import Schema
from mockkube_cel.sizes import LARGEST, Interval, fixed

from mockkube.matching.cel.environment import kubernetes_environment
from mockkube.matching.cel.tolerations import COST_MAX, EXPRESSION_BYTES_MAX, TAINT_ENVIRONMENT, validate_compiled

_UNKNOWN_WALK = 1844674407370955264
"""A tenth of the largest size there is, in double precision."""


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        pytest.param("true", 0, 0, id="a constant"),
        pytest.param("taint.key == 'dedicated'", 3, 3, id="the smaller side counts"),
        pytest.param("taint.key.contains('edi')", 2, 34, id="a walk over a key"),
        pytest.param("taint.value.matches('^(gpu|tpu)$')", 5, 23, id="a pattern on a value"),
        pytest.param("taint.key + taint.value == 'x'", 5, 43, id="what is joined is as long as both"),
        pytest.param(
            "taint.key.replace('', taint.key).lowerAscii() != ''", 4, 10181, id="what replacing can make of it"
        ),
        pytest.param("taint.key == 'a' || taint.value == 'gpu'", 3, 6, id="one side or both"),
        pytest.param("true ? taint.key == 'a' : false", 0, 3, id="either branch"),
        pytest.param("[4, 5, 6].all(x, x > 2)", 20, 26, id="a loop"),
        pytest.param("[1, 2, 3].map(x, x * 2).size() == 3", 65, 65, id="a map"),
        pytest.param("{'a': taint.key}['a'].matches('x')", 34, 65, id="an index knows its sizes"),
        pytest.param("taint.key.split('/').exists(p, p.startsWith('x'))", 3, 1969, id="parts of a key"),
        pytest.param("lists.range(1000).size() == 1000", 1013, 1013, id="a range"),
        pytest.param("isSemver(taint.value)", 2, 9, id="a parser"),
        pytest.param("!(semver('1.0.0') == semver('2.0.0'))", 4, 4, id="equal versions"),
        pytest.param(
            "semver('1.0.0') != semver('2.0.0')", 3, _UNKNOWN_WALK + 2, id="unequal versions are not foreseen"
        ),
        pytest.param("taint.key.charAt(0).matches('x')", 4, _UNKNOWN_WALK + 3, id="an unknown size"),
        pytest.param("taint.key.split('.').exists(s, s.contains('x'))", 3, LARGEST, id="an unknown size in a loop"),
        pytest.param("[3, 1].sort() == [1, 3]", 40, 40, id="sorting is quadratic"),
    ],
)
def test_the_estimate_is_cel_gos(text: str, least: int, most: int) -> None:
    estimate = TAINT_ENVIRONMENT.compile(text).estimate
    assert estimate is not None
    assert (estimate.min, estimate.max) == (least, most)


_AUTHORIZER = kubernetes_environment(
    Schema(variables={"authorizer": types.struct("kubernetes.authorization.Authorizer")}, allows_object_literals=True)
)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("authorizer.path('/healthz').check('get').allowed()", 350003, 350003),
        ("authorizer.group('').resource('pods').fieldSelector('spec.nodeName=example-node-name')", 817, 817),
        ("authorizer == authorizer", 3, 3),
        ("jsonpatch.escapeKey('abc/def~ abc/def~')", 2, 2),
    ],
)
def test_functions_of_kubernetes_have_upstreams_estimates(text: str, least: int, most: int) -> None:
    estimate = _AUTHORIZER.compile(text, boolean=False).estimate
    assert estimate is not None
    assert (estimate.min, estimate.max) == (least, most)


_intervals = st.builds(lambda a, b: Interval(min(a, b), max(a, b)), *(st.integers(0, LARGEST),) * 2)


@given(_intervals, _intervals)
def test_intervals_stop_at_the_largest_number(one: Interval, other: Interval) -> None:
    for result in (one + other, one * other, one.scale_by(0.1), one.scale_by(3.0), one | other):
        assert 0 <= result.min <= result.max <= LARGEST


@given(_intervals, _intervals)
def test_a_union_holds_both(one: Interval, other: Interval) -> None:
    joined = one | other
    assert joined.min <= min(one.min, other.min)
    assert joined.max >= max(one.max, other.max)


def test_scaling_rounds_up() -> None:
    assert fixed(1).scale_by(0.1) == fixed(1)
    assert fixed(30).scale_by(0.1) == fixed(3)


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        pytest.param("true", [], id="nothing wrong"),
        pytest.param(
            "'" + "a" * EXPRESSION_BYTES_MAX + "' == ''",
            ["at: Too long: may not be more than 10240 bytes"],
            id="too long is all that is said",
        ),
        pytest.param(
            "lists.range(200000).all(i, i > 0)",
            ["at: Forbidden: too complex, exceeds cost limit"],
            id="too expensive",
        ),
        pytest.param(
            "1",
            ['at: Invalid value: "1": must evaluate to bool or the unknown type, not int'],
            id="of the wrong type",
        ),
        pytest.param(
            "bool('x')",
            ["at: Internal error: program instantiation failed: type conversion error from 'string' to 'bool'"],
            id="a constant that fails",
        ),
    ],
)
def test_admission_names_the_field_and_the_reason(text: str, errors: list[str]) -> None:
    assert [str(error) for error in validate_compiled(text, TAINT_ENVIRONMENT.compile(text), "at")] == errors


def test_exactly_the_limits_are_admitted() -> None:
    text = "true " + " " * (EXPRESSION_BYTES_MAX - 5)
    assert validate_compiled(text, TAINT_ENVIRONMENT.compile(text), "at") == []
    text = f"lists.range({COST_MAX - 13}).size() == 1"
    compiled = TAINT_ENVIRONMENT.compile(text)
    assert compiled.estimate is not None
    assert compiled.estimate.max == COST_MAX
    assert validate_compiled(text, compiled, "at") == []
