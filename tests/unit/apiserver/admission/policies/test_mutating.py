"""Policies that change what is written, over a registry."""

from dataclasses import replace

import pytest

from mockkube.api.errors import ApiError
from mockkube.apiserver.admission.policies.mutating import MutatingAdmissionPolicy

GROUP = "admissionregistration.k8s.io/v1"
SERVED = {
    "apiGroups": ["", "apps"],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps", "pods", "deployments"],
}


def applied(expression):
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patched(expression):
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def policy(*mutations, name="p", **spec):
    given = {"failurePolicy": "Fail", "reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": [SERVED]}}
    spec = {**given, "mutations": list(mutations), **spec}
    return {"apiVersion": GROUP, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}


def binding(policy_name="p", **spec):
    metadata, spec = {"name": f"{policy_name}-everywhere"}, {"policyName": policy_name, **spec}
    return {"apiVersion": GROUP, "kind": "MutatingAdmissionPolicyBinding", "metadata": metadata, "spec": spec}


def config(name="c", labels=None, **data):
    metadata = {"name": name, "namespace": "ns", "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def pod(**spec):
    containers = [{"name": "main", "image": "i", "env": [{"name": "A", "value": "1"}]}]
    spec = {"containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


@pytest.fixture
def caps(caps):
    return replace(caps, gates=caps.gates | {"MutatingAdmissionPolicy"})


@pytest.fixture
async def mutated(world):
    """Return what becomes of an object once these policies and bindings are there."""

    async def mutate(obj, *configured, rounds=1):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": {"team": "blue"}}}
        await world.put(namespace, *configured)
        request, plugin = world.creation(obj), MutatingAdmissionPolicy()
        for number in range(rounds):
            await plugin.admit_async(request, reinvocation=number > 0)
        return request.obj

    return mutate


async def complaint(mutated, *configured, about=None):
    with pytest.raises(ApiError) as caught:
        await mutated(about or config(), *configured)
    assert caught.value.details["causes"][0] == {"message": caught.value.message}
    return caught.value.message.partition(" denied request: ")[2]


async def test_an_object_that_an_expression_makes_is_merged(mutated):
    made = (
        "Object{metadata: Object.metadata{labels: {'b': object.data.x}},"
        " data: {'team': namespaceObject.metadata.labels.team}}"
    )
    found = await mutated(config(labels={"a": "1"}, x="y"), policy(applied(made)), binding())
    assert (found["metadata"]["labels"], found["data"]) == ({"a": "1", "b": "y"}, {"x": "y", "team": "blue"})


async def test_items_of_lists_are_merged_by_their_key_and_defaulted(mutated):
    made = (
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'side', image: 's'},"
        " Object.spec.containers{name: 'main', env: [Object.spec.containers.env{name: 'B', value: '2'}]}]}}"
    )
    found = await mutated(pod(), policy(applied(made)), binding())
    assert [(one["name"], one["image"], one["imagePullPolicy"]) for one in found["spec"]["containers"]] == [
        ("side", "s", "Always"),
        ("main", "i", "Always"),
    ]
    assert [one["name"] for one in found["spec"]["containers"][1]["env"]] == ["A", "B"]


async def test_patches_are_played_in_order_with_their_paths_escaped(mutated):
    made = (
        "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a~b'), value: 'x'},"
        " JSONPatch{op: 'move', from: '/data/x', path: '/data/y'}]"
    )
    found = await mutated(config(x="1"), policy(patched(made)), binding())
    assert found["data"] == {"a~b": "x", "y": "1"}


async def test_each_mutation_sees_what_the_one_before_left(mutated):
    count = "Object{data: {'n' + string(object.data.size()): 'x'}}"
    found = await mutated(config(a="1"), policy(applied(count), applied(count)), binding())
    assert sorted(found["data"]) == ["a", "n1", "n2"]


async def test_a_patch_whose_test_fails_changes_nothing(mutated):
    made = "[JSONPatch{op: 'test', path: '/data/a', value: '2'}, JSONPatch{op: 'remove', path: '/data/a'}]"
    assert (await mutated(config(a="1"), policy(patched(made)), binding()))["data"] == {"a": "1"}


@pytest.mark.parametrize(
    ("mutation", "said"),
    [
        pytest.param(
            applied("Object{data: {'a': object.data.b}}"),
            "expression 'Object{data: {'a': object.data.b}}' resulted in error: no such key: b",
            id="no value",
        ),
        pytest.param(
            applied("Object{data: Object.wrong{}}"),
            'type mismatch: unexpected type name "Object.wrong", expected "Object.data", which matches field name path'
            " from root Object type",
            id="the name of another type",
        ),
        pytest.param(
            applied("Object{foo: 1}"),
            "error applying patch: failed to convert patch object to typed object: .foo: field not declared in schema",
            id="an unknown field",
        ),
        pytest.param(
            patched("[JSONPatch{op: 'replace', path: '/nope/b', value: '1'}]"),
            "JSON Patch: replace operation does not apply: doc is missing path: /nope/b: missing value",
            id="a path that leads nowhere",
        ),
    ],
)
async def test_what_goes_wrong_is_held_against_the_request(mutated, mutation, said):
    assert await complaint(mutated, policy(mutation), binding(), about=config(a="1")) == said


async def test_a_list_that_would_be_replaced_as_a_whole_is_refused(mutated):
    made = "Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'a', operator: 'Exists'}]}}"
    said = await complaint(mutated, policy(applied(made)), binding(), about=pod())
    assert said == (
        "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs:"
        " .spec.tolerations"
    )


async def test_what_goes_wrong_is_passed_over_where_the_policy_says_so(mutated):
    given = policy(applied("Object{data: {'a': object.data.b}}"), failurePolicy="Ignore")
    assert (await mutated(config(a="1"), given, binding()))["data"] == {"a": "1"}


async def test_an_object_that_no_longer_decodes_is_an_error_of_the_server(mutated):
    with pytest.raises(ApiError) as caught:
        await mutated(config(), policy(patched("[JSONPatch{op: 'add', path: '/foo', value: 1}]")), binding())
    assert (caught.value.code, caught.value.message) == (
        500,
        'Internal error occurred: strict decoding error: unknown field "foo"',
    )


async def test_conditions_and_parameters_decide_what_is_changed(mutated):
    given = policy(
        applied("Object{data: {'said': params.data.word + variables.mark}}"),
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        variables=[{"name": "mark", "expression": "'!'"}],
        matchConditions=[{"name": "named", "expression": "object.metadata.name == 'c'"}],
    )
    by = binding(paramRef={"name": "words", "namespace": "ns", "parameterNotFoundAction": "Deny"})
    found = await mutated(config(), given, by, config("words", word="hello"))
    assert found["data"] == {"said": "hello!"}


async def test_a_request_that_does_not_meet_the_conditions_is_left_alone(mutated):
    given = policy(
        applied("Object{data: {'a': 'b'}}"),
        matchConditions=[{"name": "never", "expression": "object.metadata.name == 'd'"}],
    )
    assert "data" not in await mutated(config(), given, binding())


@pytest.mark.parametrize(("reinvocation", "count"), [("IfNeeded", "ii"), ("Never", "i")])
async def test_a_second_round_is_for_policies_that_ask_for_one(mutated, reinvocation, count):
    made = "Object{data: {'n': (has(object.data.n) ? object.data.n : '') + 'i'}}"
    found = await mutated(config(a="1"), policy(applied(made), reinvocationPolicy=reinvocation), binding(), rounds=2)
    assert found["data"]["n"] == count


async def test_what_configures_admission_is_left_alone(mutated):
    everything = {**SERVED, "apiGroups": ["*"], "resources": ["*"], "apiVersions": ["*"]}
    given = policy(
        applied("Object{metadata: Object.metadata{labels: {'a': 'b'}}}"),
        matchConstraints={"resourceRules": [everything]},
    )
    assert "labels" not in (await mutated(policy(applied("Object{}"), name="other"), given, binding()))["metadata"]
