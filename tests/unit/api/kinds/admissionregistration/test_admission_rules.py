import pytest

from mockkube.api.kinds.admissionregistration.admission_rules import (
    accept_expression,
    validate_match_conditions,
    validate_match_resources,
    validate_rule,
)

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


@pytest.mark.parametrize(
    ("rule", "complaints"),
    [
        pytest.param(RULE, [], id="fine"),
        pytest.param(
            {**RULE, "operations": ["*", "CREATE"]},
            ['r.operations: Invalid value: ["*","CREATE"]: if \'*\' is present, must not specify other operations'],
            id="all operations and one",
        ),
        pytest.param(
            {**RULE, "resources": ["pods/*", "pods/status"]},
            ["r.resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status"],
            id="all parts and one",
        ),
        pytest.param(
            {**RULE, "resources": ["*", "pods"]},
            [
                'r.resources: Invalid value: ["*","pods"]: if \'*\' is present, must not specify other resources '
                "without subresources"
            ],
            id="all resources and one",
        ),
        pytest.param({**RULE, "apiVersions": []}, ["r.apiVersions: Required value"], id="no versions"),
        pytest.param(
            {**RULE, "scope": "Odd"},
            ['r.scope: Unsupported value: "Odd": supported values: "*", "Cluster", "Namespaced"'],
            id="scope",
        ),
    ],
)
def test_rules_are_judged(rule, complaints):
    assert [str(error) for error in validate_rule(rule, "r")] == complaints


def test_a_match_says_everything():
    assert [error.field for error in validate_match_resources({}, "m")] == [
        "m.matchPolicy",
        "m.namespaceSelector",
        "m.objectSelector",
    ]


def test_conditions_have_names_and_expressions():
    conditions = [{"name": "a", "expression": "true"}, {"name": "a", "expression": " "}]
    assert [str(error) for error in validate_match_conditions(conditions, "c", {}, accept_expression)] == [
        "c[1].expression: Required value",
        'c[1].name: Duplicate value: "a"',
    ]
