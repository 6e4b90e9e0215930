"""Handlers of kinds that are only created and never stored: access reviews, token reviews, Binding."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from mockkube.api.catalogue import KINDS, KindInfo
from mockkube.api.errors import BadRequest, Invalid, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.strategy import Strategy
from mockkube.api.times import render_time
from mockkube.apiserver.authorization import access_reviews
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.rules import PolicyRule
from mockkube.apiserver.http import web
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.http.handlers import subresources
from mockkube.apiserver.http.handlers.non_resource_paths import ReviewHandler
from mockkube.apiserver.http.requests import request_bodies
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.identity.user import InvalidCredentials, User
from mockkube.apiserver.registry import creation, encoding, managed_fields, options
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource

_AUTHENTICATION: Final = "authentication.k8s.io"
_AUTHORIZATION: Final = "authorization.k8s.io"
_SERVER_METADATA: Final = (
    "selfLink",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)

ReviewFunction = Callable[[Object, User], Awaitable[Object]]
"""Function that fills in a decoded review, requested by a user."""


def review_handlers(
    registry: Registry, authorizer: Authorizer, authenticator: Authenticator
) -> dict[tuple[str, str], ReviewHandler]:
    """Return the handlers of create-only kinds by group and plural."""
    functions: dict[tuple[str, str], ReviewFunction] = {
        (_AUTHENTICATION, "SelfSubjectReview"): lambda _, user: _review_self_subject(registry, user),
        (_AUTHENTICATION, "TokenReview"): lambda review, _: _review_token(authenticator, review),
        (_AUTHORIZATION, "SelfSubjectAccessReview"): lambda review, user: _review_access(authorizer, review, user),
        (_AUTHORIZATION, "SelfSubjectRulesReview"): lambda review, user: _review_rules(authorizer, review, user),
    }
    for name in ("SubjectAccessReview", "LocalSubjectAccessReview"):
        functions[_AUTHORIZATION, name] = lambda review, _: _review_access(authorizer, review, None)
    handlers: dict[tuple[str, str], ReviewHandler] = {("", "bindings"): _make_binding_handler(registry)}
    for kind in KINDS:
        if (answer := functions.get((kind.group, kind.kind))) is not None:
            handlers[kind.group, kind.plural] = _make_review_handler(registry, kind, answer)
    return handlers


def _make_review_handler(registry: Registry, kind: KindInfo, answer: ReviewFunction) -> ReviewHandler:
    get_node = partial(registry.schema.get_kind_type, kind.group, "v1", kind.kind)
    resource = Resource(kind, "v1", get_node, Strategy, registry.dependencies)
    # upstream: reviews have no table converter.
    resource.has_table = False

    async def review(context: RequestContext, info: RequestInfo) -> web.StreamResponse:
        request = _make_request(registry, resource, context, info)
        _ = request.representation
        text = await context.read_body()
        write_options = options.parse_write_options(context.query, "CreateOptions")
        given = await request_bodies.decode_body(request, text, write_options)
        _normalize_metadata(given["metadata"], info.namespace)

        # upstream stores nothing, but managedFields of a review come back as for a stored object.
        update = partial(managed_fields.update_managed_fields, resource, request.scope, None, given, write_options)
        answered = await answer(await request.run_heavy_work(len(text), update), context.user)
        encode = partial(_encode_review, resource, answered)
        return await request.respond_object(await request.run_heavy_work(len(text), encode), status=201)

    return review


def _make_binding_handler(registry: Registry) -> ReviewHandler:
    pods = registry.find_storage_resource("", "pods")
    assert pods is not None, "every server has pods"

    async def bind(context: RequestContext, info: RequestInfo) -> web.StreamResponse:
        return await subresources.create_binding(_make_request(registry, pods, context, info))

    return bind


def _make_request(
    registry: Registry, resource: Resource, context: RequestContext, info: RequestInfo
) -> ResourceRequest:
    # A create-only kind has no objects below its collection.
    if info.name or info.has_empty_segment or bool(info.namespace) != resource.kind.namespaced:
        raise NotFound.for_path()
    scope = RequestScope(context.user, info.namespace, user_agent=context.user_agent, warnings=context.warnings)
    return ResourceRequest(registry, resource, info, context, scope)


def _normalize_metadata(metadata: Object, namespace: str) -> None:
    """Set the namespace of the request and drop the metadata that only a server writes."""
    creation.set_namespace(metadata, namespace)
    for name in _SERVER_METADATA:
        metadata.pop(name, None)


def _encode_review(resource: Resource, obj: ReadOnlyObject) -> CachedObject:
    """Return a review as an object that is not stored."""
    head = {"kind": resource.kind.kind, "apiVersion": resource.api_version}
    body = encoding.dumps(encoding.order_fields({**obj, **head}))
    metadata = obj["metadata"]
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    return CachedObject("", name, namespace, 0, resource.head, body[len(resource.head) :])


async def _review_self_subject(registry: Registry, user: User) -> Object:
    # upstream 1.36: pkg/registry/authentication/selfsubjectreview/rest.go
    metadata = {"creationTimestamp": render_time(registry.dependencies.clock.now())}
    return {"metadata": metadata, "status": {"userInfo": user.to_user_info()}}


async def _review_token(authenticator: Authenticator, review: Object) -> Object:
    # upstream 1.36: pkg/registry/authentication/tokenreview/storage.go
    spec = review["spec"]
    if not spec.get("token"):
        raise BadRequest("token is required for TokenReview in authentication")
    try:
        reviewed = await authenticator.review_token(spec["token"], spec.get("audiences") or ())
    except InvalidCredentials as error:
        # An invalid token is a result of the review, not an error of the request.
        review["status"] = {"user": {}, "error": str(error)}
    else:
        user, audiences = reviewed.user.to_user_info(), list(reviewed.audiences)
        review["status"] = {"authenticated": True, "user": user, "audiences": audiences}
    return review


async def _review_access(authorizer: Authorizer, review: Object, user: User | None) -> Object:
    """Return the review with the decision about `user`, or else about the subject that it names."""
    # upstream 1.36: pkg/registry/authorization/subjectaccessreview/rest.go and its siblings
    if errors := access_reviews.validate_review(review):
        raise Invalid(_AUTHORIZATION, "", "", errors)
    spec = review["spec"]
    attributes = access_reviews.to_attributes(access_reviews.review_user(spec) if user is None else user, spec)
    review["status"] = access_reviews.make_status(authorizer.authorize(attributes), spec)
    return review


async def _review_rules(authorizer: Authorizer, review: Object, user: User) -> Object:
    """Return the rules that apply to the user in a namespace."""
    # upstream 1.36: pkg/registry/authorization/selfsubjectrulesreview/rest.go
    namespace = review["spec"].get("namespace", "")
    if not namespace:
        raise BadRequest("no namespace on request")
    found = authorizer.resolve_rules(user, namespace)
    status: Object = {
        "resourceRules": [_to_resource_rule(rule) for rule in found.rules if rule.resources],
        "nonResourceRules": [_to_non_resource_rule(rule) for rule in found.rules if rule.urls],
        "incomplete": found.is_incomplete,
    }
    if found.error:
        status["evaluationError"] = found.error
    return {"metadata": {}, "spec": {}, "status": status}


def _to_resource_rule(rule: PolicyRule) -> Object:
    return PolicyRule(rule.verbs, rule.groups, rule.resources, rule.names).to_object()


def _to_non_resource_rule(rule: PolicyRule) -> Object:
    return PolicyRule(rule.verbs, urls=rule.urls).to_object()
