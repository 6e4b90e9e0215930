"""jq: what expressions find in objects. The values of the tables are those of jq 1.7."""

import operator
from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.kubelet.stages.jq import compile_jq
from mockkube.kubelet.stages.jq_functions import JqError, sort_key

POD = {
    "metadata": {"annotations": {"a/b": "1m"}, "finalizers": ["x", "y"]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}, {"type": "Other"}]},
    "n": [1, 2, 3],
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(".status.phase", ["Running"], id="a path"),
        pytest.param('.metadata.annotations["a/b"]', ["1m"], id="a key in brackets"),
        pytest.param('.metadata.annotations."a/b"', ["1m"], id="a key in quotes"),
        pytest.param(".nowhere.at.all", [None], id="what is absent is null"),
        pytest.param(".metadata.finalizers.[]", ["x", "y"], id="iteration as kwok writes it"),
        pytest.param(".metadata.finalizers[]", ["x", "y"], id="iteration"),
        pytest.param('.status.conditions.[] | select( .type == "Ready" ) | .status', ["True"], id="select"),
        pytest.param(".n[0], .n[-1]", [1, 3], id="elements, side by side"),
        pytest.param(".n[1:]", [[2, 3]], id="a slice"),
        pytest.param(".nowhere // 5", [5], id="the alternative to null"),
        pytest.param(".n | map(. * 2) | add", [12], id="functions"),
        pytest.param('[.n[] | select(. > 1)]', [[2, 3]], id="a list"),
        pytest.param('{phase: .status.phase, n}', [{"phase": "Running", "n": [1, 2, 3]}], id="a map"),
        pytest.param('.n | length == 3 and any(. == 2)', [True], id="logic"),
        pytest.param('if .status.phase == "Running" then "up" else "down" end', ["up"], id="a branch"),
        pytest.param('.status.phase | test("^Run")', [True], id="a pattern"),
        pytest.param('.status.phase | test("^(?i)run\\\\z")', [False], id="a pattern in Go's dialect"),
        pytest.param('.status.phase | ascii_downcase | startswith("run")', [True], id="text"),
        pytest.param('1 + 2 * 3 - 4 / 2', [5], id="operators bind as in arithmetic"),
        pytest.param(".status.phase[]?", [], id="a failure that is passed over"),
        pytest.param('.metadata.annotations | to_entries | map(.key)', [["a/b"]], id="entries"),
        pytest.param("[..] | length > 5", [True], id="everything"),
    ],
)  # fmt: skip
def test_an_expression_finds(text, found):
    assert list(compile_jq(text)(POD)) == found


@pytest.mark.parametrize("text", [
    pytest.param(".status.phase[]", id="iterating over text"),
    pytest.param(".n.a", id="a field of a list"),
    pytest.param('.n + "a"', id="adding unlike things"),
])  # fmt: skip
def test_an_expression_fails_on_a_value(text):
    with pytest.raises(JqError):
        list(compile_jq(text)(POD))


@pytest.mark.parametrize("text", ["", ".a |", "(.a", "nosuch", ".a = 1", "select(", "if . then 1", '{"a" 1}', "\\"])
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(JqError):
        compile_jq(text)


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=5))
def test_sums_and_products_are_those_of_arithmetic(numbers):
    assert list(compile_jq(" + ".join(f"({n})" for n in numbers))(None)) == [sum(numbers)]
    assert list(compile_jq(" * ".join(f"({n})" for n in numbers))(None)) == [reduce(operator.mul, numbers)]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.lists(VALUES, max_size=6))
def test_sorting_orders_all_kinds_of_values(values):
    [ordered] = compile_jq("sort")(values)
    assert all(sort_key(one) <= sort_key(other) for one, other in pairwise(ordered))
    assert sorted(map(repr, ordered)) == sorted(map(repr, values))


@given(VALUES)
def test_identity_and_wrapping_change_nothing(value):
    assert list(compile_jq(".")(value)) == [value]
    assert list(compile_jq("[.] | .[0]")(value)) == [value]
    assert list(compile_jq("{a: .} | .a")(value)) == [value]
