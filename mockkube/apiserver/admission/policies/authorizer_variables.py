"""Variable `authorizer` of expressions: permission checks for the user of the request."""

# upstream 1.36: apiserver/pkg/cel/library/authz.go, apiserver/pkg/authentication/serviceaccount/util.go
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mockkube.api.selectors import fields as field_selectors
from mockkube.api.selectors.errors import BadSelector
from mockkube.apiserver.admission.policies.matching import RequestMatcher
from mockkube.apiserver.registry.admission import AdmissionAttributes
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.matching.cel.libraries.authorization import (
    Authorize,
    CelAuthorizer,
    CelDecision,
    CheckAttributes,
    ResourceCheck,
)


def authorizer_variables(request: AdmissionAttributes) -> Mapping[str, Any]:
    """Return the variables for permission checks by name."""
    ask, subject = _make_checker(request), RequestMatcher(request)
    resource = CheckAttributes(
        group=request.resource.group,
        resource=request.resource.plural,
        subresource=request.scope.subresource,
        namespace=subject.namespace,
        name=subject.name,
    )
    return {"authorizer": CelAuthorizer(ask), "authorizer.requestResource": ResourceCheck(ask, resource)}


def _make_checker(request: AdmissionAttributes) -> Authorize:
    def ask(question: CheckAttributes) -> CelDecision:
        decision = request.resource.dependencies.authorize(_to_attributes(request, question))
        return CelDecision(decision.allowed, decision.reason)

    return ask


def _to_attributes(request: AdmissionAttributes, question: CheckAttributes) -> AuthorizationAttributes:
    user = request.scope.user
    if question.account is not None:
        namespace, name = question.account
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        # An expression may check the permissions of another service account.
        user = replace(user, name=f"system:serviceaccount:{namespace}:{name}", uid="", groups=groups, extra={})
    if question.path is not None:
        return AuthorizationAttributes(user, question.verb, path=question.path)
    try:
        selector = field_selectors.parse(question.field_selector)
    except BadSelector:
        # upstream: a selector that cannot be parsed is ignored, which makes the check stricter.
        selector = field_selectors.EVERYTHING
    return AuthorizationAttributes(
        user,
        question.verb,
        question.group,
        question.resource,
        question.subresource,
        question.namespace,
        question.name,
        field_requirements=selector.requirements,
    )
