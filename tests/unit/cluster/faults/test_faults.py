"""Which requests a fault strikes, and how often."""

from dataclasses import replace
from typing import Any

import pytest

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, Expired, NotFound, TooManyRequests
from mockkube.cluster.faults.faults import FaultInjection, FaultRequest, Faults
from mockkube.runtime.random import Random

GET = FaultRequest("kube-apiserver", "kubectl/v1.36.4 (linux/amd64)", "get", "", "pods", "", "default", "p")
LIST = FaultRequest("kube-apiserver", "kubelet/v1.36.4 (linux/amd64)", "list", "apps", "deployments", "", "default")
STATUS = FaultRequest("kube-apiserver.1", "kubelet.n1/v1.36.4", "patch", "", "pods", "status", "default", "p")
WATCH = FaultRequest("kube-apiserver", "kube-scheduler", "watch", "", "pods", from_resource_version=True)
PATH = FaultRequest("kube-apiserver", "curl/8", "get")
AS_ALICE = replace(GET, user="alice")
BROKEN = {"status": {"code": 500}}


def fault(name: str = "f", *, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid of {name}"}, "spec": spec, "status": status or {}}


def faults(*objects: dict[str, Any]) -> Faults:
    known = Faults(Random.from_seed(1, "faults"))
    known.replace_faults({obj["metadata"]["name"]: obj for obj in objects})
    return known


@pytest.mark.parametrize(
    ("match", "asking", "struck"),
    [
        pytest.param({}, GET, True, id="nothing matches everything"),
        pytest.param({}, PATH, True, id="a path that names no resource too"),
        pytest.param({"verbs": ["list", "get"]}, GET, True, id="verb"),
        pytest.param({"verbs": ["*"]}, GET, True, id="every verb"),
        pytest.param({"verbs": ["list"]}, GET, False, id="another verb"),
        pytest.param({"resources": ["pods"]}, GET, True, id="resource"),
        pytest.param({"resources": ["pods"]}, STATUS, False, id="what is below it is another"),
        pytest.param({"resources": ["pods/status"]}, STATUS, True, id="what is below it, by name"),
        pytest.param({"resources": ["deployments"]}, LIST, True, id="without its group"),
        pytest.param({"resources": ["deployments.apps"]}, LIST, True, id="with its group"),
        pytest.param({"resources": ["deployments.extensions"]}, LIST, False, id="another group"),
        pytest.param({"resources": ["*"]}, PATH, False, id="no resource at all"),
        pytest.param({"component": "kubelet"}, LIST, True, id="component"),
        pytest.param({"component": "kubelet"}, STATUS, True, id="one of its fleet"),
        pytest.param({"component": "kubelet.n1"}, STATUS, True, id="one of the fleet by name"),
        pytest.param({"component": "kubelet.n2"}, STATUS, False, id="another of the fleet"),
        pytest.param({"component": "kube-scheduler"}, WATCH, True, id="a name and nothing else"),
        pytest.param({"component": "kubelet"}, GET, False, id="not a component that begins alike"),
        pytest.param({"userAgent": "linux"}, GET, True, id="part of the user agent"),
        pytest.param({"userAgent": "darwin"}, GET, False, id="no part of it"),
        pytest.param({"server": "kube-apiserver.1"}, STATUS, True, id="server"),
        pytest.param({"server": "kube-apiserver.1"}, GET, False, id="another server"),
        pytest.param({"namespace": "default", "name": "p"}, GET, True, id="object"),
        pytest.param({"name": "q"}, GET, False, id="another object"),
        pytest.param({"user": "alice"}, AS_ALICE, True, id="user"),
        pytest.param({"user": "ali"}, AS_ALICE, False, id="another user"),
    ],
)
def test_match(match: dict[str, Any], asking: FaultRequest, struck: bool) -> None:
    assert (faults(fault(match=match, inject=BROKEN)).find_injection(asking) is not None) is struck


@pytest.mark.parametrize(
    ("inject", "status", "struck"),
    [
        pytest.param({"dropWatch": True}, {}, [WATCH], id="a cut concerns watches"),
        pytest.param({"expired": True}, {}, [WATCH], id="what goes on from a version expires"),
        pytest.param({"staleReads": True}, {"revision": 3}, [GET, LIST], id="reads are stale"),
        pytest.param({"delaySeconds": 1.5}, {}, [GET, LIST, STATUS, WATCH, PATH], id="everything is delayed"),
    ],
)
def test_what_is_injected_concerns_some_requests_alone(
    inject: dict[str, Any], status: dict[str, Any], struck: list[FaultRequest]
) -> None:
    known = faults(fault(inject=inject, status=status))
    assert [asking for asking in (GET, LIST, STATUS, WATCH, PATH) if known.find_injection(asking)] == struck


def test_an_injection_says_all_that_is_done() -> None:
    known = faults(fault(inject={"delaySeconds": 2.0, "status": {"code": 429, "retryAfterSeconds": 3}}))
    injection = known.find_injection(GET)
    assert injection is not None
    error = injection.make_error()
    assert isinstance(error, TooManyRequests)
    assert (injection.delay_seconds, error.code, error.reason) == (2.0, 429, "TooManyRequests")
    assert (error.status()["message"], error.retry_after_seconds) == ("injected by fault 'f'", 3)
    stale = faults(fault(inject={"staleReads": True}, status={"revision": 3})).find_injection(GET)
    assert stale == FaultInjection(stale_revision=3)


@pytest.mark.parametrize(
    ("inject", "kind", "reason"),
    [
        pytest.param({"expired": True}, Expired, "Expired", id="what has expired"),
        pytest.param({"status": {"code": 409}}, Conflict, "Conflict", id="a conflict"),
        pytest.param(
            {"status": {"code": 409, "reason": "AlreadyExists"}}, AlreadyExists, "AlreadyExists", id="by its reason"
        ),
        pytest.param({"status": {"code": 404}}, NotFound, "NotFound", id="nothing there"),
        pytest.param({"status": {"code": 507}}, ApiError, "InternalError", id="a code nobody knows"),
    ],
)
def test_an_answer_is_of_the_class_components_look_for(
    inject: dict[str, Any], kind: type[ApiError], reason: str
) -> None:
    error = FaultInjection.from_object(fault(inject=inject)).make_error()
    assert type(error) is kind
    assert error.reason == reason


def test_the_first_by_name_that_has_some_left_strikes() -> None:
    first, second = fault("a", inject=BROKEN, count=1), fault("b", inject={"status": {"code": 503}})
    known = faults(second, first)
    struck = [known.find_injection(GET) for _ in range(2)]
    assert [one and one.status and one.status["code"] for one in struck] == [500, 503]


def test_a_count_goes_on_where_it_was_reported() -> None:
    known = faults(fault(inject=BROKEN, count=3, status={"injected": 2}))
    assert [known.find_injection(GET) is not None for _ in range(2)] == [True, False]


def test_one_that_is_changed_goes_on_counting() -> None:
    known = faults(fault(inject=BROKEN, count=1))
    known.find_injection(GET)
    known.replace_faults({"f": fault(inject=BROKEN, count=2)})
    assert [known.find_injection(GET) is not None for _ in range(2)] == [True, False]
    found = known.get("f")
    assert found is not None
    assert (found.injected, found.is_exhausted) == (2, True)


def test_a_share_is_drawn_and_repeats_itself_for_a_seed() -> None:
    def drawn(seed: int) -> list[bool]:
        known = faults(fault(inject=BROKEN, share=0.25, seed=seed))
        return [known.find_injection(GET) is not None for _ in range(400)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert 60 < sum(drawn(1)) < 140


def test_open_watches_are_cut_by_what_is_new_alone() -> None:
    known = faults(fault("old", inject={"dropWatch": True}), fault("new", inject={"dropWatch": True}, count=1))
    assert known.cuts_watch(WATCH, ["new"])
    assert not known.cuts_watch(WATCH, ["new"])
    assert not known.cuts_watch(GET, ["old"])


def test_whoever_wants_to_know_is_told_of_a_strike() -> None:
    told = []
    known = faults(fault(match={"verbs": ["get"]}, inject=BROKEN))
    known.on_injected = lambda: told.append(1)
    known.find_injection(LIST)
    known.find_injection(GET)
    assert told == [1]
