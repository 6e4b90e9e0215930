"""Delete objects: preconditions, grace periods, finalizers and propagation policies.

upstream 1.36: apiserver/pkg/registry/generic/registry/store.go (Delete), rest/delete.go
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors

from mockkube.api.custom.conditions import mark_for_cleanup
from mockkube.api.errors import Conflict, Forbidden, NotFound, make_details
from mockkube.api.times import parse_time, render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry.admission import Operation, Request
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.creation import DEFINITIONS, SERVICES, unstored, written
from mockkube.apiserver.registry.options import DeleteOptions
from mockkube.apiserver.registry.resource import Call, Resource

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
# Kinds whose deletion upstream answers with the deleted object instead of a Status, and publishes so in OpenAPI.
RETURNED_WHEN_DELETED: Final = frozenset({
    ("", "PersistentVolume"), ("", "PersistentVolumeClaim"), ("", "Pod"), ("", "PodTemplate"), ("", "ResourceQuota"),
    ("", "Service"), ("", "ServiceAccount"),
    ("resource.k8s.io", "DeviceClass"), ("resource.k8s.io", "DeviceTaintRule"), ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"), ("resource.k8s.io", "ResourcePoolStatusRequest"),
    ("resource.k8s.io", "ResourceSlice"),
    ("storage.k8s.io", "CSIDriver"), ("storage.k8s.io", "CSINode"), ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"), ("storage.k8s.io", "VolumeAttributesClass"),
})  # fmt: skip
_RETURNED_UNANNOUNCED: Final = ("", "Namespace")
# Resources whose dependents are orphaned by default, for clients that predate propagation policies.
_ORPHANING: Final = frozenset({("", "replicationcontrollers"), ("batch", "jobs")})
_CLASSES: Final = ("scheduling.k8s.io", "priorityclasses")
_SYSTEM_CLASSES: Final = ("system-node-critical", "system-cluster-critical")
_JOBS_ORPHAN: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


@dataclass(frozen=True, slots=True)
class Deleted:
    """Result of a deletion: the object or a Status, and whether the object is gone."""

    record: Record | None
    status: Object | None
    gone: bool


async def delete(resource: Resource, call: Call, options: DeleteOptions) -> Deleted:
    """Delete one object, now or after its grace period and finalizers."""
    storage = resource.home
    # The cache may lag behind a creation that another server has just answered.
    if storage.record(call.namespace, call.name) is None:
        await storage.services.cache.fresh()
    while True:
        record = storage.record(call.namespace, call.name)
        if record is None:
            raise NotFound.for_object(resource.group, resource.plural, call.name)
        # Upstream rejects this in the registry of priority classes, whatever the authorizer and admission say.
        if (storage.group, storage.plural) == _CLASSES and call.name in _SYSTEM_CLASSES:
            why = "this is a system priority class and cannot be deleted"
            raise Forbidden.for_object(resource.group, resource.plural, call.name, why)
        try:
            return await _attempt(resource, call, record, options)
        # Another write came first. Preconditions and admission apply to the new state, so everything is repeated.
        except store_errors.Conflict as conflict:
            await storage.services.cache.reach(revision_after(conflict, storage))


def revision_after(conflict: store_errors.Conflict, home: Resource) -> int:
    """Return the revision the cache must reach to show the write that caused a conflict."""
    return conflict.current.revision if conflict.current else home.services.store.revision


async def _attempt(resource: Resource, call: Call, record: Record, options: DeleteOptions) -> Deleted:
    """Check, admit and delete one state of the object; raise Conflict if it has changed meanwhile."""
    storage = resource.home
    (record,) = await resource.all_seen((record,))
    old = record.load()
    # Namespaces and CRDs have a REST implementation of their own upstream, with other texts.
    if (storage.group, storage.plural) in (("", "namespaces"), DEFINITIONS):
        _check_namespace_preconditions(resource, call, old, options)
    else:
        _check_preconditions(resource, call, old, options)
    request = Request(Operation.DELETE, resource, call, None, old, dry_run=options.dry_run)
    await resource.decided(partial(storage.services.admission.admit, request), len(record.tail))
    await storage.services.admission.amend(request)
    await resource.decided(partial(storage.services.admission.validate, request), len(record.tail))
    await storage.services.admission.settle(request)
    if (storage.group, storage.plural) in _ORPHANING:
        options = replace(options, orphans_by_default=True)
        if storage.plural == "jobs" and options.propagation is None and options.orphan_dependents is None:
            call.warn([_JOBS_ORPHAN])
    return await _finish(resource, record, old, options)


async def _finish(resource: Resource, record: Record, old: ReadOnlyObject, options: DeleteOptions) -> Deleted:
    """Store what the admitted deletion makes of the object, or remove it."""
    storage = resource.home
    new, gone = decide(storage, record.load(), options)
    # Finalizers and deletion timestamp are written even if the object is removed right after: watchers see both.
    if new != old:
        record = await _write(storage, record, await resource.laid_down(new), dry_run=options.dry_run)
    if not gone:
        return Deleted(record, None, gone=False)
    return await _remove(resource, record, dry_run=options.dry_run)


def _check_preconditions(resource: Resource, call: Call, old: ReadOnlyObject, options: DeleteOptions) -> None:
    # upstream 1.36: apiserver/pkg/registry/rest/delete.go; the error names the kind where others name the resource
    metadata = old["metadata"]
    if options.uid is not None and options.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise Conflict.for_object(resource.group, resource.kind.kind, call.name, why)
    if options.resource_version is not None and options.resource_version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise Conflict.for_object(resource.group, resource.kind.kind, call.name, why)


def _check_namespace_preconditions(resource: Resource, call: Call, old: ReadOnlyObject, options: DeleteOptions) -> None:
    # upstream 1.36: pkg/registry/core/namespace/storage/storage.go
    uid = old["metadata"]["uid"]
    if options.uid is not None and options.uid != uid:
        why = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {uid}"
        raise Conflict.for_object(resource.group, resource.plural, call.name, why)
    version = old["metadata"]["resourceVersion"]
    if options.resource_version is not None and options.resource_version != version:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {options.resource_version}, "
            f"ResourceVersion in object meta: {version}"
        )
        raise Conflict.for_object(resource.group, resource.plural, call.name, why)


def _decide_namespace(obj: Object, options: DeleteOptions, now: datetime) -> tuple[Object, bool]:
    """Mark a namespace as Terminating; it is gone once it has no finalizers in spec or metadata."""
    metadata = obj["metadata"]
    pending = _finalized(metadata, options)
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = render_time(now)
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}
    return obj, not pending and not obj.get("spec", {}).get("finalizers")


def decide(home: Resource, obj: Object, options: DeleteOptions) -> tuple[Object, bool]:
    """Return the object as the deletion leaves it, and whether it can be removed immediately."""
    # upstream 1.36: apiserver/pkg/registry/generic/registry/store.go, rest/delete.go
    metadata, now = obj["metadata"], home.services.clock.now()
    if (home.group, home.plural) == ("", "namespaces"):
        return _decide_namespace(obj, options, now)
    if (home.group, home.plural) == DEFINITIONS and "deletionTimestamp" not in metadata:
        return mark_for_cleanup(obj, render_time(now)), False
    requested = options.grace_seconds
    # API: a negative grace period means 1 second, since 0 would delete immediately.
    if requested is not None and requested < 0:
        requested = 1
    if "deletionTimestamp" in metadata and (left := metadata.get("deletionGracePeriodSeconds", 0)):
        # A grace period can only become shorter.
        if requested is None or requested >= left:
            return obj, False
        _shorten(metadata, left, requested, now)
        return obj, requested == 0 and not _finalized(metadata, options)
    # An object that is being deleted already only waits for its finalizers.
    grace = None if "deletionTimestamp" in metadata else home.strategy.grace_seconds(obj, requested)
    finalizers = metadata.get("finalizers")
    pending = _finalized(metadata, options)
    if grace is None:
        if pending:
            _mark(metadata, now)
        elif finalizers:
            # An object without pending finalizers is removed unchanged: the GC finalizers are not dropped before.
            metadata["finalizers"] = finalizers
        return obj, not pending
    _mark(metadata, _later(now, grace), grace)
    return obj, grace == 0 and not pending


def _later(moment: datetime, seconds: int) -> datetime:
    """Return the time that many seconds later, limited to the last one that datetime knows."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=moment.tzinfo)


def _shorten(metadata: Object, left: int, requested: int, now: datetime) -> None:
    """Shorten the grace period of an object that is being deleted."""
    until = _later(parse_time(metadata["deletionTimestamp"]), requested - left)
    if until < now:
        # The shorter period has passed already, so the object goes now.
        until, requested = now, min(requested, 1)
    metadata["deletionTimestamp"] = render_time(until)
    metadata["deletionGracePeriodSeconds"] = requested


def _mark(metadata: Object, until: datetime, grace: int = 0) -> None:
    """Set deletionTimestamp and grace period; the first time also increases the generation."""
    if "deletionTimestamp" not in metadata:
        if metadata.get("generation", 0) > 0:
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = render_time(until)
    metadata["deletionGracePeriodSeconds"] = grace


def _finalized(metadata: Object, options: DeleteOptions) -> bool:
    """Set the finalizers of the garbage collector; return whether any finalizers are left."""
    finalizers = metadata.get("finalizers", [])
    orphan = _wants(options, "Orphan", finalizers, ORPHAN)
    foreground = _wants(options, "Foreground", finalizers, FOREGROUND)
    kept = [one for one in finalizers if one not in (ORPHAN, FOREGROUND)]
    kept += [ORPHAN] * orphan + [FOREGROUND] * foreground
    if sorted(kept) != sorted(finalizers):
        metadata["finalizers"] = finalizers = kept
        if not kept:
            del metadata["finalizers"]
    return bool(finalizers)


def _wants(options: DeleteOptions, policy: str, finalizers: list[str], finalizer: str) -> bool:
    """Return whether a propagation policy applies: from the options, the finalizers, or the kind's default."""
    # The deprecated orphanDependents wins over everything; validation rejects it together with a policy.
    if options.orphan_dependents is not None:
        return options.orphan_dependents and policy == "Orphan"
    if options.propagation is not None:
        return options.propagation == policy
    # Finalizers of an earlier deletion, or set by a client, decide when this request leaves it open.
    if ORPHAN in finalizers or FOREGROUND in finalizers:
        return finalizer in finalizers
    return policy == "Orphan" and options.orphans_by_default


async def _write(home: Resource, record: Record, new: Object, *, dry_run: bool) -> Record:
    if dry_run:
        kept = unstored(home, new, record.revision)
        kept.key, kept.revision = record.key, record.revision
        return kept
    value = encoding.to_stored(new, home.tag)
    entry = await home.services.store.update(record.key, value, expected=record.revision)
    await home.services.cache.reach(entry.revision)
    return written(home, entry)


async def _remove(resource: Resource, record: Record, *, dry_run: bool) -> Deleted:
    """Remove the object from the store, and what belongs to it."""
    storage = resource.home
    if not dry_run:
        entry = await storage.services.store.delete(record.key, expected=record.revision)
        await storage.services.cache.reach(entry.revision)
        record = written(storage, entry)
        await take_along(storage, record)
    kind = (storage.group, storage.kind.kind)
    if kind in RETURNED_WHEN_DELETED or kind == _RETURNED_UNANNOUNCED:
        return Deleted(record, None, gone=True)
    return Deleted(None, success(resource, record), gone=True)


async def take_along(home: Resource, record: Record) -> None:
    """Delete the endpoints of a deleted service, and release its addresses."""
    # upstream 1.36: pkg/registry/core/service/storage/storage.go, afterDelete: nobody admits this
    if (home.group, home.plural) != SERVICES:
        return
    if home.services.service_stored is not None:
        await home.services.service_stored(None, record.load())
    endpoints = home.services.find("", "endpoints")
    assert endpoints is not None, "services and endpoints are served together"
    while (left := endpoints.record(record.namespace, record.name)) is not None:
        try:
            await _finish(endpoints, left, left.load(), DeleteOptions())
            return
        except store_errors.Conflict as conflict:
            await home.services.cache.reach(revision_after(conflict, home))


def success(resource: Resource, record: Record) -> Object:
    """Return the Status of a finished deletion."""
    uid = record.load()["metadata"]["uid"]
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": make_details(resource.group, resource.plural, record.name, uid=uid),
    }
