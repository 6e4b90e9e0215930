from collections.abc import Callable
from dataclasses import replace

import pytest

from mockkube.matching import taints
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.taints import Outcome, TaintRules
from mockkube.proposals import kep_5471, kep_5721

_ALL = TaintRules({**kep_5471.COMPARISONS, **kep_5721.COMPARISONS}, ExpressionCache().compile_expression)


def _tolerates(toleration: dict[str, str], taint: dict[str, str], rules: TaintRules = _ALL) -> bool:
    return taints.compile_toleration(toleration, rules).tolerates(taint)


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        pytest.param({}, {"key": "a", "effect": "NoSchedule"}, True, id="an empty one equals an empty value"),
        pytest.param({}, {"key": "a", "value": "x", "effect": "NoSchedule"}, False, id="an empty one and a value"),
        pytest.param({"operator": "Exists"}, {"key": "a", "value": "x"}, True, id="everything exists"),
        pytest.param({"key": "b", "operator": "Exists"}, {"key": "a"}, False, id="another key"),
        pytest.param(
            {"key": "a", "operator": "Exists", "effect": "NoExecute"},
            {"key": "a", "effect": "NoSchedule"},
            False,
            id="another effect",
        ),
        pytest.param({"key": "a", "value": "x"}, {"key": "a", "value": "x", "effect": "NoSchedule"}, True, id="equal"),
        pytest.param({"key": "a", "operator": "Gt", "value": "5"}, {"key": "a", "value": "6"}, True, id="greater"),
        pytest.param({"key": "a", "operator": "Gt", "value": "5"}, {"key": "a", "value": "5"}, False, id="not greater"),
        pytest.param({"key": "a", "operator": "Lt", "value": "5"}, {"key": "a", "value": "-6"}, True, id="less"),
        pytest.param(
            {"key": "a", "operator": "Lt", "value": "5"}, {"key": "a", "value": "04"}, False, id="not canonical"
        ),
        pytest.param(
            {"key": "a", "operator": "SemverGt", "value": "1.9"},
            {"key": "a", "value": "v1.10.0"},
            True,
            id="version greater",
        ),
        pytest.param(
            {"key": "a", "operator": "SemverEq", "value": "1.2"},
            {"key": "a", "value": "1.2.0+b"},
            True,
            id="version equal",
        ),
        pytest.param(
            {"key": "a", "operator": "SemverLt", "value": "1.2"}, {"key": "a", "value": "bad"}, False, id="no version"
        ),
        pytest.param(
            {"key": "a", "operator": "gt", "value": "5"}, {"key": "a", "value": "6"}, False, id="unknown operator"
        ),
        pytest.param({"expression": "taint.key.startsWith('a')"}, {"key": "abc"}, True, id="an expression"),
        pytest.param(
            {"expression": "int(taint.value) > 1"}, {"key": "a", "value": "x"}, False, id="a failing expression"
        ),
    ],
)
def test_a_toleration_against_a_taint(toleration: dict[str, str], taint: dict[str, str], expected: bool) -> None:
    assert _tolerates(toleration, taint) is expected


@pytest.mark.parametrize(
    "toleration",
    [
        pytest.param({"key": "a", "operator": "Gt", "value": "5"}, id="numeric"),
        pytest.param({"key": "a", "operator": "SemverGt", "value": "5"}, id="version"),
        pytest.param({"expression": "true"}, id="expression"),
    ],
)
def test_a_component_without_the_gate_matches_nothing(toleration: dict[str, str]) -> None:
    assert not _tolerates(toleration, {"key": "a", "value": "6.0.0"}, TaintRules())


def test_an_operator_of_a_proposal_is_one_function() -> None:
    def prefix(value: str) -> Callable[[str], Outcome]:
        return lambda taint_value: taint_value.startswith(value)

    rules = TaintRules({"Prefix": prefix})
    assert _tolerates({"key": "a", "operator": "Prefix", "value": "zone-"}, {"key": "a", "value": "zone-1"}, rules)


def test_the_first_untolerated_taint_of_the_asked_effects_is_found() -> None:
    found = [{"key": "a", "effect": "PreferNoSchedule"}, {"key": "b", "effect": "NoSchedule"}]
    tolerations = taints.compile_tolerations([{"key": "c", "operator": "Exists"}], _ALL)
    assert taints.find_untolerated(found, tolerations, ("NoSchedule", "NoExecute")) == found[1]
    assert taints.find_untolerated(found, tolerations) == found[0]
    assert taints.find_untolerated(found, taints.compile_tolerations([{"operator": "Exists"}], _ALL)) is None


def _reported(toleration: dict[str, str], *matched: dict[str, str]) -> list[str]:
    """Return the lines that are logged when these taints are matched, up to the first that is not tolerated."""
    lines: list[str] = []
    rules = replace(_ALL, report=lambda outcome, taint: lines.append(taints.format_log_line(outcome, taint)))
    taints.find_untolerated(matched, taints.compile_tolerations([toleration], rules))
    return lines


@pytest.mark.parametrize(
    ("toleration", "value", "line"),
    [
        pytest.param(
            {"key": "a", "operator": "Gt", "value": "5"},
            "1.5",
            '"failed to parse taint value as int64" err="must be a valid decimal integer in canonical form" '
            'taint="1.5"',
            id="integer",
        ),
        pytest.param(
            {"key": "a", "operator": "SemverGt", "value": "1.2.3"},
            "high",
            '"failed to parse taint value as semantic version" err="Invalid character(s) found in major number '
            '\\"0high\\"" taint="high"',
            id="version",
        ),
        pytest.param(
            {"expression": "semver(taint.value).major() > 5"},
            "bad",
            '"failed to evaluate CEL expression of toleration" err="No Major.Minor.Patch elements found" '
            'expression="semver(taint.value).major() > 5" taint="a=bad:NoSchedule"',
            id="expression",
        ),
    ],
)
def test_what_cannot_be_read_is_reported_where_it_is_matched(toleration: dict[str, str], value: str, line: str) -> None:
    taint = {"key": "a", "value": value, "effect": "NoSchedule"}
    assert _reported(toleration, taint) == [line]


def test_nothing_is_reported_of_taints_behind_the_first_that_is_not_tolerated() -> None:
    toleration = {"key": "a", "operator": "Gt", "value": "5"}
    assert len(_reported(toleration, {"key": "a", "value": "x"}, {"key": "a", "value": "y"})) == 1


def test_a_value_that_is_read_is_not_reported_whether_it_matches_or_not() -> None:
    toleration = {"key": "a", "operator": "Gt", "value": "5"}
    assert _reported(toleration, {"key": "a", "value": "6"}, {"key": "a", "value": "4"}) == []


def test_many_tolerations_are_looked_up_by_their_keys() -> None:
    few = [{"key": f"k{number}", "operator": "Exists"} for number in range(90)]
    many = [{"key": f"k{number}", "operator": "Exists"} for number in range(5_000)]
    every = [{"operator": "Exists", "effect": "NoExecute"}]
    node = [{"key": f"k{number}", "effect": "NoSchedule"} for number in range(5_000)]
    for tolerations, untolerated in ((few, "k90"), (many, None), (many[1:], "k0"), (many + every, None)):
        compiled = taints.compile_tolerations(tolerations, _ALL)
        found = taints.find_untolerated(node, compiled)
        assert (found and found["key"]) == untolerated
    compiled = taints.compile_tolerations(many + every, _ALL)
    assert taints.find_untolerated([{"key": "other", "effect": "NoExecute"}], compiled) is None
