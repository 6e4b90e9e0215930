"""What a path and a method ask for: upstream's request info."""

# upstream 1.36: apiserver/pkg/endpoints/request/requestinfo.go
from dataclasses import dataclass
from typing import Final

_VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Target:
    """A resource request; the empty text stands for what the path does not name."""

    verb: str
    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    """What follows the subresource (a proxied path)."""
    watch: bool = False
    misplaced: bool = False
    """The path cannot be served although its resource may exist (an empty segment)."""


def parse(method: str, path: str, *, watch: bool = False) -> Target | None:
    """Read a path below `/api/v1` or `/apis/GROUP/VERSION`; None when it names no resource."""
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
    verb = _VERBS.get(method, "")
    legacy = parts[0] == "watch" and len(parts) > 1
    if legacy:
        parts = parts[1:]
    misplaced = "" in parts
    namespace, resource, parts = _resource(parts)
    name = parts[0] if parts else ""
    subresource = parts[1] if len(parts) > 1 else ""
    if verb == "get" and not subresource and (legacy or not name):
        verb = "watch" if watch or legacy else "list"
    if verb == "delete" and not name:
        verb = "deletecollection"
    rest = "/".join(parts[2:])
    return Target(verb, group, version, resource, namespace, name, subresource, rest, verb == "watch", misplaced)


def _resource(parts: list[str]) -> tuple[str, str, list[str]]:
    """The namespace, the resource, and what follows."""
    if parts[0] != "namespaces" or len(parts) < 2:
        return "", parts[0], parts[1:]
    namespace = parts[1]
    if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
        return namespace, parts[2], parts[3:]
    return namespace, "namespaces", parts[1:]
