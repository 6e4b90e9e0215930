"""What the server says of the expressions of policies and webhooks."""

import pytest

from mockkube.apiserver.admission.policies.expressions import (
    BOOL,
    ExpressionScope,
    compile_expression,
    validate_expression,
)

POLICY = {
    "kind": "ValidatingAdmissionPolicy",
    "spec": {"variables": [{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 1"}]},
}
WEBHOOKS = {"kind": "ValidatingWebhookConfiguration", "webhooks": []}
AT = "spec.validations[0].expression"


@pytest.mark.parametrize(
    ("expression", "purpose", "obj", "complaint"),
    [
        pytest.param("object.spec.replicas <= 3", "validation", POLICY, None, id="a test"),
        pytest.param("variables.b == 2", "validation", POLICY, None, id="of a named value"),
        pytest.param("1", "validation", POLICY, "must evaluate to bool but got int", id="a number"),
        pytest.param("object.spec", "validation", POLICY, "must evaluate to bool but got dyn", id="anything"),
        pytest.param("'a'", "message", POLICY, None, id="a text"),
        pytest.param("1", "message", POLICY, "must evaluate to string but got int", id="a number for a text"),
        pytest.param("null", "auditAnnotation", POLICY, None, id="nothing"),
        pytest.param(
            "1", "auditAnnotation", POLICY, "must evaluate to one of [string null_type] but got int", id="neither"
        ),
        pytest.param("params.x == 1", "validation", POLICY, "undeclared reference to 'params'", id="no parameters"),
        pytest.param(
            "params.x == 1", "validation", {**POLICY, "spec": {"paramKind": {}}}, None, id="parameters there are"
        ),
        pytest.param("variables.b == 2", "matchCondition", WEBHOOKS, "undeclared reference", id="a webhook has none"),
        pytest.param("request.nothing == 1", "matchCondition", WEBHOOKS, "undefined field 'nothing'", id="no field"),
        pytest.param(
            "authorizer.path('/').check('get').allowed()", "matchCondition", WEBHOOKS, None, id="what one may do"
        ),
        pytest.param(
            "string(authorizer.path('/').check('get').allowed())",
            "message",
            POLICY,
            "undeclared reference to 'authorizer'",
            id="not in messages",
        ),
    ],
)
def test_an_expression_speaks_of_what_is_there_and_yields_what_is_wanted(expression, purpose, obj, complaint):
    errors = validate_expression(expression, AT, purpose, obj)
    assert [complaint is not None and complaint in error.detail for error in errors] == [True] * len(errors)
    assert bool(errors) == (complaint is not None)


@pytest.mark.parametrize(
    ("expression", "purpose", "complaint"),
    [
        pytest.param("Object{spec: Object.spec{a: [1]}}", "applyConfiguration", None, id="an object"),
        pytest.param("object", "applyConfiguration", "must evaluate to Object but got dyn", id="anything"),
        pytest.param("Object.spec{}", "applyConfiguration", "must evaluate to Object but got Object.spec", id="a part"),
        pytest.param("[JSONPatch{op: 'add', value: 1}]", "jsonPatch", None, id="patches"),
        pytest.param("[]", "jsonPatch", "must evaluate to list(JSONPatch) but got list(dyn)", id="no patches"),
        pytest.param(
            "[JSONPatch{op: 1}]", "jsonPatch", "expected type of field 'op' is 'string'", id="a field of a wrong type"
        ),
        pytest.param("Object{} == Object{}", "matchCondition", "undeclared reference to 'Object'", id="elsewhere"),
    ],
)
def test_only_mutations_write_out_objects_and_patches(expression, purpose, complaint):
    obj = {"kind": "MutatingAdmissionPolicy", "spec": {}}
    errors = validate_expression(expression, "spec.mutations[0].x.expression", purpose, obj)
    assert [complaint is not None and complaint in error.detail for error in errors] == [True] * len(errors)
    assert bool(errors) == (complaint is not None)


def test_a_named_value_sees_those_before_it():
    (error,) = validate_expression("variables.b", "spec.variables[1].expression", "variable", POLICY)
    assert "undefined field 'b'" in error.detail
    assert validate_expression("variables.a", "spec.variables[1].expression", "variable", POLICY) == []


def test_an_expression_is_compiled_once():
    assert compile_expression("1 == 1", ExpressionScope(), BOOL) is compile_expression(
        "1 == 1", ExpressionScope(), BOOL
    )
