"""`scale`: the replicas of a workload as an object of its own.

upstream 1.36: pkg/registry/apps/deployment/storage/storage.go (ScaleREST)
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from mockkube.api.errors import Invalid, NotFound
from mockkube.api.fields import invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.scale import to_parent_entries, to_scale_entries
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.registry import managed_fields, patching, updating
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.patching import Patch
from mockkube.apiserver.registry.resource import RequestScope, Resource

SCALE_SCHEMA: Final = "io.k8s.api.autoscaling.v1.Scale"
ScaleChange = Callable[[Object], Object]


async def read_scale(resource: Resource, scope: RequestScope) -> Object:
    """Return the Scale of a stored object."""
    await resource.dependencies.watch_cache.wait_until_fresh()
    cached = resource.get_cached(scope.namespace, scope.name)
    if cached is None:
        raise NotFound.for_object(resource.group, resource.plural, scope.name)
    return await convert_to_scale(resource, cached)


async def update_scale(resource: Resource, scope: RequestScope, change: ScaleChange, options: WriteOptions) -> Object:
    """Update the Scale of a stored object; `change` returns the new Scale."""

    scaling = resource.scale_mapper

    def resize(old: Object) -> Object:
        paths = scaling.replicas_paths(resource.api_version)
        entries = old["metadata"].get("managedFields", [])
        current = scaling.to_current_scale(old)
        # Managers of the replicas field appear in the Scale with the path it has there, and back again after the
        # change.
        if lent := to_scale_entries(entries, paths):
            current["metadata"]["managedFields"] = lent
        wanted = change(current)
        _validate(resource, scope, old, wanted)
        # Only the resourceVersion of the Scale is taken over; update() compares it with the stored one.
        version = old["metadata"]["resourceVersion"]
        metadata = {**old["metadata"], "resourceVersion": wanted["metadata"].get("resourceVersion") or version}
        managed = wanted["metadata"].get("managedFields", [])
        metadata["managedFields"] = to_parent_entries(entries, managed, resource.api_version, paths)
        if not metadata["managedFields"]:
            del metadata["managedFields"]
        return {**scaling.with_replicas(old, wanted), "metadata": metadata}

    updated = await updating.update(resource, scope, resize, options, managers_updated=True)
    return await convert_to_scale(resource, updated.object)


async def convert_to_scale(resource: Resource, cached: CachedObject) -> Object:
    """Return the Scale of a stored object, as the resource's version has it."""
    current = await resource.convert_for_reading(cached)
    return resource.scale_mapper.to_scale(resource.to_served_version(current.load()))


async def replace_scale(resource: Resource, scope: RequestScope, given: Object, options: WriteOptions) -> Object:
    """Replace the Scale of a stored object."""
    updating.check_identity(resource, scope, given["metadata"])
    return await update_scale(resource, scope, _with_managed_fields(resource, scope, lambda _: given, options), options)


async def patch_scale(
    resource: Resource, scope: RequestScope, patch: Patch, options: WriteOptions, decode: Callable[[Any], Object]
) -> Object:
    """Patch the Scale of a stored object; `decode` decodes the patched Scale."""
    node = resource.dependencies.codec.schema.get_type(SCALE_SCHEMA)
    if patch.type is PatchType.JSON:
        typed = options.field_validation != "Ignore"
        patch = replace(patch, document=patching.read_json_patch(patch, typed=typed))

    def apply_patch(current: Object) -> Object:
        return decode(patching.apply_patch(node, patch, current))

    def apply_document(current: Object) -> Object:
        return decode(_apply_document(resource, scope, patch.document, options)(current))

    change = (
        apply_document if patch.type is PatchType.APPLY else _with_managed_fields(resource, scope, apply_patch, options)
    )
    return await update_scale(resource, scope, change, options)


def _with_managed_fields(
    resource: Resource, scope: RequestScope, change: ScaleChange, options: WriteOptions
) -> ScaleChange:
    """Return the change, extended to update the managedFields of the Scale."""
    tracker = resource.dependencies.managed_fields_updaters.for_scale()
    write_now = managed_fields.write_info(resource, scope, options)
    return lambda current: tracker.update(current, change(deepcopy(current)), write_now)


def _apply_document(resource: Resource, scope: RequestScope, document: Any, options: WriteOptions) -> ScaleChange:
    """Return the change that applies a document server-side."""
    tracker = resource.dependencies.managed_fields_updaters.for_scale()
    write_now = managed_fields.write_info(resource, scope, options)
    given = document if isinstance(document, dict) else {}
    return lambda current: managed_fields.apply_with(tracker, resource, scope, current, given, write_now, options)


def _validate(resource: Resource, scope: RequestScope, old: ReadOnlyObject, wanted: ReadOnlyObject) -> None:
    uid = wanted["metadata"].get("uid", "")
    if uid and uid != old["metadata"]["uid"]:
        raise updating.precondition_failed(resource, scope, "UID", uid, old["metadata"]["uid"])
    replicas = wanted.get("spec", {}).get("replicas", 0)
    if replicas < 0 and resource.scale_mapper.validates_replicas:
        error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise Invalid("autoscaling", "Scale", scope.name, [error])
