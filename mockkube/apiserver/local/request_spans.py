"""Spans of requests that components of the process send without HTTP."""

from contextlib import AbstractContextManager

from mockkube.apiserver.http.metrics import verb_label
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.requests.request_tracing import make_span_name
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.runtime.tracing import Span, SpanKind, Tracer, current_span, within

_METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}


def start_request_span(
    tracer: Tracer, verb: str, scope: RequestScope, resource: Resource
) -> AbstractContextManager[Span]:
    """Return a span like that of the same request over HTTP, which ends with the block."""
    info = RequestInfo(
        verb, resource.group, resource.version, resource.plural, scope.namespace, scope.name, scope.subresource
    )
    path = "/apis/" if resource.group else "/api/"
    parent = current_span()
    span = tracer.start_span(
        make_span_name(_METHODS.get(verb, "GET"), info, path),
        parent=None if parent is None else parent.context,
        kind=SpanKind.SERVER,
        attributes={"verb": verb_label(verb), "user_agent.original": scope.user_agent},
    )
    return within(span)
