import pytest

from mockkube.api.selectors import fields
from mockkube.apiserver.authorization.node import node_name
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes

NODE = User("system:node:n1", groups=("system:nodes", "system:authenticated"))


@pytest.mark.parametrize(
    ("user", "node"),
    [
        pytest.param(NODE, "n1", id="name and group"),
        pytest.param(User("system:node:n1"), None, id="without the group"),
        pytest.param(User("n1", groups=("system:nodes",)), None, id="without the name"),
        pytest.param(User("system:node:", groups=("system:nodes",)), "", id="not saying which"),
    ],
)
def test_a_node_is_known_by_name_and_group(user, node):
    assert node_name(user) == node


def asks(verb, group, resource, subresource="", *, namespace="", name="", selector=""):
    requirements = fields.parse(selector).requirements
    return AuthorizationAttributes(
        NODE, verb, group, resource, subresource, namespace, name, field_requirements=requirements
    )


LEASES = ("coordination.k8s.io", "leases")
SLICES = ("resource.k8s.io", "resourceslices")
CSI_NODES = ("storage.k8s.io", "csinodes")


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(asks("create", "", "nodes"), id="register"),
        pytest.param(asks("get", "", "nodes", name="n1"), id="read its own node"),
        pytest.param(asks("patch", "", "nodes", "status", name="n1"), id="report on itself"),
        pytest.param(asks("watch", "", "pods", selector="spec.nodeName=n1"), id="watch its own pods"),
        pytest.param(asks("patch", "", "pods", "status", name="p"), id="report on a pod"),
        pytest.param(asks("create", "", "pods", "eviction", name="p"), id="evict a pod"),
        pytest.param(asks("update", *LEASES, namespace="kube-node-lease", name="n1"), id="renew its lease"),
        pytest.param(asks("create", *LEASES, namespace="kube-node-lease"), id="make its lease"),
        pytest.param(asks("list", "", "services"), id="what rules allow"),
        pytest.param(asks("get", *CSI_NODES, name="n1"), id="read what drivers it has"),
        pytest.param(asks("create", *SLICES), id="offer devices"),
        pytest.param(asks("list", *SLICES, selector="spec.nodeName=n1"), id="list its own devices"),
    ],
)
def test_a_node_may(world, asked):
    assert world.authorizer.authorize(asked).allowed


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        pytest.param(
            asks("list", "", "nodes"), "node 'n1' cannot read all nodes, only its own Node object", id="nodes"
        ),
        pytest.param(
            asks("get", "", "nodes", name="n2"),
            "node 'n1' cannot read 'n2', only its own Node object",
            id="another node",
        ),
        pytest.param(asks("delete", "", "nodes", name="n1"), "", id="delete itself"),
        pytest.param(
            asks("list", "", "pods"), "can only list/watch pods with spec.nodeName field selector", id="all pods"
        ),
        pytest.param(
            asks("list", "", "pods", selector="spec.nodeName!=n1"),
            "can only list/watch pods with spec.nodeName field selector",
            id="all pods but its own",
        ),
        pytest.param(
            asks("get", "", "secrets", namespace="ns", name="s"),
            "no relationship found between node 'n1' and this object",
            id="a secret no pod of it uses",
        ),
        pytest.param(
            asks("delete", "", "secrets", namespace="ns", name="s"),
            "can only read resources of this type",
            id="delete it",
        ),
        pytest.param(
            asks("list", "", "configmaps"), "can only read namespaced object of this type", id="config maps everywhere"
        ),
        pytest.param(
            asks("list", "", "persistentvolumes"), "can only get individual resources of this type", id="all volumes"
        ),
        pytest.param(
            asks("get", *LEASES, namespace="kube-node-lease", name="n2"),
            "can only access node lease with the same name as the requesting node",
            id="another node's lease",
        ),
        pytest.param(
            asks("get", *LEASES, namespace="ns", name="n1"),
            'can only access leases in the "kube-node-lease" system namespace',
            id="a lease elsewhere",
        ),
        pytest.param(
            asks("create", "", "serviceaccounts", namespace="ns"),
            "can only create tokens for individual service accounts",
            id="make accounts",
        ),
        pytest.param(
            asks("list", *SLICES),
            "can only list/watch/deletecollection resourceslices with nodeName field selector",
            id="all devices",
        ),
        pytest.param(
            asks("get", *CSI_NODES, name="n2"),
            "can only access CSINode with the same name as the requesting node",
            id="csi",
        ),
        pytest.param(asks("list", "apps", "deployments"), "", id="what no rule allows"),
    ],
)
def test_a_node_may_not(world, asked, reason):
    decision = world.authorizer.authorize(asked)
    assert (decision.allowed, decision.reason) == (False, reason)


def test_a_node_that_does_not_say_which_may_nothing(world):
    nameless = User("system:node:", groups=("system:nodes",))
    assert world.decide(nameless).reason == 'unknown node for user "system:node:"'
