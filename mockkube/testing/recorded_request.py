"""A recorded request, and the filter that selects requests."""

from collections.abc import Callable, Collection
from dataclasses import field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, TypedDict

from mockkube.api.decoding import documents
from mockkube.api.protobuf.envelope import GroupVersionKind, ProtobufSerializer
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.apiserver.http.requests.request_context import parse_document
from mockkube.apiserver.http.responses.negotiation import PROTOBUF
from mockkube.lazy_dataclasses import dataclass


class RequestFilter(TypedDict, total=False):
    """Conditions on requests; a request must meet all of them. `*` in a text matches any characters."""

    # As in RBAC: get, list, watch, create, update, patch, delete, deletecollection.
    verb: str | Collection[str]
    # Kind or resource: Lease, leases, leases.coordination.k8s.io; with subresource: Pod/status, Pod/*.
    kind: str
    namespace: str
    # Name of the object, also of one that is created.
    name: str
    # User that the request acts as, like system:serviceaccount:default:*.
    user: str
    # Beginning of the User-Agent, like kubectl.
    user_agent: str
    # Code of the answer.
    status: int
    # True: only requests of the cluster's own components; False: only those of clients.
    from_component: bool


@dataclass(frozen=True, slots=True, repr=False)
class RecordedRequest:
    """A request that the cluster has received; fields that it does not name are empty."""

    # Time of the cluster when it came.
    at: datetime
    # As in RBAC; the HTTP method in small letters if the path names no resource.
    verb: str
    group: str
    version: str
    kind: str
    # In plural, without subresource.
    resource: str
    subresource: str
    namespace: str
    # Name of the object, also of one that is created.
    name: str
    # User that it acts as, after impersonation; empty without valid credentials.
    user: str
    user_agent: str
    # Code of the answer; 0 until it is complete, as for an open watch.
    status: int
    # Path of the URL; empty for requests of components, which do not use HTTP.
    path: str
    from_component: bool
    _decode_body: Callable[[], Any] = field(compare=False)

    @classmethod
    def from_observed(cls, observed: ObservedRequest, protobuf: ProtobufSerializer) -> "RecordedRequest":
        """Return the present state of a request."""

        def decode_body() -> Any:
            return _decode_body(observed, protobuf)

        return cls(
            at=observed.at,
            verb=observed.verb,
            group=observed.group,
            version=observed.version,
            kind=observed.kind,
            resource=observed.resource,
            subresource=observed.subresource,
            namespace=observed.namespace,
            name=observed.name or _find_created_name(observed.verb, decode_body),
            user=observed.user,
            user_agent=observed.user_agent,
            status=observed.status,
            path=observed.path,
            from_component=observed.is_from_component,
            _decode_body=decode_body,
        )

    @property
    def body(self) -> Any:
        """Decoded body; None if there is none, if it cannot be read, or if it was dropped to bound the memory."""
        return self._decode_body()

    def __str__(self) -> str:
        """Return the request in one line."""
        resource = f"{self.kind or self.resource}{f'/{self.subresource}' if self.subresource else ''}"
        target = " ".join(filter(None, (resource, "/".join(filter(None, (self.namespace, self.name)))))) or self.path
        agent = self.user_agent.partition(" ")[0]
        return f"{self.at:%H:%M:%S.%f} {self.verb} {target} by {self.user or '-'} ({agent}): {self.status or 'open'}"

    __repr__ = __str__

    def matches(self, conditions: RequestFilter) -> bool:
        """Return whether all conditions hold."""
        verbs = conditions.get("verb", self.verb)
        return (
            self.verb in ((verbs,) if isinstance(verbs, str) else verbs)
            and self._has_kind(conditions.get("kind"))
            and conditions.get("status", self.status) == self.status
            and conditions.get("from_component", self.from_component) == self.from_component
            and fnmatchcase(self.user_agent, f"{conditions.get('user_agent', '')}*")
            and _matches(self.namespace, conditions.get("namespace"))
            and _matches(self.user, conditions.get("user"))
            and _matches(self.name, conditions.get("name"))
        )

    def _has_kind(self, wanted: str | None) -> bool:
        if wanted is None:
            return True
        kind, _, subresource = wanted.partition("/")
        names = (self.kind, self.resource, f"{self.resource}.{self.group}", f"{self.kind}.{self.group}")
        return kind.lower() in {name.lower() for name in names} and fnmatchcase(self.subresource, subresource)


def _matches(text: str, pattern: str | None) -> bool:
    return pattern is None or fnmatchcase(text, pattern)


def _find_created_name(verb: str, decode_body: Callable[[], Any]) -> str:
    body = decode_body() if verb == "create" else None
    metadata = body.get("metadata") if isinstance(body, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _decode_body(observed: ObservedRequest, protobuf: ProtobufSerializer) -> Any:
    if not observed.body:
        return None
    kind = GroupVersionKind(observed.group, observed.version, observed.kind)
    try:
        if PROTOBUF in observed.content_type:
            return parse_document(observed.body, observed.content_type, protobuf, kind).value
        # Patches are JSON under media types of their own, or YAML, which contains JSON.
        parse = documents.parse_json if observed.body[:1] in b"{[" else _parse_yaml
        return parse(observed.body)
    except ValueError:
        return None


def _parse_yaml(body: bytes) -> Any:
    return documents.parse_yaml(body).value
