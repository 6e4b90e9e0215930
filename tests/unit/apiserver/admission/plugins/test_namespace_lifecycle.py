import pytest

from mockkube.api.errors import Forbidden, NotFound
from mockkube.apiserver.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from mockkube.apiserver.registry import deletion
from mockkube.apiserver.registry.options import DeleteOptions
from mockkube.apiserver.registry.resource import RequestScope

PLUGIN = NamespaceLifecycle()


def config_map(namespace):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}}


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def test_an_object_in_a_missing_namespace_is_not_found(world):
    with pytest.raises(NotFound) as caught:
        PLUGIN.admit(world.creation(config_map("nowhere")))
    assert caught.value.status()["message"] == 'namespaces "nowhere" not found'
    assert caught.value.status()["details"] == {"name": "nowhere", "kind": "namespaces"}


async def test_an_object_in_an_active_namespace_is_admitted(world):
    await world.put(namespace("here"))
    PLUGIN.admit(world.creation(config_map("here")))


async def test_nothing_new_is_admitted_to_a_terminating_namespace(world):
    await world.put(namespace("going"))
    resource = world.registry.find_storage_resource("", "namespaces")
    await deletion.delete(resource, RequestScope(None, name="going"), DeleteOptions())
    with pytest.raises(Forbidden) as caught:
        PLUGIN.admit(world.creation(config_map("going")))
    status = caught.value.status()
    assert status["message"] == (
        'configmaps "a" is forbidden: unable to create new content in namespace going because it is being terminated'
    )
    assert status["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace going is being terminated",
            "field": "metadata.namespace",
        }
    ]


async def test_what_is_in_a_terminating_namespace_may_be_updated(world):
    await world.put(namespace("going"))
    resource = world.registry.find_storage_resource("", "namespaces")
    await deletion.delete(resource, RequestScope(None, name="going"), DeleteOptions())
    PLUGIN.admit(world.update(config_map("going"), config_map("going")))


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_the_namespaces_of_every_cluster_stay(world, name):
    with pytest.raises(Forbidden) as caught:
        PLUGIN.admit(world.deletion(namespace(name)))
    assert caught.value.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


async def test_other_namespaces_may_go(world):
    PLUGIN.admit(world.deletion(namespace("kube-node-lease")))
