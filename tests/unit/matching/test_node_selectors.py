from typing import Any

import pytest

from mockkube.matching import node_selectors
from mockkube.proposals.kep_5721 import COMPARISONS as SEMVER

_LABELS = {"zone": "a", "gen": "5", "kernel": "5.15.0", "empty": ""}


def _requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        pytest.param(_requirement("zone", "In", "a", "b"), True, id="in"),
        pytest.param(_requirement("absent", "In", "a"), False, id="absent is in nothing"),
        pytest.param(_requirement("zone", "NotIn", "b"), True, id="not in"),
        pytest.param(_requirement("absent", "NotIn", "b"), True, id="absent is not in anything"),
        pytest.param(_requirement("empty", "Exists"), True, id="exists though empty"),
        pytest.param(_requirement("absent", "DoesNotExist"), True, id="does not exist"),
        pytest.param(_requirement("gen", "Gt", "4"), True, id="greater"),
        pytest.param(_requirement("gen", "Lt", "05"), False, id="not less than itself"),
        pytest.param(_requirement("zone", "Gt", "4"), False, id="a label that is no number"),
        pytest.param(_requirement("kernel", "SemverGt", "5.4"), True, id="version greater"),
        pytest.param(_requirement("kernel", "SemverLt", "5.4"), False, id="version less"),
        pytest.param(_requirement("kernel", "SemverEq", "v5.15"), True, id="version equal"),
        pytest.param(_requirement("zone", "SemverEq", "1.0.0"), False, id="a label that is no version"),
    ],
)
def test_a_requirement_against_labels(requirement: dict[str, Any], expected: bool) -> None:
    selector = node_selectors.compile_terms([{"matchExpressions": [requirement]}], SEMVER)
    assert selector.errors == []
    assert selector.matches(_LABELS) is expected


def test_terms_are_alternatives_and_requirements_are_not() -> None:
    both = {"matchExpressions": [_requirement("zone", "In", "a"), _requirement("gen", "Lt", "5")]}
    one = {"matchExpressions": [_requirement("zone", "In", "a")]}
    assert not node_selectors.compile_terms([both], {}).matches(_LABELS)
    assert node_selectors.compile_terms([both, one], {}).matches(_LABELS)


def test_an_empty_term_selects_nothing() -> None:
    assert not node_selectors.compile_terms([{}, {"matchExpressions": []}], {}).matches(_LABELS)


def test_names_are_matched_unless_the_node_has_none() -> None:
    selector = node_selectors.compile_terms([{"matchFields": [_requirement("metadata.name", "In", "n1")]}], {})
    assert selector.matches({}, "n1")
    assert not selector.matches({}, "n2")
    assert selector.matches({}, "")


def test_a_bad_term_never_matches_and_says_why_while_others_do() -> None:
    terms = [
        {"matchExpressions": [_requirement("gen", "Gt", "x")]},
        {"matchExpressions": [_requirement("zone", "In", "a")]},
    ]
    selector = node_selectors.compile_terms(terms, {})
    assert selector.matches(_LABELS)
    assert selector.errors == [
        'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "x": '
        "for 'Gt', 'Lt' operators, the value must be an integer"
    ]


def test_an_operator_behind_a_gate_is_unknown_without_it() -> None:
    terms = [{"matchExpressions": [_requirement("kernel", "SemverGt", "5.4")]}]
    plain = node_selectors.compile_terms(terms, {})
    gated = node_selectors.compile_terms(terms, SEMVER)
    assert not plain.matches(_LABELS)
    assert "Unsupported value" in plain.errors[0]
    assert gated.matches(_LABELS)


def test_operators_are_shown_as_json_shows_them() -> None:
    selector = node_selectors.compile_terms([{"matchExpressions": [_requirement("gen", ">", "1")]}], {})
    assert 'Unsupported value: "\\u003e"' in selector.errors[0]


def test_errors_are_joined_once_each() -> None:
    assert node_selectors.aggregate_errors(["a", "b", "a"]) == "[a, b]"
    assert node_selectors.aggregate_errors(["a", "a"]) == "a"


def test_the_score_is_the_sum_of_the_weights_that_match() -> None:
    zone, generation = _requirement("zone", "In", "a"), _requirement("gen", "Lt", "3")
    terms = [
        {"weight": 50, "preference": {"matchExpressions": [zone]}},
        {"weight": 30, "preference": {"matchExpressions": [generation]}},
        {"weight": 0, "preference": {"matchExpressions": [_requirement("gen", "Gt", "not parsed at all")]}},
    ]
    selector = node_selectors.compile_preferred(terms, {})
    assert selector.errors == []
    assert selector.score(_LABELS) == 50
