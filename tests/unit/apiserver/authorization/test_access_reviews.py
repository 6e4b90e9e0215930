import pytest

from mockkube.apiserver.authorization import access_reviews
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import Decision

RESOURCE = {"verb": "get", "resource": "pods", "namespace": "ns"}
PATH = {"path": "/x", "verb": "get"}
AT = "spec.resourceAttributes"


def complaints(kind="SubjectAccessReview", *, metadata=None, **spec):
    review = {"kind": kind, "metadata": metadata or {}, "spec": spec}
    return [str(error) for error in access_reviews.validate_review(review)]


def test_a_question_about_a_user_and_a_resource_is_valid():
    assert complaints(user="jane", resourceAttributes=RESOURCE) == []
    assert complaints(groups=["devs"], nonResourceAttributes=PATH) == []
    assert complaints("SelfSubjectAccessReview", resourceAttributes=RESOURCE) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"user": "jane"},
            [
                f"{AT}: Invalid value: null: "
                "exactly one of nonResourceAttributes or resourceAttributes must be specified"
            ],
            id="nothing asked",
        ),
        pytest.param(
            {"resourceAttributes": RESOURCE},
            ['spec.user: Invalid value: "": at least one of user or group must be specified'],
            id="nobody named",
        ),
        pytest.param(
            {"user": "jane", "resourceAttributes": RESOURCE, "nonResourceAttributes": PATH},
            [
                'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: '
                "cannot be specified in combination with resourceAttributes"
            ],
            id="two things asked",
        ),
        pytest.param(
            {"user": "jane", "resourceAttributes": {"fieldSelector": {}}},
            [
                f"{AT}.fieldSelector.requirements: Required value: when {AT}.fieldSelector is specified, "
                "requirements or rawSelector is required"
            ],
            id="an empty selector",
        ),
        pytest.param(
            {"user": "jane", "resourceAttributes": {"fieldSelector": {"requirements": [{"operator": "In"}]}}},
            [
                f"{AT}.fieldSelector.requirements[0].key: Required value: must be specified",
                f"{AT}.fieldSelector.requirements[0].values: Required value: must be specified when `operator` is "
                "'In' or 'NotIn'",
            ],
            id="a requirement of nothing",
        ),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(spec, expected):
    assert complaints(**spec) == expected


def test_a_question_is_not_an_object():
    text = 'metadata: Invalid value: {"name":"x"}: must be empty'
    assert complaints(metadata={"name": "x"}, user="jane", resourceAttributes=RESOURCE) == [text]


def test_a_local_question_is_about_its_namespace():
    local = "LocalSubjectAccessReview"
    asked = {"user": "jane", "resourceAttributes": RESOURCE}
    assert complaints(local, metadata={"namespace": "ns"}, **asked) == []
    text = f'{AT}.namespace: Invalid value: "ns": must match metadata.namespace'
    assert complaints(local, metadata={"namespace": "other"}, **asked) == [text]
    path = complaints(local, metadata={"namespace": "ns"}, user="jane", nonResourceAttributes=PATH)
    shown = '{"Path":"/x","Verb":"get"}'
    assert path == [f"spec.nonResourceAttributes: Invalid value: {shown}: disallowed on this kind of request"]


def test_what_a_question_asks_of_the_authorizer():
    spec = {"user": "jane", "uid": "u", "groups": ["devs"], "extra": {"k": ["v"]}, "resourceAttributes": RESOURCE}
    user = access_reviews.review_user(spec)
    assert user == User("jane", uid="u", groups=("devs",), extra={"k": ("v",)})
    asked = access_reviews.to_attributes(user, spec)
    assert (asked.verb, asked.resource, asked.namespace, asked.path) == ("get", "pods", "ns", None)
    assert access_reviews.to_attributes(user, {"nonResourceAttributes": PATH}).path == "/x"


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param({"rawSelector": "spec.nodeName=n1"}, id="as text"),
        pytest.param({"requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["n1"]}]}, id="as a list"),
    ],
)
def test_a_field_selector_limits_what_is_asked(selector):
    spec = {"resourceAttributes": {**RESOURCE, "fieldSelector": selector}}
    assert [str(one) for one in access_reviews.to_attributes(User("jane"), spec).field_requirements] == [
        "spec.nodeName=n1"
    ]


GOOD = {"key": "a", "operator": "In", "values": ["b"]}
BAD = {"key": "a", "operator": "Like", "values": ["b"]}


@pytest.mark.parametrize(
    ("selectors", "error"),
    [
        pytest.param({"fieldSelector": {"requirements": [GOOD]}}, None, id="what can be read"),
        pytest.param(
            {"fieldSelector": {"requirements": [GOOD, BAD]}},
            f"{AT}.fieldSelector partially ignored due to parse error",
            id="a part",
        ),
        pytest.param(
            {"fieldSelector": {"rawSelector": "a"}, "labelSelector": {"rawSelector": "a==="}},
            f"{AT}.fieldSelector ignored due to parse error; {AT}.labelSelector ignored due to parse error",
            id="all of both",
        ),
        pytest.param(
            {"labelSelector": {"requirements": [GOOD, BAD]}},
            f"{AT}.labelSelector partially ignored due to parse error",
            id="a part of the labels",
        ),
    ],
)
def test_what_of_selectors_cannot_be_read_is_told_with_the_verdict(selectors, error):
    spec = {"resourceAttributes": {**RESOURCE, **selectors}}
    assert access_reviews.make_status(Decision(allowed=True), spec).get("evaluationError") == error


def test_the_verdict_has_a_reason_if_there_is_one():
    assert access_reviews.make_status(Decision(allowed=True), {}) == {"allowed": True}
    assert access_reviews.make_status(Decision(allowed=False, reason="no"), {}) == {"allowed": False, "reason": "no"}
