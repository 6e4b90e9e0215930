"""What a deletion takes along."""

import pytest

from mockkube.api.json_objects import Object
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource

FINALIZER = "example.com/hold"


async def put(resource: Resource, name: str, **rest: Object) -> RequestScope:
    call = RequestScope(User("u"), "lab", name)
    obj = resource.decode({"metadata": {"name": name, **rest.pop("metadata", {})}, **rest}, call, "Strict")
    await creation.create(resource, call, obj, WriteOptions())
    return call


async def service_and_endpoints(registry: Registry, **metadata: object) -> tuple[Resource, Resource, RequestScope]:
    services, endpoints = (registry.resources["", "v1", plural] for plural in ("services", "endpoints"))
    call = await put(services, "web", metadata=dict(metadata), spec={"ports": [{"port": 80}]})
    await put(endpoints, "web")
    await put(endpoints, "other")
    return services, endpoints, call


async def test_the_endpoints_of_a_service_go_with_it(registry: Registry) -> None:
    services, endpoints, call = await service_and_endpoints(registry)
    await deletion.delete(services, call, DeleteOptions())
    assert endpoints.get_cached("lab", "web") is None
    assert endpoints.get_cached("lab", "other") is not None


@pytest.mark.parametrize("options", [DeleteOptions(dry_run=True), DeleteOptions(propagation="Foreground")], ids=str)
async def test_endpoints_stay_with_a_service_that_is_not_gone(registry: Registry, options: DeleteOptions) -> None:
    services, endpoints, call = await service_and_endpoints(registry)
    await deletion.delete(services, call, options)
    assert endpoints.get_cached("lab", "web") is not None


async def test_endpoints_go_when_the_last_finalizer_of_their_service_does(registry: Registry) -> None:
    services, endpoints, call = await service_and_endpoints(registry, finalizers=[FINALIZER])
    await deletion.delete(services, call, DeleteOptions())
    assert endpoints.get_cached("lab", "web") is not None

    def let_go(old: Object) -> Object:
        del old["metadata"]["finalizers"]
        return old

    await updating.update(services, call, let_go, WriteOptions())
    assert services.get_cached("lab", "web") is None
    assert endpoints.get_cached("lab", "web") is None
