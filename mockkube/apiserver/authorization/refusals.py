"""Errors of authorization: Forbidden, in upstream's words."""

# upstream 1.36: apiserver/pkg/endpoints/handlers/responsewriters/errors.go
from mockkube.api.errors import Forbidden
from mockkube.api.fields import quote
from mockkube.apiserver.registry.authorizer import Attributes

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def refusal(asked: Attributes, reason: str) -> Forbidden:
    """Return the Forbidden error for a denied request, with the reason if there is one."""
    # upstream escapes the message for browsers, but not the reason.
    why = _what(asked).translate(_HTML)
    return Forbidden.for_object(asked.group, asked.resource, asked.name, f"{why}: {reason}" if reason else why)


def _what(asked: Attributes) -> str:
    who = f"User {quote(asked.user.name)} cannot {asked.verb}"
    if asked.path is not None:
        return f"{who} path {quote(asked.path)}"
    where = f"in the namespace {quote(asked.namespace)}" if asked.namespace else "at the cluster scope"
    return f"{who} resource {quote(asked.combined)} in API group {quote(asked.group)} {where}"
