"""Stages of the audit events of one request."""

import json
from typing import Any

import pytest

from mockkube.apiserver.audit.auditor import AuditEvent, Auditor, RequestMetadata
from mockkube.apiserver.audit.log_file import AuditLogFile
from mockkube.apiserver.audit.policy import parse_policy
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.runtime.clock import RealClock

POLICY = b"{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: Metadata}]}"
EARLY = {"metadata": {}, "status": "Success", "message": "Connection closed early", "code": 200}


class MemoryLog(AuditLogFile):
    def __init__(self) -> None:
        super().__init__("", RealClock())
        self.stages: list[tuple[str, dict[str, Any]]] = []

    def write(self, line: bytes) -> None:
        event = json.loads(line)
        self.stages.append((event["stage"], event["responseStatus"]))


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


def begin(log: MemoryLog, verb: str, subresource: str = "") -> AuditEvent:
    auditor = Auditor(parse_policy(POLICY), log, RealClock())
    attributes = AuthorizationAttributes(User("jane"), verb, "", "pods", subresource, "default", "p")
    event = auditor.begin(attributes, RequestMetadata("id", "/", "", ()))
    assert event is not None
    return event


@pytest.mark.parametrize(
    ("verb", "subresource", "stages"),
    [
        pytest.param("get", "", ["ResponseComplete"], id="an object"),
        pytest.param("watch", "", ["ResponseStarted", "ResponseComplete"], id="a watch"),
        pytest.param("get", "log", ["ResponseStarted", "ResponseComplete"], id="a log"),
    ],
)
def test_a_request_whose_client_leaves_before_the_response(
    log: MemoryLog, verb: str, subresource: str, stages: list[str]
) -> None:
    begin(log, verb, subresource).complete_early()
    assert log.stages == [(stage, EARLY) for stage in stages]


def test_a_request_whose_client_leaves_during_the_response(log: MemoryLog) -> None:
    event = begin(log, "get", "log")
    event.start_response(200)
    event.complete_early()
    ok = {"metadata": {}, "code": 200}
    assert log.stages == [("ResponseStarted", ok), ("ResponseComplete", ok)]


def test_the_status_of_an_error_is_that_of_the_body(log: MemoryLog) -> None:
    body = {"kind": "Status", "status": "Failure", "message": "no", "reason": "Forbidden", "code": 403}
    begin(log, "watch").complete(403, json.dumps(body).encode(), "application/json")
    assert [(stage, status.get("message"), status["code"]) for stage, status in log.stages] == [
        ("ResponseStarted", None, 403),
        ("ResponseComplete", "no", 403),
    ]
