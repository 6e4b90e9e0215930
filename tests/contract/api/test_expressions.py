"""Every kind that holds expressions has them compiled by the server, whoever lends the compiler."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")
BROKEN = "1 +"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
RULES = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}
HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://example.com"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "matchConditions": [{"name": "c", "expression": BROKEN}],
}
SCHEMA = {"type": "object", "x-kubernetes-validations": [{"rule": BROKEN}]}


@pytest.mark.parametrize(
    ("path", "rest", "at"),
    [
        pytest.param(
            "/apis/resource.k8s.io/v1/deviceclasses",
            {"spec": {"selectors": [{"cel": {"expression": BROKEN}}]}},
            "spec.selectors[0].cel.expression",
            id="devices",
        ),
        pytest.param(
            f"{POLICIES}/validatingadmissionpolicies",
            {"spec": {"matchConstraints": RULES, "validations": [{"expression": BROKEN}]}},
            "spec.validations[0].expression",
            id="policies",
        ),
        pytest.param(
            f"{POLICIES}/validatingwebhookconfigurations",
            {"webhooks": [HOOK]},
            "webhooks[0].matchConditions[0].expression",
            id="webhooks",
        ),
        pytest.param(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            {
                "metadata": {"name": "things.example.com"},
                "spec": {
                    "group": "example.com",
                    "names": {"plural": "things", "kind": "Thing"},
                    "scope": "Cluster",
                    "versions": [
                        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
                    ],
                },
            },
            "spec.validation.openAPIV3Schema.x-kubernetes-validations[0].rule",
            id="definitions",
        ),
    ],
)
async def test_an_expression_that_does_not_compile_is_refused(api: "Api", path: str, rest: Object, at: str) -> None:
    answer = await api.ask("POST", path, {"metadata": {"name": "broken"}, **rest})
    assert answer.status == 422, answer.body
    assert any(cause["field"].endswith(at.rpartition(".")[2]) for cause in answer.json["details"]["causes"])
    assert "Syntax error" in answer.message
