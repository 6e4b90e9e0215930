from mockkube.apiserver.http.authentication import MASTERS, User
from mockkube.apiserver.registry import deletion
from mockkube.apiserver.registry.bootstrap_rbac import bootstrap_rbac
from mockkube.apiserver.registry.options import DeleteOptions
from mockkube.apiserver.registry.resource import Call

GROUP = "rbac.authorization.k8s.io"


def names(registry, plural):
    return {(one.namespace, one.name) for one in registry.stored(GROUP, plural).collection.records.values()}


async def test_a_new_cluster_has_roles_and_bindings(registry):
    await bootstrap_rbac(registry)
    assert ("", "cluster-admin") in names(registry, "clusterroles")
    assert ("", "cluster-admin") in names(registry, "clusterrolebindings")
    assert ("kube-system", "extension-apiserver-authentication-reader") in names(registry, "roles")
    assert ("kube-public", "system:controller:bootstrap-signer") in names(registry, "rolebindings")


async def test_starting_again_changes_nothing(registry):
    await bootstrap_rbac(registry)
    revision = registry.services.store.revision
    await bootstrap_rbac(registry)
    assert registry.services.store.revision == revision


async def test_what_is_missing_comes_back(registry):
    await bootstrap_rbac(registry)
    resource = registry.stored(GROUP, "clusterroles")
    call = Call(User("admin", groups=(MASTERS,)), name="view")
    await deletion.delete(resource, call, DeleteOptions())
    await bootstrap_rbac(registry)
    assert ("", "view") in names(registry, "clusterroles")
