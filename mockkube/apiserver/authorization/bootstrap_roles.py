"""Create the default roles and bindings of a cluster, and reconcile existing ones."""

import asyncio
from typing import Final

from mockkube.api.errors import AlreadyExists, Conflict, NotFound
from mockkube.api.types import Object
from mockkube.apiserver.authorization import policy, reconciliation
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.bootstrap import APISERVER, MANAGER
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

_OPTIONS: Final = WriteOptions(field_manager=MANAGER)


async def bootstrap_rbac(registry: Registry) -> None:
    """Create and reconcile the roles and bindings of this version. The namespaces must exist."""
    # upstream 1.36: pkg/registry/rbac/rest/storage_rbac.go
    work = []
    for expected in policy.objects(registry.services.caps):
        resource = registry.of_kind(expected["apiVersion"], expected["kind"])
        if resource is None:
            continue
        metadata = expected["metadata"]
        record = resource.record(metadata.get("namespace", ""), metadata["name"])
        if record is None:
            work.append(_create(resource, expected))
        elif _lacks(stored := record.load(), expected):
            work.append(_complete(resource, stored, expected))
    await asyncio.gather(*work)  # all at once: the store commits them together


def _lacks(stored: Object, expected: Object) -> bool:
    if reconciliation.protected(stored):
        return False
    if reconciliation.refers_elsewhere(stored, expected):
        return True
    return reconciliation.reconciled(stored, expected) != stored


async def _create(resource: Resource, obj: Object) -> None:
    scope = _call(obj)
    try:
        await creation.create(resource, scope, resource.decode(obj, scope, "Ignore"), _OPTIONS)
    except AlreadyExists:
        return  # another server of this cluster was faster


async def _complete(resource: Resource, stored: Object, expected: Object) -> None:
    scope = _call(expected, name=expected["metadata"]["name"])
    try:
        if reconciliation.refers_elsewhere(stored, expected):
            # The roleRef is immutable, so a binding to another role is replaced.
            await deletion.delete(resource, scope, DeleteOptions(uid=stored["metadata"]["uid"]))
            await _create(resource, expected)
        else:
            await updating.update(resource, scope, lambda now: reconciliation.reconciled(now, expected), _OPTIONS)
    except (Conflict, NotFound):
        return  # another server of this cluster was faster


def _call(obj: Object, *, name: str = "") -> Call:
    return Call(APISERVER, obj["metadata"].get("namespace", ""), name, user_agent=MANAGER)
