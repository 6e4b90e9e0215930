import pytest

from mockkube.api.errors import BadRequest, Invalid, NotFound
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.http.handlers import reviews
from mockkube.apiserver.identity.user import MASTERS_GROUP, User

AUTHENTICATION, AUTHORIZATION = "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1"
PODS = {"verb": "get", "resource": "pods", "namespace": "ns"}
JANE = User("jane", uid="u", groups=("system:authenticated",), extra={"k": ("v",)})


@pytest.fixture
def ask(registry, post):
    tokens = {"secret": User("admin", groups=(MASTERS_GROUP,))}
    table = reviews.review_handlers(registry, Authorizer(registry), Authenticator(tokens))

    async def ask(path, body, **more):
        exchange, target = post(path, body, **more)
        return await table[target.group, target.resource](exchange, target)

    return ask


@pytest.fixture
def answer(ask, post):
    async def answer(path, body, **more):
        response = await ask(path, body, **more)
        assert response.status == 201
        return post.answer(response)

    return answer


async def test_a_user_learns_who_they_are(answer):
    said = await answer(f"{AUTHENTICATION}/selfsubjectreviews", {}, user=JANE)
    info = {"username": "jane", "uid": "u", "groups": ["system:authenticated"], "extra": {"k": ["v"]}}
    assert said["status"] == {"userInfo": info}
    assert (said["kind"], said["apiVersion"]) == ("SelfSubjectReview", "authentication.k8s.io/v1")
    assert said["metadata"].keys() == {"creationTimestamp"}


async def test_a_token_is_said_to_be_whose_it_is(answer):
    said = await answer(f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": "secret"}})
    user = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
    audiences = ["https://kubernetes.default.svc"]
    assert said["status"] == {"authenticated": True, "user": user, "audiences": audiences}


async def test_a_token_that_is_not_good_is_answered_not_refused(answer):
    said = await answer(f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": "wrong"}})
    assert said["status"] == {"user": {}, "error": "invalid bearer token"}


async def test_a_review_of_no_token_is_refused(ask):
    with pytest.raises(BadRequest, match="token is required for TokenReview in authentication"):
        await ask(f"{AUTHENTICATION}/tokenreviews", {"spec": {}})


async def test_an_administrator_may_do_what_they_ask_about(answer):
    spec = {"resourceAttributes": PODS}
    said = await answer(f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": spec})
    assert (said["spec"], said["status"]) == (spec, {"allowed": True})


async def test_somebody_else_is_asked_about(answer):
    spec = {"user": "jane", "resourceAttributes": PODS}
    said = await answer(f"{AUTHORIZATION}/subjectaccessreviews", {"spec": spec, "status": {"allowed": True}})
    assert said["status"] == {"allowed": False}


async def test_a_local_question_is_put_into_its_namespace(answer):
    spec = {"user": "jane", "resourceAttributes": PODS}
    said = await answer(f"{AUTHORIZATION}/namespaces/ns/localsubjectaccessreviews", {"spec": spec})
    assert said["metadata"]["namespace"] == "ns"


async def test_a_question_without_sense_is_invalid_and_has_no_kind(ask):
    with pytest.raises(Invalid) as refused:
        await ask(f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": {}})
    assert refused.value.message.startswith('.authorization.k8s.io "" is invalid: spec.resourceAttributes')


async def test_the_rules_of_a_user_are_told(answer):
    said = await answer(f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {"namespace": "ns"}}, user=JANE)
    assert said["status"] == {"resourceRules": [], "nonResourceRules": [], "incomplete": False}
    assert said["spec"] == {}


async def test_rules_are_told_for_a_namespace_only(ask):
    with pytest.raises(BadRequest, match="no namespace on request"):
        await ask(f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {}})


@pytest.mark.parametrize(
    ("validation", "warnings"),
    [
        pytest.param("Warn", ['299 - "unknown field \\"spec.nosuch\\""'], id="told"),
        pytest.param("Ignore", [], id="passed over"),
    ],
)
async def test_unknown_fields_are_told_as_the_client_wants_it(ask, validation, warnings):
    body = {"spec": {"resourceAttributes": PODS, "nosuch": 1}}
    query = {"fieldValidation": [validation], "dryRun": ["All"]}
    response = await ask(f"{AUTHORIZATION}/selfsubjectaccessreviews", body, query=query)
    assert response.headers.getall("Warning", []) == warnings


async def test_unknown_fields_are_refused_by_who_wants_it_strict(ask):
    body = {"spec": {"resourceAttributes": PODS, "nosuch": 1}}
    with pytest.raises(BadRequest, match=r'strict decoding error: unknown field "spec\.nosuch"'):
        await ask(f"{AUTHORIZATION}/selfsubjectaccessreviews", body, query={"fieldValidation": ["Strict"]})


async def test_another_kind_is_refused(ask):
    with pytest.raises(BadRequest, match="cannot be handled as a SelfSubjectAccessReview"):
        await ask(f"{AUTHORIZATION}/selfsubjectaccessreviews", {"kind": "Pod", "apiVersion": "v1"})


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(f"{AUTHORIZATION}/selfsubjectaccessreviews/x", id="below a name"),
        pytest.param(f"{AUTHORIZATION}/namespaces/ns/selfsubjectaccessreviews", id="in a namespace"),
        pytest.param(f"{AUTHORIZATION}/localsubjectaccessreviews", id="outside of one"),
    ],
)
async def test_questions_are_asked_at_one_place(ask, path):
    with pytest.raises(NotFound):
        await ask(path, {})


async def test_an_answer_comes_in_yaml_to_who_wants_that(ask):
    body = {"spec": {"resourceAttributes": PODS}}
    response = await ask(f"{AUTHORIZATION}/selfsubjectaccessreviews", body, Accept="application/yaml")
    assert response.content_type == "application/yaml"
    assert b"allowed: true" in response.body


async def test_a_binding_may_be_posted_to_the_namespace_of_its_pod(ask):
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    with pytest.raises(NotFound, match='pods "p" not found'):
        await ask("/api/v1/namespaces/ns/bindings", binding)
