"""What becomes of an expression: a program of a type, or cel-go's complaint."""

import pytest

from mockkube.matching.cel.tolerations import TAINT_ENVIRONMENT, TAINT_ENVIRONMENT_WITH_BINDINGS


def _complaint(text: str) -> str:
    error = TAINT_ENVIRONMENT.compile(text).error
    assert error is not None
    return error


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "nodes.size() > 1",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nodes' (in container '')\n"
            " | nodes.size() > 1\n"
            " | ^",
            id="an unknown name",
        ),
        pytest.param(
            "'ü' + 1 == 'x'",
            "compilation failed: ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'\n"
            " | 'ü' + 1 == 'x'\n"
            " | .．..^",
            id="wide dots under what is not ASCII",
        ),
        pytest.param(
            "taint.key == 'a' &&\n\ttaint.label == 'b'",
            "compilation failed: ERROR: <input>:2:7: undefined field 'label'\n |  taint.label == 'b'\n | ......^",
            id="the second line, its tab shown as a space",
        ),
        pytest.param(
            "taint.key", "must evaluate to bool or the unknown type, not string", id="an expression of another type"
        ),
        pytest.param(
            "false && int('x') == 1",
            "program instantiation failed: type conversion error from 'string' to 'int'",
            id="a constant that fails where it is never reached",
        ),
        pytest.param(
            "taint.key.find('(') == ''",
            "program instantiation failed: error parsing regexp: missing closing ): `(`",
            id="a constant pattern that is none",
        ),
    ],
)
def test_the_complaint_is_cel_gos(text: str, complaint: str) -> None:
    assert _complaint(text) == complaint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("has(taint)", "invalid argument to has() macro", id="has without a field"),
        pytest.param("[1].all(1, true)", "argument must be a simple name", id="a loop over a number"),
        pytest.param("[1].map(x.y, x)", "argument is not an identifier", id="a map over a path"),
        pytest.param("[1].all(i, i, true)", "duplicate variable name: i", id="one name twice"),
        pytest.param("[1].exists(__result__, true)", "iteration variable overwrites accumulator variable", id="hidden"),
        pytest.param("taint.key.all(c, true)", "expression of type 'string' cannot be range of a", id="no range"),
        pytest.param("[1, 'a'] == []", "expected type 'int' but found 'string'", id="a mixed list"),
        pytest.param("{'a': 1, 'b': 1u} == {}", "expected type 'int' but found 'uint'", id="a mixed map"),
        pytest.param("duration('1') > duration('0s')", "invalid duration argument", id="a bad duration"),
        pytest.param("timestamp('now') > timestamp(0)", "invalid timestamp argument", id="a bad moment"),
        pytest.param("taint.key.matches('a**')", "invalid matches argument", id="a bad pattern"),
        pytest.param("'%d'.format(['a']) == ''", "decimal clause can only be used on integers, was given", id="format"),
        pytest.param("'%s'.format([]) == ''", "index 0 out of range", id="format without arguments"),
        pytest.param(
            "'x'.format([1]) == ''", "too many arguments supplied to string.format (expected 0, got 1)", id="extra"
        ),
        pytest.param(
            "semver('1.0.0').major == 1", "unexpected failed resolution of 'kubernetes.Semver'", id="no message"
        ),
        pytest.param("taint{} == taint", "'kubernetes.Taint' is not a type", id="a variable as a type"),
        pytest.param("int{} == 1", "'int' is not a message type", id="a type without fields"),
        pytest.param("9223372036854775808 > 0", "invalid int literal", id="an int past 64 bits"),
        pytest.param("18446744073709551616u > 0u", "invalid uint literal", id="a uint past 64 bits"),
        pytest.param("'\\ud800' == ''", "invalid unicode code point", id="half a character"),
        pytest.param("while == 1", "reserved identifier: while", id="a reserved word"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    assert message in _complaint(text)


def test_complaints_come_in_the_order_of_their_places() -> None:
    lines = [line for line in _complaint("foo(bar) + baz == taint.nope").split("\n") if "ERROR" in line]
    assert [line.split("ERROR: <input>:")[1].split(":")[1] for line in lines] == ["4", "5", "12", "24"]


def test_more_than_a_hundred_complaints_are_counted() -> None:
    text = "[" + ", ".join(f"x{i}" for i in range(103)) + "].size() > 0"
    assert _complaint(text).endswith("\n3 more errors were truncated")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("(" * 250 + "true" + ")" * 250, "expression recursion limit exceeded: 250", id="brackets"),
        pytest.param("1" + " + 1" * 251 + " > 0", "max recursion depth exceeded", id="a chain of sums"),
        pytest.param("taint.key" + ".trim()" * 250 + " == ''", "max recursion depth exceeded", id="a chain of calls"),
    ],
)
def test_depth_has_a_limit(text: str, complaint: str) -> None:
    assert _complaint(text) == f"compilation failed: ERROR: <input>:-1:0: {complaint}"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(" * 249 + "true" + ")" * 249, id="brackets"),
        pytest.param(" && ".join(["true"] * 1000), id="a chain of ands is balanced"),
        pytest.param("!" * 1000 + "true", id="signs collapse"),
        pytest.param("[" * 200 + "]" * 200 + ".size() == 1", id="nested lists"),
    ],
)
def test_what_stays_within_the_limits_compiles(text: str) -> None:
    assert TAINT_ENVIRONMENT.compile(text).error is None


def test_macros_that_copy_their_target_do_not_double_without_end() -> None:
    assert "expands to too many nodes" in _complaint("taint.?key" + ".optMap(k, k)" * 100 + ".hasValue()")
    assert TAINT_ENVIRONMENT.compile("taint.?key" + ".optMap(k, k)" * 5 + ".hasValue()").error is None


def test_a_binding_is_known_only_where_the_environment_has_it() -> None:
    text = "cel.bind(k, taint.key, k == 'a' || k == 'b')"
    assert TAINT_ENVIRONMENT_WITH_BINDINGS.compile(text).error is None
    assert "undeclared reference to 'cel'" in _complaint(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("[1]", "list(int)", id="a list"),
        pytest.param("{'a': [1u]}", "map(string, list(uint))", id="a map"),
        pytest.param("taint.?key", "optional_type(string)", id="an optional"),
        pytest.param("duration('1s')", "google.protobuf.Duration", id="a span"),
        pytest.param("type(1)", "type(int)", id="a type"),
        pytest.param("null", "null_type", id="null"),
        pytest.param("[]", "list(dyn)", id="an empty list"),
    ],
)
def test_the_type_of_an_expression_is_printed_as_cel_go_does(text: str, shown: str) -> None:
    assert str(TAINT_ENVIRONMENT.compile(text).type) == shown
