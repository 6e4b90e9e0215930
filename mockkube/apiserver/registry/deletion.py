"""Delete objects: preconditions, grace periods, finalizers and propagation policies.

upstream 1.36: apiserver/pkg/registry/generic/registry/store.go (Delete), rest/delete.go
"""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors

from mockkube.api.custom.crd_conditions import mark_for_deletion
from mockkube.api.errors import Conflict, Forbidden, NotFound, make_details
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_time, render_time
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.creation import CRDS, SERVICES, dry_run_result, find_written
from mockkube.apiserver.registry.options import DeleteOptions
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.lazy_dataclasses import dataclass

ORPHAN_FINALIZER: Final = "orphan"
FOREGROUND_FINALIZER: Final = "foregroundDeletion"
# Kinds whose deletion upstream answers with the deleted object instead of a Status, and publishes so in OpenAPI.
RETURNS_DELETED_OBJECT: Final = frozenset({
    ("", "PersistentVolume"), ("", "PersistentVolumeClaim"), ("", "Pod"), ("", "PodTemplate"), ("", "ResourceQuota"),
    ("", "Service"), ("", "ServiceAccount"),
    ("resource.k8s.io", "DeviceClass"), ("resource.k8s.io", "DeviceTaintRule"), ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"), ("resource.k8s.io", "ResourcePoolStatusRequest"),
    ("resource.k8s.io", "ResourceSlice"),
    ("storage.k8s.io", "CSIDriver"), ("storage.k8s.io", "CSINode"), ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"), ("storage.k8s.io", "VolumeAttributesClass"),
})  # fmt: skip
_RETURNS_OBJECT_UNPUBLISHED: Final = ("", "Namespace")
# Resources whose dependents are orphaned by default, for clients that predate propagation policies.
_ORPHANS_BY_DEFAULT: Final = frozenset({("", "replicationcontrollers"), ("batch", "jobs")})
_PRIORITY_CLASSES: Final = ("scheduling.k8s.io", "priorityclasses")
_SYSTEM_CLASSES: Final = ("system-node-critical", "system-cluster-critical")
_JOB_ORPHAN_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


@dataclass(frozen=True, slots=True)
class DeletionResult:
    """Result of a deletion: the object or a Status, and whether the object is gone."""

    object: CachedObject | None
    status: Object | None
    is_gone: bool


async def delete(resource: Resource, scope: RequestScope, options: DeleteOptions) -> DeletionResult:
    """Delete one object, now or after its grace period and finalizers."""
    storage_resource = resource.storage_resource
    # The cache may lag behind a creation that another server has just answered.
    if storage_resource.get_cached(scope.namespace, scope.name) is None:
        await storage_resource.dependencies.watch_cache.wait_until_fresh()
    while True:
        cached = storage_resource.get_cached(scope.namespace, scope.name)
        if cached is None:
            raise NotFound.for_object(resource.group, resource.plural, scope.name)
        # Upstream rejects this in the registry of priority classes, whatever the authorizer and admission say.
        if (storage_resource.group, storage_resource.plural) == _PRIORITY_CLASSES and scope.name in _SYSTEM_CLASSES:
            why = "this is a system priority class and cannot be deleted"
            raise Forbidden.for_object(resource.group, resource.plural, scope.name, why)
        try:
            return await _try_delete(resource, scope, cached, options)
        except Conflict:
            # A precondition may name a state that another server has stored, and that the cache has not seen.
            if not await is_outdated(storage_resource, cached):
                raise
        # Another write came first. Preconditions and admission apply to the new state, so everything is repeated.
        except store_errors.Conflict as conflict:
            await storage_resource.dependencies.watch_cache.wait_until_at(
                revision_of_conflict(conflict, storage_resource)
            )


async def is_outdated(storage_resource: Resource, cached: CachedObject) -> bool:
    """Wait until the cache is fresh; return whether the object has changed."""
    await storage_resource.dependencies.watch_cache.wait_until_fresh()
    return storage_resource.collection.get(cached.key) is not cached


def revision_of_conflict(conflict: store_errors.Conflict, storage_resource: Resource) -> int:
    """Return the revision the cache must reach to show the write that caused a conflict."""
    return conflict.current.revision if conflict.current else storage_resource.dependencies.store.revision


async def _try_delete(
    resource: Resource, scope: RequestScope, cached: CachedObject, options: DeleteOptions
) -> DeletionResult:
    """Check, admit and delete one state of the object; raise Conflict if it has changed meanwhile."""
    storage_resource = resource.storage_resource
    (cached,) = await resource.convert_all_for_reading((cached,))
    old = cached.load()
    # Namespaces and CRDs have a REST implementation of their own upstream, with other texts.
    if (storage_resource.group, storage_resource.plural) in (("", "namespaces"), CRDS):
        _check_namespace_preconditions(resource, scope, old, options)
    else:
        _check_preconditions(resource, scope, old, options)
    request = AdmissionAttributes(Operation.DELETE, resource, scope, None, old, dry_run=options.dry_run)
    await resource.run_with_conversions(partial(storage_resource.dependencies.admission.admit, request), cached.size)
    await storage_resource.dependencies.admission.admit_async(request)
    await resource.run_with_conversions(partial(storage_resource.dependencies.admission.validate, request), cached.size)
    await storage_resource.dependencies.admission.validate_async(request)
    if (storage_resource.group, storage_resource.plural) in _ORPHANS_BY_DEFAULT:
        options = replace(options, orphans_by_default=True)
        if storage_resource.plural == "jobs" and options.propagation is None and options.orphan_dependents is None:
            scope.warn([_JOB_ORPHAN_WARNING])
    return await _delete_admitted(resource, cached, old, options)


async def _delete_admitted(
    resource: Resource, cached: CachedObject, old: ReadOnlyObject, options: DeleteOptions
) -> DeletionResult:
    """Store what the admitted deletion makes of the object, or remove it."""
    storage_resource = resource.storage_resource
    new, gone = before_delete(storage_resource, cached.load(), options)
    # Finalizers and deletion timestamp are written even if the object is removed right after: watchers see both.
    if new != old:
        cached = await _update(
            storage_resource, cached, await resource.convert_for_storing(new), dry_run=options.dry_run
        )
    if not gone:
        return DeletionResult(cached, None, is_gone=False)
    return await _remove(resource, cached, dry_run=options.dry_run)


def _check_preconditions(resource: Resource, scope: RequestScope, old: ReadOnlyObject, options: DeleteOptions) -> None:
    # upstream 1.36: apiserver/pkg/registry/rest/delete.go; the error names the kind where others name the resource
    metadata = old["metadata"]
    if options.uid is not None and options.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise Conflict.for_object(resource.group, resource.kind.kind, scope.name, why)
    if options.resource_version is not None and options.resource_version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise Conflict.for_object(resource.group, resource.kind.kind, scope.name, why)


def _check_namespace_preconditions(
    resource: Resource, scope: RequestScope, old: ReadOnlyObject, options: DeleteOptions
) -> None:
    # upstream 1.36: pkg/registry/core/namespace/storage/storage.go
    uid = old["metadata"]["uid"]
    if options.uid is not None and options.uid != uid:
        why = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {uid}"
        raise Conflict.for_object(resource.group, resource.plural, scope.name, why)
    version = old["metadata"]["resourceVersion"]
    if options.resource_version is not None and options.resource_version != version:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {options.resource_version}, "
            f"ResourceVersion in object meta: {version}"
        )
        raise Conflict.for_object(resource.group, resource.plural, scope.name, why)


def _before_delete_namespace(obj: Object, options: DeleteOptions, now: datetime) -> tuple[Object, bool]:
    """Mark a namespace as Terminating; it is gone once it has no finalizers in spec or metadata."""
    metadata = obj["metadata"]
    pending = _update_gc_finalizers(metadata, options)
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = render_time(now)
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}
    return obj, not pending and not obj.get("spec", {}).get("finalizers")


def before_delete(storage_resource: Resource, obj: Object, options: DeleteOptions) -> tuple[Object, bool]:
    """Return the object as the deletion leaves it, and whether it can be removed immediately."""
    # upstream 1.36: apiserver/pkg/registry/generic/registry/store.go, rest/delete.go
    metadata, now = obj["metadata"], storage_resource.dependencies.clock.now()
    if (storage_resource.group, storage_resource.plural) == ("", "namespaces"):
        return _before_delete_namespace(obj, options, now)
    if (storage_resource.group, storage_resource.plural) == CRDS and "deletionTimestamp" not in metadata:
        return mark_for_deletion(obj, render_time(now)), False
    requested = options.grace_seconds
    # API: a negative grace period means 1 second, since 0 would delete immediately.
    if requested is not None and requested < 0:
        requested = 1
    if "deletionTimestamp" in metadata and (left := metadata.get("deletionGracePeriodSeconds", 0)):
        # A grace period can only become shorter.
        if requested is None or requested >= left:
            return obj, False
        _shorten_grace_period(metadata, left, requested, now)
        return obj, requested == 0 and not _update_gc_finalizers(metadata, options)
    # An object that is being deleted already only waits for its finalizers.
    grace = None if "deletionTimestamp" in metadata else storage_resource.strategy.grace_seconds(obj, requested)
    finalizers = metadata.get("finalizers")
    pending = _update_gc_finalizers(metadata, options)
    if grace is None:
        if pending:
            _set_deletion_timestamp(metadata, now)
        elif finalizers:
            # An object without pending finalizers is removed unchanged: the GC finalizers are not dropped before.
            metadata["finalizers"] = finalizers
        return obj, not pending
    _set_deletion_timestamp(metadata, _add_seconds(now, grace), grace)
    return obj, grace == 0 and not pending


def _add_seconds(moment: datetime, seconds: int) -> datetime:
    """Return the time that many seconds later, limited to the last one that datetime knows."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=moment.tzinfo)


def _shorten_grace_period(metadata: Object, left: int, requested: int, now: datetime) -> None:
    """Shorten the grace period of an object that is being deleted."""
    until = _add_seconds(parse_time(metadata["deletionTimestamp"]), requested - left)
    if until < now:
        # The shorter period has passed already, so the object goes now.
        until, requested = now, min(requested, 1)
    metadata["deletionTimestamp"] = render_time(until)
    metadata["deletionGracePeriodSeconds"] = requested


def _set_deletion_timestamp(metadata: Object, until: datetime, grace: int = 0) -> None:
    """Set deletionTimestamp and grace period; the first time also increases the generation."""
    if "deletionTimestamp" not in metadata:
        if metadata.get("generation", 0) > 0:
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = render_time(until)
    metadata["deletionGracePeriodSeconds"] = grace


def _update_gc_finalizers(metadata: Object, options: DeleteOptions) -> bool:
    """Set the finalizers of the garbage collector; return whether any finalizers are left."""
    finalizers = metadata.get("finalizers", [])
    orphan = _uses_policy(options, "Orphan", finalizers, ORPHAN_FINALIZER)
    foreground = _uses_policy(options, "Foreground", finalizers, FOREGROUND_FINALIZER)
    kept = [one for one in finalizers if one not in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)]
    kept += [ORPHAN_FINALIZER] * orphan + [FOREGROUND_FINALIZER] * foreground
    if sorted(kept) != sorted(finalizers):
        metadata["finalizers"] = finalizers = kept
        if not kept:
            del metadata["finalizers"]
    return bool(finalizers)


def _uses_policy(options: DeleteOptions, policy: str, finalizers: list[str], finalizer: str) -> bool:
    """Return whether a propagation policy applies: from the options, the finalizers, or the kind's default."""
    # The deprecated orphanDependents wins over everything; validation rejects it together with a policy.
    if options.orphan_dependents is not None:
        return options.orphan_dependents and policy == "Orphan"
    if options.propagation is not None:
        return options.propagation == policy
    # Finalizers of an earlier deletion, or set by a client, decide when this request leaves it open.
    if ORPHAN_FINALIZER in finalizers or FOREGROUND_FINALIZER in finalizers:
        return finalizer in finalizers
    return policy == "Orphan" and options.orphans_by_default


async def _update(storage_resource: Resource, cached: CachedObject, new: Object, *, dry_run: bool) -> CachedObject:
    if dry_run:
        result = dry_run_result(storage_resource, new, cached.revision)
        result.key, result.revision = cached.key, cached.revision
        return result
    value = encoding.encode_stored(new, storage_resource.tag)
    entry = await storage_resource.dependencies.store.update(cached.key, value, expected=cached.revision)
    await storage_resource.dependencies.watch_cache.wait_until_at(entry.revision)
    return find_written(storage_resource, entry)


async def _remove(resource: Resource, cached: CachedObject, *, dry_run: bool) -> DeletionResult:
    """Remove the object from the store, and what belongs to it."""
    storage_resource = resource.storage_resource
    if not dry_run:
        entry = await storage_resource.dependencies.store.delete(cached.key, expected=cached.revision)
        await storage_resource.dependencies.watch_cache.wait_until_at(entry.revision)
        cached = find_written(storage_resource, entry)
        await after_delete(storage_resource, cached)
    kind = (storage_resource.group, storage_resource.kind.kind)
    if kind in RETURNS_DELETED_OBJECT or kind == _RETURNS_OBJECT_UNPUBLISHED:
        return DeletionResult(cached, None, is_gone=True)
    return DeletionResult(None, success_status(resource, cached), is_gone=True)


async def after_delete(storage_resource: Resource, cached: CachedObject) -> None:
    """Delete the endpoints of a deleted service, and release its addresses."""
    # upstream 1.36: pkg/registry/core/service/storage/storage.go, afterDelete
    # No admission: the registry itself deletes the endpoints.
    if (storage_resource.group, storage_resource.plural) != SERVICES:
        return
    if storage_resource.dependencies.on_service_stored is not None:
        await storage_resource.dependencies.on_service_stored(None, cached.load())
    endpoints = storage_resource.dependencies.find_storage_resource("", "endpoints")
    assert endpoints is not None, "services and endpoints are served together"
    while (left := endpoints.get_cached(cached.namespace, cached.name)) is not None:
        try:
            await _delete_admitted(endpoints, left, left.load(), DeleteOptions())
            return
        except store_errors.Conflict as conflict:
            await storage_resource.dependencies.watch_cache.wait_until_at(
                revision_of_conflict(conflict, storage_resource)
            )


def success_status(resource: Resource, cached: CachedObject) -> Object:
    """Return the Status of a finished deletion."""
    uid = cached.load()["metadata"].get("uid", "")  # damaged objects have none
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": make_details(resource.group, resource.plural, cached.name, uid=uid),
    }
