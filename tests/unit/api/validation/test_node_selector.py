"""Node selectors of pods and volumes."""

import pytest

from mockkube.api.validation.extensions import OperatorRule, ValidationExtensions, reject_requirement_operator
from mockkube.api.validation.node_selector import (
    NodeSelectorOptions,
    get_node_selector_term_warnings,
    has_invalid_values,
    validate_node_selector,
)


def judge(requirement, rules=NodeSelectorOptions(), kind="matchExpressions"):  # noqa: B008 - frozen
    selector = {"nodeSelectorTerms": [{kind: [requirement]}]}
    errors = validate_node_selector(selector, "s", rules)
    return [f"{error.field.removeprefix(f's.nodeSelectorTerms[0].{kind}[0].')}: {error.message}" for error in errors]


@pytest.mark.parametrize(
    ("requirement", "says"),
    [
        pytest.param({"key": "a", "operator": "In", "values": ["b"]}, [], id="in"),
        pytest.param({"key": "a", "operator": "Gt", "values": ["x"]}, [], id="the value of Gt is not judged"),
        pytest.param(
            {"key": "a", "operator": "Lt", "values": ["1", "2"]},
            ["values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"],
            id="two values to compare with",
        ),
        pytest.param(
            {"key": "a", "operator": "DoesNotExist", "values": ["1"]},
            ["values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
            id="values of what does not exist",
        ),
        pytest.param(
            {"key": "a", "operator": "Odd"},
            ['operator: Invalid value: "Odd": not a valid selector operator'],
            id="unknown operator",
        ),
    ],
)
def test_requirements_on_labels(requirement, says):
    assert judge(requirement) == says


@pytest.mark.parametrize(
    ("requirement", "says"),
    [
        pytest.param({"key": "metadata.name", "operator": "In", "values": ["n"]}, [], id="by name"),
        pytest.param(
            {"key": "metadata.name", "operator": "In", "values": ["n", "m"]},
            [
                "values: Required value: "
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            ],
            id="two names",
        ),
        pytest.param(
            {"key": "spec.x", "operator": "Exists"},
            [
                'operator: Invalid value: "Exists": not a valid selector operator',
                'key: Invalid value: "spec.x": not a valid field selector key',
            ],
            id="other field, other operator",
        ),
    ],
)
def test_requirements_on_fields(requirement, says):
    assert judge(requirement, kind="matchFields") == says


def test_a_selector_has_a_term():
    (error,) = validate_node_selector({"nodeSelectorTerms": None}, "s", NodeSelectorOptions())
    assert str(error) == "s.nodeSelectorTerms: Required value: must have at least one node selector term"


def test_values_no_label_can_have_are_kept_where_they_were_stored():
    requirement = {"key": "a", "operator": "In", "values": ["b c"]}
    assert has_invalid_values([{"matchExpressions": [requirement]}])
    assert judge(requirement)
    assert judge(requirement, NodeSelectorOptions(allow_invalid_values=True)) == []


def test_an_operator_of_a_proposal_depends_on_its_gate():
    rule = OperatorRule("G", lambda requirement, at: [], reject_requirement_operator)
    extensions = ValidationExtensions(node_selectors={"Newer": rule})
    requirement = {"key": "a", "operator": "Newer", "values": ["1.2"]}
    assert judge(requirement, NodeSelectorOptions(extensions=extensions, allowed=frozenset({"G"}))) == []
    assert judge(requirement, NodeSelectorOptions(extensions=extensions)) == [
        'operator: Invalid value: "Newer": not a valid selector operator'
    ]


def test_deprecated_labels_and_impossible_values_are_warned_of():
    term = {"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "In", "values": ["a b"]}]}
    first, second = get_node_selector_term_warnings(term, "t", check_values=True)
    assert first == (
        't.matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead'
    )
    assert second.startswith("t.matchExpressions[0].values[0]: a b is invalid, a valid label must be")
