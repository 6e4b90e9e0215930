"""Audit requests: build an event for each stage of a request and write it to the log."""

# upstream 1.36: apiserver/pkg/endpoints/filters/audit.go, apiserver/pkg/audit/{request,format}.go
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Final

import orjson

from mockkube.api.fields import quote
from mockkube.api.json_objects import Object
from mockkube.api.times import render_micro_time
from mockkube.apiserver.audit.log_file import AuditLogFile
from mockkube.apiserver.audit.policy import (
    API_VERSION,
    LEVEL_NAMES,
    REQUEST_RECEIVED,
    RESPONSE_COMPLETE,
    RESPONSE_STARTED,
    AuditConfig,
    AuditPolicy,
    Level,
)
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

JSON_FORMAT: Final = "json"
LEGACY_FORMAT: Final = "legacy"
DECISION: Final = "authorization.k8s.io/decision"
REASON: Final = "authorization.k8s.io/reason"
_ERROR_CODE_MIN: Final = 400
_USER_AGENT_MAX: Final = 1024
_TRUNCATED: Final = "...TRUNCATED"
_LONG_RUNNING_VERBS: Final = frozenset(("proxy", "watch"))
_LONG_RUNNING_SUBRESOURCES: Final = frozenset(("attach", "exec", "log", "portforward", "proxy"))

# Returns the JSON value of a body in some format; None if it has none.
DecodeBody = Callable[[bytes, str], Any]


@dataclass(frozen=True, slots=True)
class RequestMetadata:
    """Metadata of a request that every event has."""

    audit_id: str
    uri: str
    user_agent: str
    source_ips: tuple[str, ...]
    # Version of the API group; empty for paths that are no resources.
    version: str = ""


@dataclass(slots=True)
class AuditEvent:
    """Event of one request, written at each of its stages."""

    metadata: RequestMetadata
    attributes: AuthorizationAttributes
    config: AuditConfig
    received_at: datetime
    auditor: "Auditor"
    impersonated_user: User | None = None
    annotations: dict[str, str] = field(default_factory=dict)
    response_status: Object | None = None
    request_object: Any = None
    response_object: Any = None
    _object_metadata: Mapping[str, Any] = field(default_factory=dict)

    def annotate_decision(self, *, allowed: bool, reason: str) -> None:
        """Record the decision of the authorizer."""
        self.annotations[DECISION] = "allow" if allowed else "forbid"
        self.annotations[REASON] = reason

    def set_request_body(self, body: bytes, content_type: str) -> None:
        """Record the body of the request."""
        value = self.auditor.decode_body(body, content_type) if body else None
        if value is None:
            return
        if isinstance(value, dict) and isinstance(metadata := value.get("metadata"), dict):
            self._object_metadata = metadata
        if self.config.level >= Level.REQUEST:
            self.request_object = self._strip(value)

    @property
    def is_long_running(self) -> bool:
        """True if the start of the response is a stage of its own."""
        # upstream 1.36: apiserver/pkg/server/filters/longrunning.go
        attributes = self.attributes
        return attributes.verb in _LONG_RUNNING_VERBS or attributes.subresource in _LONG_RUNNING_SUBRESOURCES

    def start_response(self, code: int) -> None:
        """Record that the headers of the response have been sent."""
        self._start_response({"metadata": {}, "code": code})

    def _start_response(self, status: Object) -> None:
        self.response_status = status
        if self.is_long_running:
            self._write(RESPONSE_STARTED)

    def complete_early(self) -> None:
        """Write the last stage of a request whose client has gone."""
        if self.response_status is None:
            status = {"status": "Success", "message": "Connection closed early", "code": 200}
            self._start_response({"metadata": {}, **status})
        self._write(RESPONSE_COMPLETE)

    def complete(self, code: int, body: bytes, content_type: str) -> None:
        """Write the last stage."""
        if self.response_status is None:
            self.start_response(code)
        # Lists are large, and most policies log metadata only: a body that the event does not show is not decoded. The
        # response is a Status after errors and deletions.
        is_shown = self.config.level >= Level.REQUEST_RESPONSE
        may_be_status = code >= _ERROR_CODE_MIN or self.attributes.verb in ("delete", "deletecollection")
        value = self.auditor.decode_body(body, content_type) if body and (is_shown or may_be_status) else None
        if isinstance(value, dict) and value.get("kind") == "Status":
            self.response_status = {
                name: value[name] for name in ("metadata", "status", "message", "reason", "details") if name in value
            } | {"code": code}
        if is_shown and value is not None:
            self.response_object = self._strip(value)
        self._write(RESPONSE_COMPLETE)

    def receive(self) -> None:
        """Write the first stage."""
        self._write(REQUEST_RECEIVED)

    def _strip(self, value: Any) -> Any:
        return _without_managed_fields(value) if self.config.omit_managed_fields else value

    def _write(self, stage: str) -> None:
        if stage not in self.config.omit_stages:
            self.auditor.write(self, stage)

    def to_object(self, stage: str, now: datetime) -> Object:
        """Return the event as an object of the audit API, its fields in the order of upstream's type."""
        attributes, metadata = self.attributes, self.metadata
        fields: Object = {
            "kind": "Event",
            "apiVersion": API_VERSION,
            "level": LEVEL_NAMES[self.config.level],
            "auditID": metadata.audit_id,
            "stage": stage,
            "requestURI": metadata.uri,
            "verb": attributes.verb,
            "user": attributes.user.to_user_info(),
        }
        if self.impersonated_user is not None:
            fields["impersonatedUser"] = self.impersonated_user.to_user_info()
        fields["sourceIPs"] = list(metadata.source_ips)
        if metadata.user_agent:
            agent = metadata.user_agent
            fields["userAgent"] = agent if len(agent) <= _USER_AGENT_MAX else agent[:_USER_AGENT_MAX] + _TRUNCATED
        if attributes.path is None and attributes.resource:
            fields["objectRef"] = self._object_reference()
        for name, value in (
            ("responseStatus", self.response_status),
            ("requestObject", self.request_object),
            ("responseObject", self.response_object),
        ):
            if value is not None:
                fields[name] = value
        fields["requestReceivedTimestamp"] = render_micro_time(self.received_at)
        fields["stageTimestamp"] = render_micro_time(now)
        if self.annotations:
            fields["annotations"] = dict(sorted(self.annotations.items()))
        return fields

    def _object_reference(self) -> Object:
        attributes, given = self.attributes, self._object_metadata
        reference = {
            "resource": attributes.resource,
            "namespace": attributes.namespace or given.get("namespace", ""),
            "name": attributes.name or given.get("name", ""),
            "uid": given.get("uid", ""),
            "apiGroup": attributes.group,
            "apiVersion": self.metadata.version,
            "resourceVersion": given.get("resourceVersion", ""),
            "subresource": attributes.subresource,
        }
        return {name: value for name, value in reference.items() if value}


class Auditor:
    """Writes the audit events of one API server by its policy."""

    def __init__(self, policy: AuditPolicy, log: AuditLogFile, clock: Clock, *, log_format: str = JSON_FORMAT) -> None:
        self._policy = policy
        self._log = log
        self._clock = clock
        self._format = log_format
        # Replaced by the API server, which knows protobuf.
        self.decode_body: DecodeBody = decode_json_body

    def begin(self, attributes: AuthorizationAttributes, metadata: RequestMetadata) -> AuditEvent | None:
        """Write the first stage of a request; return its event, None if nothing of it is logged."""
        config = self._policy.evaluate(attributes)
        if config.level is Level.NONE:
            return None
        event = AuditEvent(metadata, attributes, config, self._clock.now(), self)
        event.receive()
        return event

    def record_failed_authentication(
        self, attributes: AuthorizationAttributes, metadata: RequestMetadata, methods: Sequence[str]
    ) -> None:
        """Write the event of a request whose credentials, given by these methods, are invalid."""
        # upstream 1.36: apiserver/pkg/endpoints/filters/authn_audit.go
        config = self._policy.evaluate(attributes)
        if config.level is Level.NONE:
            return
        event = AuditEvent(metadata, attributes, config, self._clock.now(), self)
        attempted = f", attempted: {','.join(methods)}" if methods else ""
        event.response_status = {"metadata": {}, "message": f"Authentication failed{attempted}", "code": 401}
        if RESPONSE_STARTED not in config.omit_stages:
            self.write(event, RESPONSE_STARTED)

    def write(self, event: AuditEvent, stage: str) -> None:
        """Write a stage of an event."""
        obj = event.to_object(stage, self._clock.now())
        self._log.write(orjson.dumps(obj) if self._format == JSON_FORMAT else _format_legacy(obj).encode())

    def close(self) -> None:
        """Close the log."""
        self._log.close()


def decode_json_body(body: bytes, content_type: str) -> Any:
    """Return the value of a JSON body, None for any other."""
    if "json" not in content_type:
        return None
    try:
        return orjson.loads(body)
    except ValueError:
        return None


def _without_managed_fields(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    stripped = dict(value)
    if isinstance(metadata := value.get("metadata"), dict):
        stripped["metadata"] = {name: one for name, one in metadata.items() if name != "managedFields"}
    if isinstance(items := value.get("items"), list):
        stripped["items"] = [_without_managed_fields(item) for item in items]
    return stripped


def _format_legacy(event: Object) -> str:
    # upstream 1.36: apiserver/pkg/audit/format.go
    user, impersonated = event["user"], event.get("impersonatedUser")
    values = {
        "id": event["auditID"],
        "stage": event["stage"],
        "ip": (event["sourceIPs"] or ["<unknown>"])[0],
        "method": event["verb"],
        "user": user.get("username", "<none>"),
        "groups": _format_names(user.get("groups"), "<none>"),
        "as": "<self>" if impersonated is None else impersonated["username"],
        "asgroups": "<lookup>" if impersonated is None else _format_names(impersonated.get("groups"), "<lookup>"),
        "user-agent": event.get("userAgent", ""),
        "namespace": event.get("objectRef", {}).get("namespace", "<none>"),
        "uri": event["requestURI"],
    }
    shown = " ".join(f"{name}={quote(str(value))}" for name, value in values.items())
    code = event.get("responseStatus", {}).get("code", "<deferred>")
    return f'{event["requestReceivedTimestamp"]} AUDIT: {shown} response="{code}"'


def _format_names(names: list[str] | None, nothing: str) -> str:
    return ",".join(quote(name) for name in names) if names else nothing
