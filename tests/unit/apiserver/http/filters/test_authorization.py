import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from mockkube.api.errors import Forbidden
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.http.filters.authorization import (
    RequestAuthorizer,
    get_path_attributes,
    get_resource_attributes,
)
from mockkube.apiserver.http.requests import request_info
from mockkube.apiserver.identity.user import ANONYMOUS_USER, MASTERS_GROUP, User

JANE = User("jane")
ADMIN = User("admin", groups=(MASTERS_GROUP,))
NO_HEADERS = CIMultiDictProxy(CIMultiDict())


def asked(method, path, query=None, user=JANE):
    target = request_info.parse_request_info(method, path, watch="watch" in (query or {}))
    return (
        get_path_attributes(user, method, path)
        if target is None
        else get_resource_attributes(user, target, query or {})
    )


@pytest.fixture
def doorkeeper(registry):
    return RequestAuthorizer(Authorizer(registry), constrained=True)


def test_an_administrator_is_let_in_as_themselves(doorkeeper):
    assert doorkeeper.authorize(asked("GET", "/api/v1/pods", user=ADMIN), NO_HEADERS) is ADMIN


def test_an_administrator_is_let_in_as_another_who_may(doorkeeper):
    headers = CIMultiDictProxy(CIMultiDict({"Impersonate-User": "joe", "Impersonate-Group": MASTERS_GROUP}))
    assert doorkeeper.authorize(asked("GET", "/api/v1/pods", user=ADMIN), headers).name == "joe"


def test_an_administrator_is_not_let_in_as_another_who_may_not(doorkeeper):
    headers = CIMultiDictProxy(CIMultiDict({"Impersonate-User": "joe"}))
    with pytest.raises(Forbidden) as refused:
        doorkeeper.authorize(asked("GET", "/api/v1/pods", user=ADMIN), headers)
    assert 'User "joe" cannot list' in refused.value.message


IN_NS = "/api/v1/namespaces/ns"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        pytest.param(
            ("GET", f"{IN_NS}/pods"),
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "ns"',
            id="a collection",
        ),
        pytest.param(
            ("GET", "/api/v1/nodes"),
            'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
            id="of the cluster",
        ),
        pytest.param(
            ("PUT", "/apis/apps/v1/namespaces/ns/deployments/x/scale"),
            'deployments.apps "x" is forbidden: User "jane" cannot update resource "deployments/scale" in API group '
            '"apps" in the namespace "ns"',
            id="a part of an object",
        ),
        pytest.param(
            ("GET", f"{IN_NS}/pods", {"fieldSelector": ["metadata.name=x"]}),
            'pods "x" is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "ns"',
            id="a collection of one",
        ),
        pytest.param(
            ("DELETE", f"{IN_NS}/pods", {"fieldSelector": ["metadata.name=x"]}),
            'pods is forbidden: User "jane" cannot deletecollection resource "pods" in API group "" '
            'in the namespace "ns"',
            id="a deletion never names one",
        ),
        pytest.param(
            ("GET", f"{IN_NS}/pods", {"fieldSelector": ["="]}),
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "ns"',
            id="a selector that cannot be read",
        ),
        pytest.param(
            ("GET", "/api/v1/namespaces/ns"),
            'namespaces "ns" is forbidden: User "jane" cannot get resource "namespaces" in API group "" '
            'in the namespace "ns"',
            id="a namespace",
        ),
        pytest.param(("GET", "/apis"), 'forbidden: User "jane" cannot get path "/apis"', id="a path"),
        pytest.param(("HEAD", "/apis"), 'forbidden: User "jane" cannot head path "/apis"', id="the head of a path"),
        pytest.param(("GET", "/a<b"), 'forbidden: User "jane" cannot get path "/a&lt;b"', id="what looks like HTML"),
    ],
)
def test_a_refusal_says_who_what_and_where(doorkeeper, request_, message):
    with pytest.raises(Forbidden) as refused:
        doorkeeper.authorize(asked(*request_), NO_HEADERS)
    assert refused.value.message == message


def test_a_refusal_tells_its_reason(doorkeeper):
    node = User("system:node:n1", groups=("system:nodes",))
    with pytest.raises(Forbidden) as refused:
        doorkeeper.authorize(asked("GET", "/api/v1/pods", user=node), NO_HEADERS)
    assert refused.value.message.endswith("scope: can only list/watch pods with spec.nodeName field selector")


def test_the_details_name_what_was_asked_for(doorkeeper):
    with pytest.raises(Forbidden) as refused:
        doorkeeper.authorize(asked("GET", "/apis/apps/v1/namespaces/ns/deployments/x", user=ANONYMOUS_USER), NO_HEADERS)
    assert refused.value.details == {"name": "x", "group": "apps", "kind": "deployments"}
    with pytest.raises(Forbidden) as refused:
        doorkeeper.authorize(asked("GET", "/apis", user=ANONYMOUS_USER), NO_HEADERS)
    assert refused.value.details == {}
