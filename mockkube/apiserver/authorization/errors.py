"""Errors of authorization: Forbidden, in upstream's words."""

# upstream 1.36: apiserver/pkg/endpoints/handlers/responsewriters/errors.go
from mockkube.api.errors import Forbidden
from mockkube.api.fields import quote
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes

_HTML_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def new_forbidden_request(attributes: AuthorizationAttributes, reason: str) -> Forbidden:
    """Return the Forbidden error for a denied request, with the reason if there is one."""
    # upstream escapes the message for browsers, but not the reason.
    why = _describe(attributes).translate(_HTML_ESCAPES)
    return Forbidden.for_object(
        attributes.group, attributes.resource, attributes.name, f"{why}: {reason}" if reason else why
    )


def _describe(attributes: AuthorizationAttributes) -> str:
    denial = f"User {quote(attributes.user.name)} cannot {attributes.verb}"
    if attributes.path is not None:
        return f"{denial} path {quote(attributes.path)}"
    where = f"in the namespace {quote(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
    return f"{denial} resource {quote(attributes.combined_resource)} in API group {quote(attributes.group)} {where}"
