import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from mockkube.api.errors import BadRequest, Forbidden
from mockkube.apiserver.authorization.impersonation import Impersonator
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes


def headers(*pairs):
    return CIMultiDictProxy(CIMultiDict(pairs))


def acting(world, sender, *pairs, constrained=True):
    asked = AuthorizationAttributes(sender, "list", resource="pods", namespace="ns")
    return Impersonator(world.authorizer, constrained=constrained).apply(asked, headers(*pairs)).user


async def grant(world, *rules):
    await world.put(world.cluster_role("granted", *rules), world.cluster_binding("granted", "granted", "User jane"))


def may(verb, resource, group="", **more):
    return {"apiGroups": [group], "resources": [resource], "verbs": [verb], **more}


def test_without_headers_everybody_is_themselves(world, jane):
    assert acting(world, jane, ("Accept", "*/*")) is jane


def test_an_administrator_acts_as_anybody(world, admin):
    pairs = (("Impersonate-Group", "a"), ("impersonate-group", "b"), ("Impersonate-Uid", "u"))
    user = acting(world, admin, ("Impersonate-User", "joe"), *pairs, ("Impersonate-Extra-Acme.io%2fscopes", "x"))
    groups = ("a", "b", "system:authenticated")
    assert user == User("joe", uid="u", groups=groups, extra={"acme.io/scopes": ("x",)})


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        pytest.param("joe", ("system:authenticated",), id="a user"),
        pytest.param("system:anonymous", ("system:unauthenticated",), id="nobody"),
        pytest.param(
            "system:serviceaccount:ns:robot",
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
            id="a service account",
        ),
        pytest.param("system:node:n1", ("system:nodes", "system:authenticated"), id="a node"),
    ],
)
def test_groups_follow_from_a_name(world, admin, name, groups):
    assert acting(world, admin, ("Impersonate-User", name)).groups == groups


def test_before_1_36_a_node_needs_its_group_to_be_named(world, admin):
    user = acting(world, admin, ("Impersonate-User", "system:node:n1"), constrained=False)
    assert user.groups == ("system:authenticated",)


def test_groups_that_are_named_are_all_there_are(world, admin):
    pairs = (("Impersonate-User", "system:serviceaccount:ns:robot"), ("Impersonate-Group", "g"))
    assert acting(world, admin, *pairs).groups == ("g", "system:authenticated")


@pytest.mark.parametrize(
    ("constrained", "text"),
    [
        pytest.param(
            True,
            'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} '
            "without impersonating a user name",
            id="as 1.36 says it",
        ),
        pytest.param(False, "requested [{Group  g    }] without impersonating a user", id="as older ones say it"),
    ],
)
def test_who_acts_as_somebody_must_say_as_whom(world, admin, constrained, text):
    with pytest.raises(BadRequest) as refused:
        acting(world, admin, ("Impersonate-Group", "g"), constrained=constrained)
    assert refused.value.message == text


def test_who_may_not_act_as_another_is_told_of_the_new_verb_first(world, jane):
    with pytest.raises(Forbidden) as refused:
        acting(world, jane, ("Impersonate-User", "joe"))
    what = 'cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "ns"'
    assert refused.value.message == f'pods is forbidden: User "jane" {what}'


def test_before_1_36_of_the_old_verb(world, jane):
    with pytest.raises(Forbidden) as refused:
        acting(world, jane, ("Impersonate-User", "joe"), constrained=False)
    what = 'cannot impersonate resource "users" in API group "" at the cluster scope'
    assert refused.value.message == f'users "joe" is forbidden: User "jane" {what}'


async def test_the_old_verb_is_enough(world, jane):
    await grant(world, may("impersonate", "users", resourceNames=["joe"]))
    assert acting(world, jane, ("Impersonate-User", "joe")).name == "joe"
    with pytest.raises(Forbidden):
        acting(world, jane, ("Impersonate-User", "ann"))


async def test_each_thing_a_user_is_made_of_must_be_allowed(world, jane):
    await grant(world, may("impersonate", "users"), may("impersonate", "groups", resourceNames=["devs"]))
    assert acting(world, jane, ("Impersonate-User", "joe"), ("Impersonate-Group", "devs"), constrained=False)
    with pytest.raises(Forbidden) as refused:
        acting(world, jane, ("Impersonate-User", "joe"), ("Impersonate-Group", "ops"), constrained=False)
    assert refused.value.message.startswith('groups "ops" is forbidden')
    with pytest.raises(Forbidden) as refused:
        acting(world, jane, ("Impersonate-User", "joe"), ("Impersonate-Extra-Scopes", "s"), constrained=False)
    assert '"userextras/scopes" in API group "authentication.k8s.io"' in refused.value.message


async def test_the_new_verbs_allow_some_things_as_some_users(world, jane):
    as_joe = may("impersonate:user-info", "users", "authentication.k8s.io", resourceNames=["joe"])
    await grant(world, as_joe, may("impersonate-on:user-info:list", "pods"))
    assert acting(world, jane, ("Impersonate-User", "joe")).name == "joe"
    asked = AuthorizationAttributes(jane, "delete", resource="pods", namespace="ns")
    with pytest.raises(Forbidden):
        Impersonator(world.authorizer, constrained=True).apply(asked, headers(("Impersonate-User", "joe")))


async def test_the_new_verbs_never_make_an_administrator(world, jane):
    everything = may("impersonate:user-info", "*", "authentication.k8s.io")
    await grant(world, everything, may("impersonate-on:user-info:list", "pods"))
    with pytest.raises(Forbidden) as refused:
        acting(world, jane, ("Impersonate-User", "joe"), ("Impersonate-Group", "system:masters"))
    assert refused.value.message.endswith("impersonating the system:masters group is not allowed")


async def test_a_pod_may_be_allowed_to_act_as_its_own_node(world):
    robot = User("system:serviceaccount:ns:robot", extra={"authentication.kubernetes.io/node-name": ("n1",)})
    verbs = may("impersonate:associated-node", "nodes", "authentication.k8s.io")
    await world.put(world.cluster_role("granted", verbs, may("impersonate-on:associated-node:list", "pods")))
    await world.put(world.cluster_binding("granted", "granted", "ServiceAccount robot ns"))
    assert acting(world, robot, ("Impersonate-User", "system:node:n1")).groups[0] == "system:nodes"
    with pytest.raises(Forbidden):
        acting(world, robot, ("Impersonate-User", "system:node:n2"))
