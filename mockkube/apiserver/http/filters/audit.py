"""Audit HTTP requests: the events of the audit log come from what the router knows of a request."""

from contextlib import suppress
from typing import Any, Final

from mockkube.api.errors import ApiError
from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.apiserver.audit.auditor import AuditEvent, Auditor, RequestMetadata, decode_json_body
from mockkube.apiserver.http import web
from mockkube.apiserver.http.filters.authorization import get_attributes
from mockkube.apiserver.http.requests import request_info
from mockkube.apiserver.http.requests.body_observers import add_body_observer
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.responses.large_bodies import LargeBody
from mockkube.apiserver.http.responses.negotiation import PROTOBUF
from mockkube.apiserver.identity.user import User

_NOBODY: Final = User("")


class RequestAuditor:
    """Audits the requests of one API server."""

    def __init__(self, auditor: Auditor, protobuf: ProtobufSerializer) -> None:
        self._auditor = auditor
        auditor.decode_body = lambda body, content_type: _decode_body(protobuf, body, content_type)

    def begin(self, context: RequestContext, info: RequestInfo | None, path: str) -> AuditEvent | None:
        """Write that an authenticated request was received; return its event, None if it is not logged."""
        attributes = get_attributes(context.user, context.request.method, path, info, context.query)
        event = self._auditor.begin(attributes, _make_metadata(context, info))
        if event is not None:
            add_body_observer(context.request, event.set_request_body)
        return event

    def record_failed_authentication(self, context: RequestContext, path: str) -> None:
        """Write that a request had invalid credentials."""
        info = None
        with suppress(ApiError):  # what cannot be parsed is logged as a path
            info = request_info.parse_request_info(context.request.method, path, watch=False)
        attributes = get_attributes(_NOBODY, context.request.method, path, info, context.query)
        scheme = context.request.headers.get("Authorization", "").partition(" ")[0].lower()
        methods = [scheme] if scheme in ("basic", "bearer") else []
        if (transport := context.request.transport) is not None and transport.get_extra_info("peercert"):
            methods.append("x509")
        self._auditor.record_failed_authentication(attributes, _make_metadata(context, info), methods)

    def complete(self, event: AuditEvent, response: web.StreamResponse) -> None:
        """Write that a request has been answered."""
        content = response.body if isinstance(response, web.Response) else None
        if isinstance(content, LargeBody):
            content = content.decode().encode()
        body = content if isinstance(content, bytes) else b""
        event.complete(response.status, body, response.headers.get("Content-Type", ""))


def _make_metadata(context: RequestContext, info: RequestInfo | None) -> RequestMetadata:
    request = context.request
    version = "" if info is None else info.version
    return RequestMetadata(context.audit_id, request.raw_path, context.user_agent, _source_ips(request), version)


def _source_ips(request: web.BaseRequest) -> tuple[str, ...]:
    # upstream 1.36: apimachinery/pkg/util/net/http.go, SourceIPs
    forwarded = [one.strip() for one in request.headers.get("X-Forwarded-For", "").split(",") if one.strip()]
    if real := request.headers.get("X-Real-Ip", "").strip():
        forwarded.append(real)
    if request.remote:
        forwarded.append(request.remote)
    return tuple(dict.fromkeys(forwarded))


def _decode_body(protobuf: ProtobufSerializer, body: bytes, content_type: str) -> Any:
    if content_type.partition(";")[0] != PROTOBUF:
        return decode_json_body(body, content_type)
    with suppress(Exception):  # a body that cannot be decoded is an error of its request, not of the log
        return protobuf.decode(body).value
    return None
