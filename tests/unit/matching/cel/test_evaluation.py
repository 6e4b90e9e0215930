"""Values, run-time errors and costs of evaluations."""

from typing import Any

import pytest
from mockkube_cel.program import Evaluation
from mockkube_cel.values import CelError

from mockkube.matching.cel.tolerations import COST_MAX, TAINT_ENVIRONMENT, evaluate

_TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def _evaluate(text: str, **changes: str) -> Evaluation:
    compiled = TAINT_ENVIRONMENT.compile(text)
    assert compiled.error is None
    return evaluate(compiled, {**_TAINT, **changes})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("7 / 2 == 3 && -7 / 2 == -3 && -7 % 2 == -1 && 7 % -2 == 1", id="division towards zero"),
        pytest.param("1.0 / 0.0 > 1e308 && -1.0 / 0.0 < -1e308", id="doubles divide by zero"),
        pytest.param("dyn(1) == dyn(1.0) && dyn(1u) == 1.0 && dyn(1) != 'a'", id="equality across numbers"),
        pytest.param("1 < 1.5 && 2u > 1 && 9223372036854775807 < 1e19", id="order across numbers"),
        pytest.param("[1, 2] + [3] == [1, 2, 3] && 'a' + 'b' == 'ab' && b'a' + b'b' == b'ab'", id="concatenation"),
        pytest.param("1 / 0 == 1 || true", id="an error is absorbed by or"),
        pytest.param("!(false && 1 / 0 == 1)", id="an error is absorbed by and"),
        pytest.param("[0, 1].exists(x, 1 / x == 1)", id="an error is absorbed by exists"),
        pytest.param("[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6]", id="filter and map"),
        pytest.param("['b', 'a'].transformList(i, v, v + string(i)) == ['b0', 'a1']", id="two variables"),
        pytest.param("{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}", id="a map transformed"),
        pytest.param("{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}", id="a map turned round"),
        pytest.param("[3, 1, 2].sort() == [1, 2, 3] && ['bb', 'a'].sortBy(s, s.size()) == ['a', 'bb']", id="sorting"),
        pytest.param("[1, 2, 1].distinct() == [1, 2] && [[1], [2]].flatten() == [1, 2]", id="distinct, flatten"),
        pytest.param("lists.range(3).reverse().slice(0, 2) == [2, 1]", id="range, reverse, slice"),
        pytest.param("sets.equivalent([1, 2], [2, 1, 1]) && !sets.intersects([1], [2])", id="sets"),
        pytest.param(
            "{true: 1, false: 0}[true] == 1 && !(1 in {true: 1}.map(k, dyn(k)))", id="booleans are no numbers"
        ),
        pytest.param("has(taint.key) && has({'a': 1}.a) && !has({'a': 1}.b)", id="has"),
        pytest.param("taint.?key.orValue('') == 'dedicated' && !{'a': 1}[?'b'].hasValue()", id="optional selection"),
        pytest.param("optional.of(2).optMap(x, x * 2).value() == 4", id="optMap"),
        pytest.param("[?optional.none(), 1] == [1] && {?'a': optional.none()} == {}", id="optional entries"),
        pytest.param("optional.none().or(optional.of(1)).value() == 1", id="or"),
        pytest.param("'héllo'.charAt(1) == 'é' && 'héllo'.size() == 5 && bytes('é').size() == 2", id="characters"),
        pytest.param("'a,b'.split(',').join('-') == 'a-b' && 'aaa'.replace('a', 'b', 2) == 'bba'", id="strings"),
        pytest.param("'%s-%05d'.replace('%05d', '%d').format(['x', 7]) == 'x-7'", id="format"),
        pytest.param(
            "'5.15.0-101'.find('[0-9]+\\\\.[0-9]+') == '5.15' && 'a1b2'.findAll('[0-9]') == ['1', '2']", id="find"
        ),
        pytest.param(
            "semver('1.10.0').isGreaterThan(semver('1.9.0')) && semver('v1', true).major() == 1", id="versions"
        ),
        pytest.param(
            "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('1k').asInteger() == 1000", id="quantity"
        ),
        pytest.param(
            "quantity('1').add(quantity('500m')).sub(1).asApproximateFloat() == 0.5", id="quantity arithmetic"
        ),
        pytest.param("!quantity('1.0').isInteger() && sign(quantity('-1')) == -1", id="what upstream takes for whole"),
        pytest.param("cidr('10.0.0.0/8').containsIP('10.1.2.3') && ip('::1').isLoopback()", id="networks"),
        pytest.param(
            "cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16')) && string(ip('::0')) == '::'", id="more networks"
        ),
        pytest.param("url('https://a.b:80/c?d=e').getPort() == '80' && !isURL('x')", id="URLs"),
        pytest.param("url('/p?a=1&a=2&b=x').getQuery() == {'a': ['1', '2'], 'b': ['x']}", id="queries"),
        pytest.param("!format.dns1123Label().validate('a-b').hasValue()", id="formats"),
        pytest.param("timestamp('2024-02-29T12:30:00Z').getDayOfYear() == 59", id="days of a leap year"),
        pytest.param("timestamp('2024-01-01T00:30:00Z').getHours('-01:00') == 23", id="time zones"),
        pytest.param(
            "timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')", id="spans"
        ),
        pytest.param(
            "duration('1h30m').getMinutes() == 90 && string(duration('-1500ms')) == '-1.5s'", id="spans shown"
        ),
        pytest.param("type(taint) == map && type(1) == int && type(type(1)) == type", id="types"),
        pytest.param("google.protobuf.Int32Value{value: 5} == 5", id="wrappers"),
    ],
)
def test_it_holds(text: str) -> None:
    assert _evaluate(text).value is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("1 / taint.value.indexOf('g') == 1", "division by zero", id="division"),
        pytest.param("9223372036854775807 + taint.key.size() > 0", "integer overflow", id="overflow"),
        pytest.param("1u - uint(taint.key.size()) > 0u", "unsigned integer overflow", id="unsigned overflow"),
        pytest.param("{'a': 1}[taint.key] == 1", "no such key: dedicated", id="a key"),
        pytest.param("[1, 2][taint.key.size()] == 1", "index out of bounds: 9", id="an index"),
        pytest.param("taint.key.charAt(10) == ''", "index out of range: 10", id="a character"),
        pytest.param("taint.key.substring(3, 2) == ''", "invalid substring range. start: 3, end: 2", id="a range"),
        pytest.param("int(taint.value) == 1", "type conversion error from 'string' to 'int'", id="a conversion"),
        pytest.param("dyn(taint.key) && true", "no such overload", id="no boolean"),
        pytest.param("dyn(1).size() == 1", "no such overload: size", id="a function of another type"),
        pytest.param("dyn(1).split(',') == []", "no such overload: split(int, string)", id="a guarded function"),
        pytest.param("double('NaN') < 1.0", "NaN values cannot be ordered", id="no order"),
        pytest.param(
            "taint.key.matches('[' + taint.value)", "error parsing regexp: missing closing ]: `[gpu`", id="pattern"
        ),
        pytest.param(
            "taint.key.find('(' + taint.value) == ''", "Illegal regex: error parsing regexp: missing", id="find"
        ),
        pytest.param("semver(taint.value).major() == 1", "No Major.Minor.Patch elements found", id="a version"),
        pytest.param(
            "quantity(taint.value).isInteger()", "quantities must match the regular expression", id="a quantity"
        ),
        pytest.param(
            "ip(taint.value).family() == 4", 'IP Address "gpu" parse error during conversion from string', id="ip"
        ),
        pytest.param("url(taint.value).getHost() == ''", 'parse "gpu": invalid URI for request', id="a URL"),
        pytest.param("optional.none().value() == 1", "optional.none() dereference", id="nothing"),
        pytest.param("[].max() == 1", "max called on empty list", id="the most of nothing"),
        pytest.param(
            "['a', 'a'].transformMapEntry(i, v, {v: i}).size() == 1", "insert failed: key a already", id="twice"
        ),
        pytest.param("timestamp(0).getHours(taint.key) == 0", "unknown time zone dedicated", id="a time zone"),
        pytest.param("kubernetes.Taint{key: 'a'}.key == 'a'", "unknown type 'kubernetes.Taint'", id="no such message"),
    ],
)
def test_it_fails_with(text: str, message: str) -> None:
    value = _evaluate(text).value
    assert isinstance(value, CelError)
    assert message in value.message


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        pytest.param("true", 0, id="a constant"),
        pytest.param("taint.key == 'dedicated'", 3, id="a path and a comparison"),
        pytest.param("has(taint.key)", 1, id="has"),
        pytest.param("taint.key in ['p', 'q']", 2, id="a set of constants"),
        pytest.param("taint.key in ['p', taint.value]", 16, id="a list built each time"),
        pytest.param("taint.key == 'a' || taint.value == 'gpu'", 6, id="both sides"),
        pytest.param("taint.key != 'a' || taint.value == 'gpu'", 3, id="one side"),
        pytest.param("(true ? taint.key : taint.value) == 'dedicated'", 2, id="a chosen path"),
        pytest.param("[4, 5, 6].all(x, x > 2)", 16, id="a loop"),
        pytest.param("[1, 2, 3].exists(x, x == 2)", 16, id="a loop that ends early"),
        pytest.param("{'a': taint.key}['a'] == 'dedicated'", 35, id="an index of a literal"),
        pytest.param("int('5') == 5", 1, id="a folded conversion"),
        pytest.param("taint.?key.orValue('') == 'dedicated'", 3, id="orValue is free"),
        pytest.param("semver(taint.value).minor() > 7", 5, id="a call that fails is charged"),
        pytest.param("taint.key.matches('^ded')", 3, id="a pattern"),
        pytest.param("[9, 8, 7].sort() == [7, 8, 9]", 30, id="sorting"),
    ],
)
def test_what_an_evaluation_costs(text: str, cost: int) -> None:
    assert _evaluate(text).cost == cost


def test_an_evaluation_ends_where_it_becomes_too_expensive() -> None:
    evaluation = _evaluate("lists.range(999988).all(x, x >= 0)")
    assert isinstance(evaluation.value, CelError)
    assert evaluation.value.message == "operation cancelled: actual cost limit exceeded"
    assert evaluation.cost == COST_MAX + 1


def test_exactly_the_limit_is_allowed() -> None:
    assert _evaluate("lists.range(999986).size() == 999986").value is True
    assert _evaluate("lists.range(999986).size() == 999986").cost <= COST_MAX


def test_a_taint_without_a_value_has_an_empty_one() -> None:
    compiled = TAINT_ENVIRONMENT.compile("has(taint.value) && taint.value == ''")
    assert evaluate(compiled, {"key": "a", "effect": "NoSchedule"}).value is True


def test_a_program_keeps_nothing_from_one_evaluation_to_the_next() -> None:
    compiled = TAINT_ENVIRONMENT.compile("[taint.key].map(k, k + '!') == [taint.key + '!']")
    values: list[Any] = [evaluate(compiled, {**_TAINT, "key": key}) for key in ("a", "b", "a")]
    assert [each.value for each in values] == [True, True, True]
    assert values[0].cost == values[2].cost
