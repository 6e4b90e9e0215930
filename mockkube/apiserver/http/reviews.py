"""Handlers of kinds that are only created and never stored: access reviews, token reviews, Binding."""

from collections.abc import Callable
from typing import Final

from aiohttp import web

from mockkube.api.catalogue import KINDS, KindInfo
from mockkube.api.errors import BadRequest, Invalid, NotFound
from mockkube.api.strategy import Strategy
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.authorization import access_reviews
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.rules import Rule
from mockkube.apiserver.http import bodies, subresources
from mockkube.apiserver.http.asked import Asked
from mockkube.apiserver.http.authentication import Authenticator
from mockkube.apiserver.http.exchange import Exchange
from mockkube.apiserver.http.paths import Target
from mockkube.apiserver.http.plain import Review
from mockkube.apiserver.identity.user import InvalidCredentials, User
from mockkube.apiserver.registry import creation, encoding, options, tracking
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

_AUTHENTICATION: Final = "authentication.k8s.io"
_AUTHORIZATION: Final = "authorization.k8s.io"
_FOREIGN_METADATA: Final = (
    "selfLink",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)

Answer = Callable[[Object, User], Object]
"""Function that fills in a decoded review, requested by a user."""


def table(registry: Registry, authorizer: Authorizer, authenticator: Authenticator) -> dict[tuple[str, str], Review]:
    """Return the handlers of create-only kinds by group and plural."""
    functions: dict[tuple[str, str], Answer] = {
        (_AUTHENTICATION, "SelfSubjectReview"): lambda _, user: _who(registry, user),
        (_AUTHENTICATION, "TokenReview"): lambda review, _: _whose(authenticator, review),
        (_AUTHORIZATION, "SelfSubjectAccessReview"): lambda review, user: _may(authorizer, review, user),
        (_AUTHORIZATION, "SelfSubjectRulesReview"): lambda review, user: _all(authorizer, review, user),
    }
    for name in ("SubjectAccessReview", "LocalSubjectAccessReview"):
        functions[_AUTHORIZATION, name] = lambda review, _: _may(authorizer, review, None)
    handlers: dict[tuple[str, str], Review] = {("", "bindings"): _binding(registry)}
    for kind in KINDS:
        if (answer := functions.get((kind.group, kind.kind))) is not None:
            handlers[kind.group, kind.plural] = _review(registry, kind, answer)
    return handlers


def _review(registry: Registry, kind: KindInfo, answer: Answer) -> Review:
    node = registry.schema.find_kind_type(kind.group, "v1", kind.kind)
    assert node is not None, f"every version has {kind.kind}"
    resource = Resource(kind, "v1", node, Strategy, registry.services)
    # upstream: reviews have no table converter.
    resource.tabular = False

    async def review(exchange: Exchange, target: Target) -> web.StreamResponse:
        asked = _asked(registry, resource, exchange, target)
        _ = asked.representation
        text = await exchange.body()
        wanted = options.write_options(exchange.query, "CreateOptions")
        given = await bodies.decode_body(asked, text, wanted)
        _place(given["metadata"], target.namespace)

        def answered() -> Record:
            # upstream stores nothing, but managedFields of a review come back as for a stored object.
            question = tracking.track(resource, asked.call, None, given, wanted)
            return _record(resource, answer(question, exchange.user))

        return await asked.answer(await asked.heavy(len(text), answered), status=201)

    return review


def _binding(registry: Registry) -> Review:
    pods = registry.stored("", "pods")
    assert pods is not None, "every server has pods"

    async def bind(exchange: Exchange, target: Target) -> web.StreamResponse:
        return await subresources.bind(_asked(registry, pods, exchange, target))

    return bind


def _asked(registry: Registry, resource: Resource, exchange: Exchange, target: Target) -> Asked:
    # A create-only kind has no objects below its collection.
    if target.name or target.misplaced or bool(target.namespace) != resource.kind.namespaced:
        raise NotFound.for_path()
    scope = Call(exchange.user, target.namespace, user_agent=exchange.user_agent, warnings=exchange.warnings)
    return Asked(registry, resource, target, exchange, scope)


def _place(metadata: Object, namespace: str) -> None:
    """Set the namespace of the request and drop the metadata that only a server writes."""
    creation.place(metadata, namespace)
    for name in _FOREIGN_METADATA:
        metadata.pop(name, None)


def _record(resource: Resource, obj: ReadOnlyObject) -> Record:
    """Return a review as an object that is not stored."""
    head = {"kind": resource.kind.kind, "apiVersion": resource.api_version}
    body = encoding.dumps(encoding.ordered({**obj, **head}))
    metadata = obj["metadata"]
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    return Record("", name, namespace, 0, resource.head, body[len(resource.head) :])


def _who(registry: Registry, user: User) -> Object:
    # upstream 1.36: pkg/registry/authentication/selfsubjectreview/rest.go
    metadata = {"creationTimestamp": render_time(registry.services.clock.now())}
    return {"metadata": metadata, "status": {"userInfo": user.info()}}


def _whose(authenticator: Authenticator, question: Object) -> Object:
    # upstream 1.36: pkg/registry/authentication/tokenreview/storage.go
    spec = question["spec"]
    if not spec.get("token"):
        raise BadRequest("token is required for TokenReview in authentication")
    try:
        reviewed = authenticator.review(spec["token"], spec.get("audiences") or ())
    except InvalidCredentials as error:
        # An invalid token is a result of the review, not an error of the request.
        question["status"] = {"user": {}, "error": str(error)}
    else:
        user, audiences = reviewed.user.info(), list(reviewed.audiences)
        question["status"] = {"authenticated": True, "user": user, "audiences": audiences}
    return question


def _may(authorizer: Authorizer, question: Object, user: User | None) -> Object:
    """Return the review with the decision about `user`, or else about the subject that it names."""
    # upstream 1.36: pkg/registry/authorization/subjectaccessreview/rest.go and its siblings
    if errors := access_reviews.complaints(question):
        raise Invalid(_AUTHORIZATION, "", "", errors)
    spec = question["spec"]
    asked = access_reviews.attributes(access_reviews.subject(spec) if user is None else user, spec)
    question["status"] = access_reviews.status(authorizer.decide(asked), spec)
    return question


def _all(authorizer: Authorizer, question: Object, user: User) -> Object:
    """Return the rules that apply to the user in a namespace."""
    # upstream 1.36: pkg/registry/authorization/selfsubjectrulesreview/rest.go
    namespace = question["spec"].get("namespace", "")
    if not namespace:
        raise BadRequest("no namespace on request")
    found = authorizer.enumerate(user, namespace)
    status: Object = {
        "resourceRules": [_without_urls(rule) for rule in found.rules if rule.resources],
        "nonResourceRules": [_only_urls(rule) for rule in found.rules if rule.urls],
        "incomplete": found.incomplete,
    }
    if found.error:
        status["evaluationError"] = found.error
    return {"metadata": {}, "spec": {}, "status": status}


def _without_urls(rule: Rule) -> Object:
    return Rule(rule.verbs, rule.groups, rule.resources, rule.names).to_object()


def _only_urls(rule: Rule) -> Object:
    return Rule(rule.verbs, urls=rule.urls).to_object()
