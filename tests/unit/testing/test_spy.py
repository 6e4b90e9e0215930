"""Recorded requests: filters, assertions with their texts, and bounds of the memory."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.features.versions import DEFAULT
from mockkube.proposals.component_extensions import make_schema
from mockkube.testing.spy import Spy

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def request(**fields: Any) -> ObservedRequest:
    usual = {"at": NOON, "verb": "get", "user": "alice", "user_agent": "kubectl/v1.36", "is_from_component": False}
    pod = {"version": "v1", "kind": "Pod", "resource": "pods", "namespace": "default", "name": "web", "status": 200}
    return ObservedRequest(**{**usual, **pod, **fields})


def make_spy(*requests: ObservedRequest, **bounds: int) -> Spy:
    spy = Spy(ProtobufSerializer(make_schema(DEFAULT, ())), **bounds)
    for one in requests:
        spy.record(one)
    return spy


LEASE = request(
    verb="update",
    kind="Lease",
    resource="leases",
    group="coordination.k8s.io",
    user="system:serviceaccount:app:operator",
    user_agent="operator/1",
    is_from_component=True,
    status=409,
)
STATUS = request(verb="patch", subresource="status")
CREATED = request(verb="create", name="", body=b'{"metadata":{"name":"new"}}', status=201)
OPEN = request(verb="watch", name="", status=0)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        pytest.param({}, [LEASE, STATUS, CREATED, OPEN], id="all"),
        pytest.param({"verb": "update"}, [LEASE], id="verb"),
        pytest.param({"verb": ("update", "create")}, [LEASE, CREATED], id="several verbs"),
        pytest.param({"kind": "Lease"}, [LEASE], id="kind"),
        pytest.param({"kind": "leases.coordination.k8s.io"}, [LEASE], id="resource with group"),
        pytest.param({"kind": "leases.other.dev"}, [], id="another group"),
        pytest.param({"kind": "Pod"}, [CREATED, OPEN], id="a kind without its subresources"),
        pytest.param({"kind": "Pod/status"}, [STATUS], id="subresource"),
        pytest.param({"kind": "pods/*"}, [STATUS, CREATED, OPEN], id="with all subresources"),
        pytest.param({"user": "system:serviceaccount:app:*"}, [LEASE], id="user"),
        pytest.param({"user_agent": "operator"}, [LEASE], id="beginning of the user agent"),
        pytest.param({"name": "new"}, [CREATED], id="name of a created object"),
        pytest.param({"namespace": "other"}, [], id="namespace"),
        pytest.param({"status": 409}, [LEASE], id="status"),
        pytest.param({"status": 0}, [OPEN], id="open watches"),
        pytest.param({"from_component": False}, [STATUS, CREATED, OPEN], id="clients"),
    ],
)
def test_filters(conditions: Any, expected: list[ObservedRequest]) -> None:
    found = make_spy(LEASE, STATUS, CREATED, OPEN).requests(**conditions)
    assert [(one.verb, one.kind) for one in found] == [(one.verb, one.kind) for one in expected]


@pytest.mark.parametrize(
    ("media", "body", "expected"),
    [
        pytest.param("application/json", b'{"a":1}', {"a": 1}, id="JSON"),
        pytest.param("application/json-patch+json", b'[{"op":"test"}]', [{"op": "test"}], id="JSON patch"),
        pytest.param("application/apply-patch+yaml", b"a: 1\n", {"a": 1}, id="YAML"),
        pytest.param("application/json", b"{", None, id="broken"),
        pytest.param("", b"", None, id="none"),
    ],
)
def test_bodies_are_decoded(media: str, body: bytes, expected: Any) -> None:
    (recorded,) = make_spy(request(verb="patch", body=body, content_type=media)).requests()
    assert recorded.body == expected


def test_an_assertion_that_fails_shows_what_clients_sent_instead() -> None:
    spy = make_spy(LEASE, STATUS)
    assert [one.status for one in spy.assert_requested(kind="Lease")] == [409]
    with pytest.raises(AssertionError) as failed:
        spy.assert_requested(verb="delete", kind="Pod")
    assert str(failed.value) == (
        "expected at least one request with verb='delete', kind='Pod', got 0; clients sent:\n"
        "  12:00:00.000000 patch Pod/status default/web by alice (kubectl/v1.36): 200"
    )


def test_an_assertion_of_a_number_shows_the_requests_found() -> None:
    spy = make_spy(LEASE, LEASE)
    spy.assert_requested(2, kind="Lease")
    with pytest.raises(AssertionError, match=r"expected 1 requests with kind='Lease', got 2:\n  12:.*409\n  12:.*409"):
        spy.assert_requested(1, kind="Lease")


def test_a_request_that_must_not_be_is_shown() -> None:
    spy = make_spy(LEASE)
    spy.assert_not_requested(verb="delete")
    with pytest.raises(AssertionError, match=r"expected no request with kind='Lease', got 1:\n  12:00:00"):
        spy.assert_not_requested(kind="Lease")


def test_the_oldest_requests_are_dropped_and_failures_say_so() -> None:
    spy = make_spy(*(request(name=str(number)) for number in range(5)), requests_max=3)
    assert [one.name for one in spy.requests()] == ["2", "3", "4"]
    assert spy.dropped_count == 2
    with pytest.raises(AssertionError, match="2 older requests were dropped"):
        spy.assert_requested(name="0")


def test_bodies_of_the_oldest_requests_are_dropped() -> None:
    writes = [request(verb="create", name=str(number), body=b'{"a":%d}' % number) for number in range(4)]
    spy = make_spy(*writes, request(), body_bytes_max=15)
    assert [one.body for one in spy.requests(verb="create")] == [None, None, {"a": 2}, {"a": 3}]


def test_forgotten_requests_are_gone() -> None:
    spy = make_spy(LEASE, STATUS)
    spy.clear()
    assert spy.requests() == []


def test_only_clients_that_watch_have_to_be_silent() -> None:
    assert make_spy(request(), LEASE).find_quiet_moment(60) == 0
    watch = request(verb="watch", status=0)
    spy = make_spy(watch)
    assert 59 < spy.find_quiet_moment(60) <= 60
    watch.status = 200
    assert spy.find_quiet_moment(60) == 0
