"""Create the default roles and bindings of a cluster, and reconcile existing ones."""

import asyncio
from collections.abc import Iterable
from typing import Final

from mockkube.api.errors import AlreadyExists, Conflict, NotFound
from mockkube.api.json_objects import Object
from mockkube.apiserver.authorization import bootstrap_policy, reconciliation
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, FIELD_MANAGER
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource

_OPTIONS: Final = WriteOptions(field_manager=FIELD_MANAGER)


async def bootstrap_rbac(registry: Registry, additional_objects: Iterable[Object] = ()) -> None:
    """Create and reconcile the roles and bindings of this version. The namespaces must exist.

    Additional objects are created, too, if they are missing.
    """
    # upstream 1.36: pkg/registry/rbac/rest/storage_rbac.go
    work = []
    for expected in bootstrap_policy.default_objects(registry.dependencies.capabilities):
        resource = registry.find_by_kind(expected["apiVersion"], expected["kind"])
        if resource is None:
            continue
        metadata = expected["metadata"]
        cached = resource.get_cached(metadata.get("namespace", ""), metadata["name"])
        if cached is None:
            work.append(_create(resource, expected))
        elif _needs_update(stored := cached.load(), expected):
            work.append(_reconcile(resource, stored, expected))
    for obj in additional_objects:
        resource = registry.find_by_kind(obj["apiVersion"], obj["kind"])
        if resource is not None and resource.get_cached("", obj["metadata"]["name"]) is None:
            work.append(_create(resource, obj))
    await asyncio.gather(*work)  # all at once: the store commits them together


def _needs_update(stored: Object, expected: Object) -> bool:
    if reconciliation.is_protected(stored):
        return False
    if reconciliation.has_other_role(stored, expected):
        return True
    return reconciliation.reconcile(stored, expected) != stored


async def _create(resource: Resource, obj: Object) -> None:
    scope = _scope(obj)
    try:
        await creation.create(resource, scope, resource.decode(obj, scope, "Ignore"), _OPTIONS)
    except AlreadyExists:
        return  # another server of this cluster was faster


async def _reconcile(resource: Resource, stored: Object, expected: Object) -> None:
    scope = _scope(expected, name=expected["metadata"]["name"])
    try:
        if reconciliation.has_other_role(stored, expected):
            # The roleRef is immutable, so a binding to another role is replaced.
            await deletion.delete(resource, scope, DeleteOptions(uid=stored["metadata"]["uid"]))
            await _create(resource, expected)
        else:
            await updating.update(resource, scope, lambda now: reconciliation.reconcile(now, expected), _OPTIONS)
    except (Conflict, NotFound):
        return  # another server of this cluster was faster


def _scope(obj: Object, *, name: str = "") -> RequestScope:
    return RequestScope(APISERVER_USER, obj["metadata"].get("namespace", ""), name, user_agent=FIELD_MANAGER)
