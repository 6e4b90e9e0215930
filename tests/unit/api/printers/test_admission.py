from datetime import UTC, datetime

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.admissionregistration import admission_policy, columns

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "guard", "creationTimestamp": "2026-03-14T11:00:00Z"}


def test_webhooks_are_counted() -> None:
    obj = {"metadata": META, "webhooks": [{}, {}]}
    assert columns.WEBHOOK_CONFIGURATION.row(obj, NOW).cells == ["guard", 2, "60m"]


def test_rules_of_policies_are_counted() -> None:
    spec = {"validations": [{}], "mutations": [{}, {}], "paramKind": {"apiVersion": "g/v1", "kind": "Limit"}}
    obj = {"metadata": META, "spec": spec}
    assert admission_policy.VALIDATING_POLICY.row(obj, NOW).cells == ["guard", 1, "g/v1/Limit", "60m"]
    assert admission_policy.MUTATING_POLICY.row(obj, NOW).cells == ["guard", 2, "g/v1/Limit", "60m"]
    assert admission_policy.VALIDATING_POLICY.row({"metadata": META, "spec": {}}, NOW).cells[2] == "<unset>"


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        pytest.param(None, "<unset>", id="none"),
        pytest.param({"name": "p", "namespace": "n"}, "n/p", id="in a namespace"),
        pytest.param({"name": "p"}, "*/p", id="anywhere"),
        pytest.param(
            {"selector": {"matchLabels": {"b": "2", "a": "1"}}},
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{},}",
            id="by labels",
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}]}},
            "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}",
            id="by requirements",
        ),
    ],
)
def test_a_binding_names_its_parameters(reference: Object | None, shown: str) -> None:
    spec = {"policyName": "limits", **({"paramRef": reference} if reference else {})}
    assert columns.POLICY_BINDING.row({"metadata": META, "spec": spec}, NOW).cells == [
        "guard",
        "limits",
        shown,
        "60m",
    ]
