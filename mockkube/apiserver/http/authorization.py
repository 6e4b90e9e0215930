"""Authorize requests: build their attributes, apply impersonation, ask the authorizer, word the refusal."""

# upstream 1.36: apiserver/pkg/endpoints/filters/authorization.go, endpoints/handlers/responsewriters/errors.go
from typing import Final

from multidict import CIMultiDictProxy

from mockkube.api import names
from mockkube.api.selectors import fields as field_selectors
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.fields import FieldSelector
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.impersonation import Impersonation
from mockkube.apiserver.authorization.refusals import refusal
from mockkube.apiserver.http.paths import Target
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import Attributes
from mockkube.apiserver.registry.options import Query, first

_SELECTING: Final = ("list", "watch", "deletecollection")
_NOTHING: Final[Query] = {}


class Doorkeeper:
    """Authorizes requests; raises Forbidden for a refused one."""

    def __init__(self, authorizer: Authorizer, *, constrained: bool) -> None:
        self._authorizer = authorizer
        self._impersonation = Impersonation(authorizer, constrained=constrained)

    def admit(self, asked: Attributes, headers: CIMultiDictProxy[str]) -> User:
        """Return the user that the request acts as: its own, or the one it impersonates."""
        # upstream's handler chain impersonates before it authorizes: permissions are those of the impersonated user.
        asked = self._impersonation.apply(asked, headers)
        decision = self._authorizer.decide(asked)
        if not decision.allowed:
            raise refusal(asked, decision.reason)
        return asked.user


def asking_for_path(user: User, method: str, path: str) -> Attributes:
    """Return the attributes of a request for a path that is no resource."""
    return Attributes(user, method.lower(), path=path)


def asking_for_resource(user: User, target: Target, query: Query = _NOTHING) -> Attributes:
    """Return the attributes of a request for a resource."""
    # upstream 1.36: apiserver/pkg/endpoints/request/requestinfo.go
    selector = _selector(query) if target.verb in _SELECTING else field_selectors.EVERYTHING
    name = target.name
    # A list or watch of one name by field selector is authorized with that name, so that a rule with resourceNames can
    # allow it.
    if not name and target.verb in ("list", "watch"):
        exact = selector.get_required_value("metadata.name")
        name = exact if exact and not names.check_path_segment(exact) else ""
    return Attributes(
        user=user,
        verb=target.verb,
        group=target.group,
        resource=target.resource,
        subresource=target.subresource,
        namespace=target.namespace,
        name=name,
        fields=selector.requirements,
    )


def _selector(query: Query) -> FieldSelector:
    try:
        return field_selectors.parse(first(query, "fieldSelector"))
    except BadSelector:
        # A malformed selector is authorized as if there were none; the handler refuses it later with 400.
        return field_selectors.EVERYTHING
