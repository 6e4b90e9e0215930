"""Parse method and path of a request into upstream's RequestInfo."""

# upstream 1.36: apiserver/pkg/endpoints/request/requestinfo.go
from typing import Final

from mockkube.lazy_dataclasses import dataclass

_VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Verb and resource of a request; fields that the path does not name are empty."""

    verb: str
    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    """Path after the subresource, for a proxy."""
    watch: bool = False
    has_empty_segment: bool = False
    """Whether the path has an empty segment: it cannot be served, although its resource may exist."""


def parse_request_info(method: str, path: str, *, watch: bool = False) -> RequestInfo | None:
    """Parse a path below `/api/v1` or `/apis/GROUP/VERSION`; return None if it names no resource."""
    parts = path.split("/")[1:]
    if not parts:
        return None  # the asterisk of OPTIONS
    if parts[0] == "api" and len(parts) >= 3:
        group, version, parts = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        return None
    if parts[-1] == "":
        parts.pop()
    if not parts:
        return None
    # An unknown method gets an empty verb: it is authorized first, then refused with 405.
    verb = _VERBS.get(method, "")
    # `/api/v1/watch/...` is the deprecated form of `?watch=true`.
    legacy = parts[0] == "watch" and len(parts) > 1
    if legacy:
        parts = parts[1:]
    misplaced = "" in parts
    namespace, resource, parts = _split_namespace(parts)
    name = parts[0] if parts else ""
    subresource = parts[1] if len(parts) > 1 else ""
    if verb == "get" and not subresource and (legacy or not name):
        verb = "watch" if watch or legacy else "list"
    if verb == "delete" and not name:
        verb = "deletecollection"
    rest = "/".join(parts[2:])
    return RequestInfo(verb, group, version, resource, namespace, name, subresource, rest, verb == "watch", misplaced)


def _split_namespace(parts: list[str]) -> tuple[str, str, list[str]]:
    """Return namespace, resource and the remaining segments."""
    if parts[0] != "namespaces" or len(parts) < 2:
        return "", parts[0], parts[1:]
    namespace = parts[1]
    # `namespaces/NAME/status` is a subresource of the namespace, not a resource in it.
    if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
        return namespace, parts[2], parts[3:]
    return namespace, "namespaces", parts[1:]
