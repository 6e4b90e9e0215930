import pytest

from mockkube.api.errors import NotFound
from mockkube.apiserver.admission.plugins.namespace_exists import NamespaceExists

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}}


async def test_the_namespace_of_a_deletion_must_exist_too(world):
    for request in (world.creation(CONFIG_MAP), world.deletion(CONFIG_MAP)):
        with pytest.raises(NotFound, match='namespaces "ns" not found'):
            NamespaceExists().validate(request)


async def test_what_is_in_a_namespace_may_be_written(world):
    await world.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
    NamespaceExists().validate(world.creation(CONFIG_MAP))
