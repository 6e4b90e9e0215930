import pytest

from mockkube.api.fields import invalid
from mockkube.api.kinds.admissionregistration.admission_policy import (
    MutatingAdmissionPolicyStrategy,
    ValidatingAdmissionPolicyBindingStrategy,
    ValidatingAdmissionPolicyStrategy,
)

VALIDATING, MUTATING, BINDING = (
    ValidatingAdmissionPolicyStrategy(),
    MutatingAdmissionPolicyStrategy(),
    ValidatingAdmissionPolicyBindingStrategy(),
)
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [RULE]}


def policy(**spec):
    return {"metadata": {"name": "p"}, "spec": {"failurePolicy": "Fail", "matchConstraints": MATCH, **spec}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(policy(validations=[{"expression": "true"}]), [], id="fine"),
        pytest.param(
            policy(),
            [
                "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
                "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
            ],
            id="nothing to say",
        ),
        pytest.param(
            policy(validations=[{"expression": "true"}], variables=[{"name": "for", "expression": "1"}]),
            ['spec.variables[0].name: Invalid value: "for": must be a valid CEL identifier'],
            id="reserved word",
        ),
        pytest.param(
            policy(validations=[{"expression": "true", "message": "a\nb"}]),
            ['spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks'],
            id="two lines",
        ),
        pytest.param(
            policy(validations=[{"expression": "true"}], paramKind={"apiVersion": "a/b/c", "kind": "K"}),
            ['spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
            id="version",
        ),
    ],
)
def test_a_policy_that_judges_is_judged(judge, obj, complaints):
    assert [str(error) for error in VALIDATING.validate(obj, judge())] == complaints


def test_expressions_are_judged_by_the_compiler_handed_in(judge):
    strategy = ValidatingAdmissionPolicyStrategy(lambda text, at, purpose, obj: [invalid(at, text, purpose)])
    obj = policy(validations=[{"expression": "x", "messageExpression": "y"}])
    assert [error.detail for error in strategy.validate(obj, judge())] == ["validation", "message"]


@pytest.mark.parametrize(
    ("mutation", "fields"),
    [
        pytest.param({"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}, [], id="fine"),
        pytest.param({"patchType": "JSONPatch"}, ["spec.mutations[0].jsonPatch"], id="no patch"),
        pytest.param(
            {"patchType": "ApplyConfiguration", "jsonPatch": {"expression": "[]"}},
            ["spec.mutations[0].applyConfiguration", "spec.mutations[0].jsonPatch"],
            id="the other patch",
        ),
        pytest.param({"patchType": "Odd"}, ["spec.mutations[0].patchType"], id="unknown"),
    ],
)
def test_a_mutation_has_the_patch_of_its_type(judge, mutation, fields):
    obj = policy(mutations=[mutation], reinvocationPolicy="Never")
    assert [error.field for error in MUTATING.validate(obj, judge())] == fields


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        pytest.param({"policyName": "p", "validationActions": ["Deny"]}, [], id="fine"),
        pytest.param({"policyName": "p"}, ["spec.validationActions"], id="no action"),
        pytest.param(
            {"policyName": "p", "validationActions": ["Deny", "Warn"]}, ["spec.validationActions"], id="deny and warn"
        ),
        pytest.param(
            {"policyName": "p", "validationActions": ["Deny"], "paramRef": {}},
            ["spec.paramRef", "spec.paramRef.parameterNotFoundAction"],
            id="parameters of nothing",
        ),
    ],
)
def test_a_binding_is_judged(judge, spec, fields):
    assert [error.field for error in BINDING.validate({"metadata": {}, "spec": spec}, judge())] == fields
