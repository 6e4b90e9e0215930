"""The roles and bindings a new cluster has, created where they are missing."""

import asyncio
from typing import Final

from mockkube.api.errors import AlreadyExists
from mockkube.api.types import Object
from mockkube.apiserver.authorization import policy
from mockkube.apiserver.registry import creation
from mockkube.apiserver.registry.bootstrap import APISERVER, MANAGER
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

_OPTIONS: Final = WriteOptions(field_manager=MANAGER)


async def bootstrap_rbac(registry: Registry) -> None:
    """Create what is missing; what is there stays as it is. The namespaces must be there."""
    # upstream 1.36: pkg/registry/rbac/rest/storage_rbac.go
    # differs: rules and subjects an administrator took away do not come back
    missing = []
    for obj in policy.objects(registry.services.caps):
        resource = registry.of_kind(obj["apiVersion"], obj["kind"])
        metadata = obj["metadata"]
        if resource is not None and resource.record(metadata.get("namespace", ""), metadata["name"]) is None:
            missing.append(_create(resource, obj))
    await asyncio.gather(*missing)  # all at once: the store commits them together


async def _create(resource: Resource, obj: Object) -> None:
    call = Call(APISERVER, obj["metadata"].get("namespace", ""), user_agent=MANAGER)
    try:
        await creation.create(resource, call, resource.decode(obj, call, "Ignore"), _OPTIONS)
    except AlreadyExists:
        return  # another server of this cluster was faster
