"""`scale`: the replicas of a workload as an object of its own.

upstream 1.36: pkg/registry/apps/deployment/storage/storage.go (ScaleREST)
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from mockkube.api.errors import Invalid, NotFound
from mockkube.api.fields import invalid
from mockkube.api.managed_fields.scale import bring_back, lend
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import patching, tracking, updating
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.patching import Patch, PatchType
from mockkube.apiserver.registry.resource import Call, Resource

SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"
Change = Callable[[Object], Object]


async def read(resource: Resource, call: Call) -> Object:
    """Return the Scale of a stored object."""
    await resource.services.cache.fresh()
    record = resource.record(call.namespace, call.name)
    if record is None:
        raise NotFound.for_object(resource.group, resource.plural, call.name)
    return await _of(resource, record)


async def write(resource: Resource, call: Call, change: Change, options: WriteOptions) -> Object:
    """Update the Scale of a stored object; `change` returns the new Scale."""

    scaling = resource.scaling

    def resized(old: Object) -> Object:
        paths = scaling.paths(resource.api_version)
        entries = old["metadata"].get("managedFields", [])
        current = scaling.current(old)
        # Managers of the replicas field appear in the Scale with the path it has there, and back again after the
        # change.
        if lent := lend(entries, paths):
            current["metadata"]["managedFields"] = lent
        wanted = change(current)
        _judge(resource, call, old, wanted)
        # Only the resourceVersion of the Scale is taken over; update() compares it with the stored one.
        version = old["metadata"]["resourceVersion"]
        metadata = {**old["metadata"], "resourceVersion": wanted["metadata"].get("resourceVersion") or version}
        managed = wanted["metadata"].get("managedFields", [])
        metadata["managedFields"] = bring_back(entries, managed, resource.api_version, paths)
        if not metadata["managedFields"]:
            del metadata["managedFields"]
        return {**scaling.resized(old, wanted), "metadata": metadata}

    updated = await updating.update(resource, call, resized, options, tracked=True)
    return await _of(resource, updated.record)


async def _of(resource: Resource, record: Record) -> Object:
    current = await resource.seen(record)
    return resource.scaling.of(resource.served(current.load()))


async def put(resource: Resource, call: Call, given: Object, options: WriteOptions) -> Object:
    """Replace the Scale of a stored object."""
    updating.check_identity(resource, call, given["metadata"])
    return await write(resource, call, _tracked(resource, call, lambda _: given, options), options)


async def patch(
    resource: Resource, call: Call, given: Patch, options: WriteOptions, decode: Callable[[Any], Object]
) -> Object:
    """Patch the Scale of a stored object; `decode` decodes the patched Scale."""
    node = resource.services.codec.schema.get_type(SCALE)
    if given.type is PatchType.JSON:
        typed = options.field_validation != "Ignore"
        given = replace(given, document=patching.operations(given, typed=typed))

    def patched(current: Object) -> Object:
        return decode(patching.patched(node, given, current))

    def applied(current: Object) -> Object:
        return decode(_applied(resource, call, given.document, options)(current))

    change = applied if given.type is PatchType.APPLY else _tracked(resource, call, patched, options)
    return await write(resource, call, change, options)


def _tracked(resource: Resource, call: Call, change: Change, options: WriteOptions) -> Change:
    """Return the change, extended to update the managedFields of the Scale."""
    tracker = resource.services.trackers.scale()
    write_now = tracking.write_of(resource, call, options)
    return lambda current: tracker.update(current, change(deepcopy(current)), write_now)


def _applied(resource: Resource, call: Call, document: Any, options: WriteOptions) -> Change:
    """Return the change that applies a document server-side."""
    tracker = resource.services.trackers.scale()
    write_now = tracking.write_of(resource, call, options)
    given = document if isinstance(document, dict) else {}
    return lambda current: tracking.applied_by(tracker, resource, call, current, given, write_now, options)


def _judge(resource: Resource, call: Call, old: ReadOnlyObject, wanted: ReadOnlyObject) -> None:
    uid = wanted["metadata"].get("uid", "")
    if uid and uid != old["metadata"]["uid"]:
        raise updating.broken_precondition(resource, call, "UID", uid, old["metadata"]["uid"])
    replicas = wanted.get("spec", {}).get("replicas", 0)
    if replicas < 0 and resource.scaling.judged:
        error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise Invalid("autoscaling", "Scale", call.name, [error])
