import pytest

from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes


async def test_administrators_may_do_everything_and_no_reason_is_told(world, admin):
    decision = world.decide(admin, "fly", "anything")
    assert (decision.allowed, decision.reason) == (True, "")


async def test_nobody_may_do_what_no_binding_grants(world):
    decision = world.decide()
    assert (decision.allowed, decision.reason) == (False, "")


async def test_a_role_of_a_namespace_holds_there_only(world):
    await world.put(world.role("reader"), world.binding("b", "reader", "User jane"))
    decision = world.decide(namespace="ns")
    assert decision.reason == 'RBAC: allowed by RoleBinding "b/ns" of Role "reader" to User "jane"'
    assert decision.allowed
    assert not world.allows(namespace="other")
    assert not world.allows()


async def test_a_cluster_role_bound_in_a_namespace_holds_there_only(world):
    await world.put(world.cluster_role("reader"), world.binding("b", "cluster:reader", "User jane"))
    assert world.decide(namespace="ns").reason.startswith('RBAC: allowed by RoleBinding "b/ns" of ClusterRole "reader"')
    assert not world.allows()


async def test_a_cluster_role_bound_everywhere_holds_everywhere(world):
    await world.put(world.cluster_role("reader"), world.cluster_binding("b", "reader", "Group devs"))
    reason = 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "devs"'
    assert world.decide().reason == reason
    assert world.decide(namespace="ns").reason == reason


async def test_a_binding_to_a_role_that_is_not_there_is_told(world):
    await world.put(world.binding("b", "gone", "User jane"), world.cluster_binding("c", "gone too", "User jane"))
    reason = world.decide(namespace="ns").reason
    assert reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone too" not found, '
        'role.rbac.authorization.k8s.io "gone" not found]'
    )


async def test_paths_are_granted_by_cluster_roles(world, jane):
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    await world.put(world.cluster_role("metrics", rule), world.cluster_binding("b", "metrics", "User jane"))
    assert world.authorizer.authorize(AuthorizationAttributes(jane, "get", path="/metrics")).allowed
    assert not world.authorizer.authorize(AuthorizationAttributes(jane, "get", path="/healthz")).allowed


async def test_what_a_user_may_do_is_enumerated_with_what_is_missing(world, jane):
    await world.put(world.role("reader"), world.binding("b", "reader", "User jane"))
    await world.put(world.binding("c", "gone", "User jane"))
    found = world.authorizer.resolve_rules(jane, "ns")
    assert [rule.verbs for rule in found.rules] == [("get", "list")]
    assert not found.is_incomplete
    assert found.error == 'role.rbac.authorization.k8s.io "gone" not found'


async def test_what_a_node_may_do_cannot_be_enumerated(world):
    found = world.authorizer.resolve_rules(User("system:node:n1", groups=("system:nodes",)), "ns")
    assert found.is_incomplete
    assert found.error == "node authorizer does not support user rule resolution"


async def test_the_reasons_of_both_authorizers_are_told(world):
    await world.put(world.cluster_binding("b", "gone", "Group system:nodes"))
    reason = world.decide(User("system:node:n1", groups=("system:nodes",)), resource="secrets", namespace="ns").reason
    assert reason == 'No Object name found\nRBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'


@pytest.mark.parametrize(
    ("subject", "name", "allowed"),
    [
        pytest.param("ServiceAccount robot", "system:serviceaccount:ns:robot", True, id="of the binding's namespace"),
        pytest.param("ServiceAccount robot", "system:serviceaccount:other:robot", False, id="not of another one"),
        pytest.param("ServiceAccount robot other", "system:serviceaccount:other:robot", True, id="of the one named"),
        pytest.param("User system:serviceaccount:ns:robot", "system:serviceaccount:ns:robot", True, id="as a user"),
        pytest.param("Group robot", "robot", False, id="a group is no user"),
    ],
)
async def test_a_service_account_is_a_user_of_its_namespace(world, subject, name, allowed):
    await world.put(world.role("reader"), world.binding("b", "reader", subject))
    assert world.allows(User(name), namespace="ns") is allowed


async def test_a_service_account_is_shown_with_its_namespace(world):
    await world.put(world.role("reader"), world.binding("b", "reader", "ServiceAccount robot"))
    reason = world.decide(User("system:serviceaccount:ns:robot"), namespace="ns").reason
    assert reason.endswith('to ServiceAccount "robot/ns"')
