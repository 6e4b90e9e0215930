"""Authorize requests: build their attributes, apply impersonation, ask the authorizer, word the refusal."""

# upstream 1.36: apiserver/pkg/endpoints/filters/authorization.go, endpoints/handlers/responsewriters/errors.go
from typing import Final

from multidict import CIMultiDictProxy

from mockkube.api import names
from mockkube.api.selectors import fields as field_selectors
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.fields import FieldSelector
from mockkube.apiserver.audit.auditor import AuditEvent
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.errors import new_forbidden_request
from mockkube.apiserver.authorization.impersonation import Impersonator
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.apiserver.registry.options import Query, first_value

_SELECTOR_VERBS: Final = ("list", "watch", "deletecollection")
_NO_QUERY: Final[Query] = {}


class RequestAuthorizer:
    """Authorizes requests; raises Forbidden for a refused one."""

    def __init__(self, authorizer: Authorizer, *, constrained: bool) -> None:
        self._authorizer = authorizer
        self._impersonation = Impersonator(authorizer, constrained=constrained)

    def authorize(
        self, attributes: AuthorizationAttributes, headers: CIMultiDictProxy[str], event: AuditEvent | None = None
    ) -> User:
        """Return the user that the request acts as: its own, or the one it impersonates.

        The decision is recorded in the request's audit event.
        """
        user = attributes.user
        # upstream's handler chain impersonates before it authorizes: permissions are those of the impersonated user.
        attributes = self._impersonation.apply(attributes, headers)
        decision = self._authorizer.authorize(attributes)
        if event is not None:
            event.annotate_decision(allowed=decision.allowed, reason=decision.reason)
            if attributes.user is not user:
                event.impersonated_user = attributes.user
        if not decision.allowed:
            raise new_forbidden_request(attributes, decision.reason)
        return attributes.user

    def authorize_creation(self, user: User, info: RequestInfo) -> None:
        """Raise Forbidden unless the user may create what an update or a patch of the request would create."""
        attributes = get_resource_attributes(user, info)._replace(verb="create")
        decision = self._authorizer.authorize(attributes)
        if not decision.allowed:
            raise new_forbidden_request(attributes, decision.reason)


def get_attributes(
    user: User, method: str, path: str, info: RequestInfo | None, query: Query
) -> AuthorizationAttributes:
    """Return the attributes of a request; without info it is one for a path that is no resource."""
    if info is None:
        return get_path_attributes(user, method, path)
    return get_resource_attributes(user, info, query)


def get_path_attributes(user: User, method: str, path: str) -> AuthorizationAttributes:
    """Return the attributes of a request for a path that is no resource."""
    return AuthorizationAttributes(user, method.lower(), path=path)


def get_resource_attributes(user: User, info: RequestInfo, query: Query = _NO_QUERY) -> AuthorizationAttributes:
    """Return the attributes of a request for a resource."""
    # upstream 1.36: apiserver/pkg/endpoints/request/requestinfo.go
    selector = _parse_field_selector(query) if info.verb in _SELECTOR_VERBS else field_selectors.EVERYTHING
    name = info.name
    # A list or watch of one name by field selector is authorized with that name, so that a rule with resourceNames can
    # allow it.
    if not name and info.verb in ("list", "watch"):
        exact = selector.get_required_value("metadata.name")
        name = exact if exact and not names.check_path_segment(exact) else ""
    return AuthorizationAttributes(
        user=user,
        verb=info.verb,
        group=info.group,
        resource=info.resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=name,
        field_requirements=selector.requirements,
    )


def _parse_field_selector(query: Query) -> FieldSelector:
    try:
        return field_selectors.parse(first_value(query, "fieldSelector"))
    except BadSelector:
        # A malformed selector is authorized as if there were none; the handler refuses it later with 400.
        return field_selectors.EVERYTHING
