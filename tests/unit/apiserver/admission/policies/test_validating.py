"""Policies that judge, over a registry."""

import pytest

from mockkube.api.errors import ApiError
from mockkube.apiserver.admission.policies.validating import ValidatingAdmissionPolicy
from mockkube.apiserver.registry.authorizer import Decision

GROUP = "admissionregistration.k8s.io/v1"
CONFIGS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
NAMES = "object.metadata.name.startsWith('ok')"


def policy(*validations, name="p", rules=(CONFIGS,), match=None, **spec):
    given = [one if isinstance(one, dict) else {"expression": one} for one in validations]
    constraints = {"resourceRules": list(rules), **(match or {})}
    spec = {"matchConstraints": constraints, "validations": given, "failurePolicy": "Fail", **spec}
    return {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}


def binding(name="b", *, actions=("Deny",), **spec):
    spec = {"policyName": "p", "validationActions": list(actions), **spec}
    return {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": spec}


def config(name="bad", namespace="ns", labels=None, **data):
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def namespace(name="ns", **labels):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


async def denial(world, *objs, request=None):
    """What is said of a config map, or of another request, once these objects are there."""
    await world.put(namespace(team="blue"), *objs)
    try:
        ValidatingAdmissionPolicy().validate(request or world.creation(config()))
    except ApiError as error:
        return error
    return None


def why(error):
    assert error is not None, "the request was let through"
    return error.message.partition(" denied request: ")[2]


async def test_a_denial_says_which_policy_and_binding_and_why(world):
    error = await denial(world, policy(NAMES), binding())
    said = f"ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: {NAMES}"
    assert error.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'configmaps "bad" is forbidden: {said}',
        "reason": "Invalid",
        "details": {"name": "bad", "kind": "configmaps", "causes": [{"message": said}]},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("validation", "said", "code"),
    [
        pytest.param({"message": " no "}, "no", 422, id="a message"),
        pytest.param({"messageExpression": "'not ' + object.metadata.name"}, "not bad", 422, id="a computed message"),
        pytest.param({"message": "no", "messageExpression": "'a\\nb'"}, "no", 422, id="computed in two lines"),
        pytest.param({"message": "no", "messageExpression": "object.metadata.nothing"}, "no", 422, id="not computed"),
        pytest.param({"message": "no", "reason": "Forbidden"}, "no", 403, id="a reason"),
    ],
)
async def test_a_validation_says_why_it_fails(world, validation, said, code):
    error = await denial(world, policy({"expression": "false", **validation}), binding())
    assert (why(error), error.code) == (said, code)


@pytest.mark.parametrize(
    "expression",
    [
        "object.data.size() == 0",
        "oldObject == null",
        "request.operation == 'CREATE' && request.kind.kind == 'ConfigMap'",
        "request.resource.resource == 'configmaps' && request.requestResource.version == 'v1'",
        "request.name == 'bad' && request.namespace == 'ns' && !has(request.subResource)",
        "request.userInfo.username == 'somebody' && !request.dryRun",
        "namespaceObject.metadata.labels.team == 'blue'",
        "object.apiVersion == 'v1' && object.kind == 'ConfigMap'",
    ],
)
async def test_expressions_speak_of_the_request(world, expression):
    request = world.creation({**config(), "data": {}})
    request.obj["data"] = {}
    assert await denial(world, policy(expression), binding(), request=request) is None


async def test_values_are_named_and_computed_once_asked_for(world):
    variables = [
        {"name": "size", "expression": "object.data.size()"},
        {"name": "big", "expression": "variables.size > 1"},
        {"name": "broken", "expression": "object.metadata.nothing.more"},
    ]
    given = policy({"expression": "!variables.big", "messageExpression": "string(variables.size)"}, variables=variables)
    request = world.creation(config(a="1", b="2"))
    assert why(await denial(world, given, binding(), request=request)) == "2"


@pytest.mark.parametrize(
    ("failure_policy", "said"),
    [
        ("Fail", "expression 'object.spec.size > 1' resulted in error: no such key: spec"),
        ("Ignore", None),
    ],
)
async def test_what_cannot_be_evaluated_fails_as_the_policy_says(world, failure_policy, said):
    error = await denial(world, policy("object.spec.size > 1", failurePolicy=failure_policy), binding())
    assert (error and why(error)) == said


@pytest.mark.parametrize(
    ("expression", "asked"),
    [
        pytest.param("authorizer.path('/x').check('get')", ("somebody", "get", "/x", "", ""), id="a path"),
        pytest.param(
            "authorizer.requestResource.check('create')",
            ("somebody", "create", None, "ns", "configmaps"),
            id="the request's own resource",
        ),
        pytest.param(
            "authorizer.serviceAccount('a', 'b').group('').resource('pods').subresource('log').namespace('c')"
            ".check('get')",
            ("system:serviceaccount:a:b", "get", None, "c", "pods/log"),
            id="a service account's",
        ),
    ],
)
async def test_an_expression_asks_what_somebody_may_do(world, expression, asked):
    questions = []

    def authorize(question):
        questions.append(question)
        return Decision(allowed=False, reason="for no reason")

    world.registry.dependencies.authorize = authorize
    validation = {"expression": f"{expression}.allowed()", "message": "not allowed"}
    assert why(await denial(world, policy(validation), binding())) == "not allowed"
    (one,) = questions
    assert (one.user.name, one.verb, one.path, one.namespace, one.combined_resource) == asked


async def test_more_than_two_checks_are_too_expensive(world):
    check = "!authorizer.path('/').check('get').allowed()"
    error = await denial(world, policy(" && ".join([check] * 3)), binding())
    assert why(error).endswith("resulted in error: operation cancelled: actual cost limit exceeded")


async def test_an_expression_that_takes_too_long_is_cut_short(world):
    many = f"[{', '.join(['0'] * 60)}]"
    error = await denial(world, policy(f"{many}.all(a, {many}.all(b, {many}.all(c, a + b + c == 0)))"), binding())
    assert why(error).endswith("resulted in error: operation cancelled: actual cost limit exceeded")


@pytest.mark.parametrize(
    ("given", "bound"),
    [
        pytest.param(policy("false", name="other"), binding(), id="no policy of the binding"),
        pytest.param(policy("false"), None, id="no binding of the policy"),
        pytest.param(policy("false", rules=[{**CONFIGS, "operations": ["UPDATE"]}]), binding(), id="another operation"),
        pytest.param(policy("false", rules=[{**CONFIGS, "resources": ["secrets"]}]), binding(), id="another resource"),
        pytest.param(policy("false", rules=[{**CONFIGS, "scope": "Cluster"}]), binding(), id="another scope"),
        pytest.param(policy("false", rules=[{**CONFIGS, "resourceNames": ["x"]}]), binding(), id="another name"),
        pytest.param(policy("false", rules=[{**CONFIGS, "resources": ["*/status"]}]), binding(), id="a subresource"),
        pytest.param(policy("false", match={"excludeResourceRules": [CONFIGS]}), binding(), id="excluded"),
        pytest.param(
            policy("false", match={"namespaceSelector": {"matchLabels": {"team": "red"}}}), binding(), id="elsewhere"
        ),
        pytest.param(
            policy("false", match={"objectSelector": {"matchLabels": {"a": "b"}}}), binding(), id="another object"
        ),
        pytest.param(
            policy("false"),
            binding(matchResources={"namespaceSelector": {"matchLabels": {"team": "red"}}}),
            id="bound elsewhere",
        ),
        pytest.param(
            policy("false", matchConditions=[{"name": "c", "expression": "request.name != 'bad'"}]),
            binding(),
            id="a condition that is not met",
        ),
    ],
)
async def test_a_policy_is_only_for_what_it_matches(world, given, bound):
    assert await denial(world, given, *([bound] if bound else [])) is None


@pytest.mark.parametrize(
    "match",
    [
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, id="the namespace"),
        pytest.param({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}, id="labels"),
        pytest.param({"excludeResourceRules": [{**CONFIGS, "resourceNames": ["x"]}]}, id="excluded are others"),
    ],
)
async def test_a_policy_is_for_what_it_matches(world, match):
    assert why(await denial(world, policy("false", match=match), binding())) == "failed expression: false"


async def test_a_condition_without_value_counts_as_the_policy_says(world):
    conditions = [{"name": "c", "expression": "object.metadata.nothing == 1"}]
    error = await denial(world, policy("true", matchConditions=conditions), binding())
    assert why(error).startswith("expression 'object.metadata.nothing == 1' resulted in error: no such key")


@pytest.mark.parametrize(("policy_of_match", "denied"), [("Equivalent", True), ("Exact", False)])
async def test_other_versions_of_a_resource_count_where_they_are_equivalent(world, policy_of_match, denied):
    rule = {**CONFIGS, "apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"]}
    given = policy(
        "object.spec.targetCPUUtilizationPercentage > 90 && request.kind.version == 'v1'",
        rules=[rule],
        match={"matchPolicy": policy_of_match},
    )
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    spec = {
        "maxReplicas": 2,
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "metrics": [{"type": "Resource", "resource": cpu}],
    }
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    scaler = {**kind, "metadata": {"name": "h", "namespace": "ns"}, "spec": spec}
    error = await denial(world, given, binding(), request=world.creation(scaler))
    assert (error is not None) == denied


async def test_a_deletion_is_judged_by_what_is_deleted(world):
    given = policy({"expression": "object == null && oldObject.metadata.name != 'bad'", "message": "keep it"})
    assert why(await denial(world, given, binding(), request=world.deletion(config()))) == "keep it"


async def test_a_namespace_is_in_itself(world):
    rule = {**CONFIGS, "resources": ["namespaces"], "scope": "Cluster"}
    given = policy(
        "request.namespace == 'new' && namespaceObject == null && false",
        rules=[rule],
        match={"namespaceSelector": {"matchLabels": {"team": "new"}}},
    )
    assert await denial(world, given, binding(), request=world.creation(namespace("new", team="new"))) is not None


async def test_what_configures_admission_is_not_judged_by_it(world):
    rule = {**CONFIGS, "apiGroups": ["*"], "resources": ["*"]}
    assert await denial(world, policy("false", rules=[rule]), binding(), request=world.creation(binding("c"))) is None


async def test_a_failure_may_only_be_warned_of(world):
    request = world.creation(config())
    assert await denial(world, policy("false"), binding(actions=("Warn", "Audit")), request=request) is None
    said = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: false"
    assert request.scope.warnings == [said]


PARAMS = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
LIMIT = {"expression": "object.data.size() <= int(params.data.limit)", "messageExpression": "string(params.data.limit)"}


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        pytest.param({"name": "low", "parameterNotFoundAction": "Deny"}, "1", id="by name"),
        pytest.param({"name": "high", "parameterNotFoundAction": "Deny"}, None, id="that allow it"),
        pytest.param(
            {"selector": {"matchLabels": {"limit": "yes"}}, "parameterNotFoundAction": "Deny"}, "1", id="by label"
        ),
        pytest.param(
            {"name": "none", "parameterNotFoundAction": "Deny"},
            "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
            id="that are missing",
        ),
        pytest.param({"name": "none", "parameterNotFoundAction": "Allow"}, None, id="that may be missing"),
        pytest.param({"name": "low", "namespace": "other", "parameterNotFoundAction": "Allow"}, None, id="elsewhere"),
    ],
)
async def test_a_policy_has_the_parameters_its_binding_refers_to(world, reference, said):
    await world.put(
        config("low", labels={"limit": "yes"}, limit="1"), config("high", labels={"limit": "yes"}, limit="9")
    )
    request = world.creation(config(a="1", b="2"))
    error = await denial(world, policy(LIMIT, **PARAMS), binding(paramRef=reference), request=request)
    assert (error and why(error)) == said


async def test_parameters_of_a_kind_nobody_serves_are_a_mistake_of_the_policy(world):
    given = policy("true", paramKind={"apiVersion": "example.com/v1", "kind": "Limit"})
    said = "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'"
    error = await denial(world, given, binding())
    assert why(error) == said
    assert "with binding" not in error.message


async def test_a_policy_that_changes_judges_anew(world):
    plugin = ValidatingAdmissionPolicy()
    await world.put(namespace(), policy("true"), binding())
    plugin.validate(world.creation(config()))
    resource = world.registry.resources["admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"]
    await world.change(resource, "p", lambda obj: obj["spec"]["validations"][0].update(expression="false"))
    with pytest.raises(ApiError):
        plugin.validate(world.creation(config()))
