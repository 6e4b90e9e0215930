import pytest

from mockkube.apiserver.authorization.bootstrap_roles import bootstrap_rbac
from mockkube.apiserver.identity.user import MASTERS_GROUP, User
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.resource import RequestScope

GROUP = "rbac.authorization.k8s.io"
ADMIN = User("admin", groups=(MASTERS_GROUP,))


@pytest.fixture
async def new(registry):
    await bootstrap_rbac(registry)
    return registry


def names(registry, plural):
    return {
        (one.namespace, one.name) for one in registry.find_storage_resource(GROUP, plural).collection.objects.values()
    }


def load(registry, plural, name):
    return registry.find_storage_resource(GROUP, plural).get_cached("", name).load()


async def change(registry, plural, name, **fields):
    def changed(current):
        return {**current, **fields}

    await updating.update(
        registry.find_storage_resource(GROUP, plural), RequestScope(ADMIN, name=name), changed, WriteOptions()
    )


def test_a_new_cluster_has_roles_and_bindings(new):
    assert ("", "cluster-admin") in names(new, "clusterroles")
    assert ("", "cluster-admin") in names(new, "clusterrolebindings")
    assert ("kube-system", "extension-apiserver-authentication-reader") in names(new, "roles")
    assert ("kube-public", "system:controller:bootstrap-signer") in names(new, "rolebindings")


async def test_starting_again_changes_nothing(new):
    revision = new.dependencies.store.revision
    await bootstrap_rbac(new)
    assert new.dependencies.store.revision == revision


async def test_what_is_missing_comes_back(new):
    await deletion.delete(
        new.find_storage_resource(GROUP, "clusterroles"), RequestScope(ADMIN, name="view"), DeleteOptions()
    )
    await bootstrap_rbac(new)
    assert ("", "view") in names(new, "clusterroles")


async def test_what_a_role_lacks_comes_back(new):
    await change(new, "clusterroles", "cluster-admin", rules=[])
    await bootstrap_rbac(new)
    assert load(new, "clusterroles", "cluster-admin")["rules"][0]["verbs"] == ["*"]


async def test_who_lost_a_binding_has_it_again(new):
    await change(new, "clusterrolebindings", "cluster-admin", subjects=[])
    await bootstrap_rbac(new)
    assert load(new, "clusterrolebindings", "cluster-admin")["subjects"][0]["name"] == MASTERS_GROUP


async def test_what_an_administrator_keeps_stays(new):
    metadata = load(new, "clusterroles", "cluster-admin")["metadata"]
    metadata["annotations"] = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    await change(new, "clusterroles", "cluster-admin", rules=[], metadata=metadata)
    await bootstrap_rbac(new)
    assert not load(new, "clusterroles", "cluster-admin").get("rules")


async def test_a_binding_to_another_role_is_made_anew(new):
    bindings, call = (
        new.find_storage_resource(GROUP, "clusterrolebindings"),
        RequestScope(ADMIN, name="system:discovery"),
    )
    before = load(new, "clusterrolebindings", "system:discovery")
    await deletion.delete(bindings, call, DeleteOptions())
    reference = {**before["roleRef"], "name": "view"}
    other = bindings.decode({"metadata": {"name": "system:discovery"}, "roleRef": reference}, call, "Strict")
    await creation.create(bindings, RequestScope(ADMIN), other, WriteOptions())
    await bootstrap_rbac(new)
    assert load(new, "clusterrolebindings", "system:discovery")["roleRef"]["name"] == "system:discovery"
