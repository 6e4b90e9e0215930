"""Traces of requests: one span for each request, with authentication, authorization and the verb within it."""

# upstream 1.36: apiserver/pkg/endpoints/filters/traces.go, endpoints/filterlatency, endpoints/handlers
from collections.abc import Awaitable, Callable
from typing import Final

from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.identity.user import MASTERS_GROUP, User
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.tracing import (
    AttributeValue,
    Span,
    SpanKind,
    Tracer,
    keep_current_span,
    parse_traceparent,
    set_current_span,
)

_MONITORING_GROUP: Final = "system:monitoring"
_SERVER_ERROR_MIN: Final = 500
# As upstream's audit log and nginx have it, if there is no response because the client is gone.
_CLIENT_IS_GONE: Final = 499
VERB_SPANS: Final = {
    "get": "Get", "list": "List", "watch": "WatchServer.HandleHTTP", "create": "Create", "update": "Update",
    "patch": "Patch", "delete": "Delete", "deletecollection": "Delete",
}  # fmt: skip


Answer = Callable[[web.BaseRequest, "RequestTrace"], Awaitable[web.StreamResponse]]


async def trace_request(tracer: Tracer, request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    """Return the answer to a request, and report its spans."""
    trace = RequestTrace(tracer, request, tracer.now_nanos())
    status = _CLIENT_IS_GONE
    with keep_current_span():
        try:
            response = await answer(request, trace)
            status = response.status
            return response
        finally:
            trace.finish(status)


@dataclass(slots=True)
class RequestTrace:
    """Trace of one request; its span starts once the user is known, with the time at which the request arrived."""

    tracer: Tracer
    request: web.BaseRequest
    start_nanos: int
    span: Span | None = None
    verb_span: Span | None = None
    authenticated_nanos: int = 0

    def start(self, user: User | None, info: RequestInfo | None, path: str, audit_id: str) -> Span:
        """Start the span of the request; only privileged users decide by a header which trace it is part of."""
        given = parse_traceparent(self.request.headers.get("traceparent", ""))
        is_trusted = user is not None and not {MASTERS_GROUP, _MONITORING_GROUP}.isdisjoint(user.groups)
        self.span = self.tracer.start_span(
            make_span_name(self.request.method, info, path),
            parent=given if is_trusted else None,
            link=None if is_trusted else given,
            kind=SpanKind.SERVER,
            start_nanos=self.start_nanos,
            attributes={**_make_attributes(self.request), "audit-id": audit_id},
        )
        set_current_span(self.span)
        self.authenticated_nanos = self.tracer.now_nanos()
        self._add_child(self.span, "authentication", self.start_nanos, self.authenticated_nanos)
        return self.span

    def record_authorization(self, info: RequestInfo | None) -> None:
        """Record the time that authorization has taken, and start the span of the verb."""
        if self.span is None:
            return
        self._add_child(self.span, "authorization", self.authenticated_nanos, self.tracer.now_nanos())
        if info is not None and info.verb in VERB_SPANS:
            attributes = {"audit-id": self.span.attributes["audit-id"], "method": self.request.method}
            self.verb_span = self.tracer.start_span(
                VERB_SPANS[info.verb], parent=self.span.context, attributes={**attributes, "url": self.request.path}
            )
            set_current_span(self.verb_span)

    def finish(self, status: int) -> None:
        """End the spans with the status code of the response."""
        span = self.start(None, None, self.request.path, "") if self.span is None else self.span
        span.attributes["http.status_code"] = status
        if status >= _SERVER_ERROR_MIN:
            span.error = f"HTTP status {status}"
        for one in (self.verb_span, span):
            if one is not None:
                one.end()

    def _add_child(self, parent: Span, name: str, start_nanos: int, end_nanos: int) -> None:
        self.tracer.start_span(name, parent=parent.context, start_nanos=start_nanos).end(at_nanos=end_nanos)


def _make_attributes(request: web.BaseRequest) -> dict[str, AttributeValue]:
    return {
        "http.method": request.method,
        "http.target": request.raw_path,
        "http.scheme": request.scheme,
        "net.host.name": request.host,
        "user_agent.original": request.headers.get("User-Agent", ""),
    }


def make_span_name(method: str, info: RequestInfo | None, path: str) -> str:
    """Return method and path of a request with placeholders for names; the method alone for paths of no resource."""
    if info is None:
        return method
    root = f"/apis/{info.group}" if path.startswith("/apis/") else "/api"
    parts = [root, info.version, *(("namespaces", "{:namespace}") if info.namespace else ()), info.resource]
    parts += ["{:name}"] if info.name else []
    parts += [info.subresource] if info.subresource else []
    return f"{method} {'/'.join(parts)}"
