"""Update objects: read, change, admit, prepare, validate, store; retry on conflicts.

upstream 1.36: apiserver/pkg/registry/generic/registry/store.go (Update), rest/update.go
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors

from mockkube.api import fields, names
from mockkube.api.errors import BadRequest, Conflict, Invalid, NotFound
from mockkube.api.managed_fields.tracking import keep_times
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.metadata import (
    validate_metadata,
    validate_metadata_update,
    validate_native_metadata_update,
)
from mockkube.apiserver.registry import creation, tracking
from mockkube.apiserver.registry.admission import Operation, Request
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.creation import place, unstored, written
from mockkube.apiserver.registry.deletion import revision_after, take_along
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource, result_without_reason, spec_equal

# Attempts of an update without a resourceVersion against concurrent writes.
TRIES_MAX: Final = 100

Change = Callable[[Object], Object]
"""Function from the current object, a copy in the served version, to the new one."""


@dataclass(frozen=True, slots=True)
class Updated:
    """Result of an update."""

    record: Record
    created: bool = False


async def replace(resource: Resource, call: Call, obj: Object, options: WriteOptions) -> Updated:
    """Replace the stored object with this one, of the resource's version."""
    check_identity(resource, call, obj["metadata"])
    uid = obj["metadata"].get("uid", "")

    def whole(old: Object) -> Object:
        if uid and uid != old["metadata"]["uid"]:
            raise broken_precondition(resource, call, "UID", uid, old["metadata"]["uid"])
        return {**obj, "metadata": dict(obj["metadata"])}

    # Some kinds can be created by PUT. The cache must be fresh to know that the object does not exist.
    if resource.record(call.namespace, call.name) is None and not call.subresource:
        await resource.services.cache.fresh()
        if resource.record(call.namespace, call.name) is None:
            return await _create_on_update(resource, call, obj, options)
    return await update(resource, call, whole, options)


def check_identity(resource: Resource, call: Call, metadata: Object) -> None:
    """Raise BadRequest unless name and namespace match the path; set an absent namespace."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/rest.go
    name = metadata.get("name")
    if not name:
        why = "name must be provided"
        raise BadRequest(f"the name of the object ({call.name} based on URL) was undeterminable: {why}")
    if name != call.name:
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({call.name})")
    place(metadata, call.namespace if resource.kind.namespaced else "")


def broken_precondition(resource: Resource, call: Call, what: str, asked: str, actual: str) -> Conflict:
    """Return the error of upstream's storage layer for a uid or version that does not match."""
    key = resource.etcd_key(call.namespace, call.name)
    why = f"Precondition failed: {what} in precondition: {asked}, {what} in object meta: {actual}"
    text = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    return Conflict.for_object(resource.group, resource.plural, call.name, text)


async def _create_on_update(resource: Resource, call: Call, obj: Object, options: WriteOptions) -> Updated:
    metadata = obj["metadata"]
    if not resource.strategy.allow_create_on_update:
        raise NotFound.for_object(resource.group, resource.plural, call.name)
    if metadata.get("uid"):
        raise broken_precondition(resource, call, "UID", metadata["uid"], "")
    metadata.pop("resourceVersion", None)
    return Updated(await creation.create(resource, call, obj, options), created=True)


async def update(
    resource: Resource, call: Call, change: Change, options: WriteOptions, *, tracked: bool = False
) -> Updated:
    """Apply a change to the stored object. A resourceVersion in the new object must be the current one.

    `managers_updated`: the change sets managedFields itself, or they are not to be updated.
    """
    services, storage = resource.services, resource.home
    for _ in range(TRIES_MAX):
        (record,) = await resource.all_seen((await _current(resource, call),))
        old = record.load()
        changed = partial(_changed, resource, call, record, change, options, tracked=tracked)
        new = await resource.decided(changed, _size(call, record))
        try:
            return await _attempt(resource, call, _Live(record, old), new, options)
        except store_errors.Conflict as conflict:
            # A client that named the replaced resourceVersion gets a Conflict in the next attempt; a patch is applied
            # to the new state.
            await services.cache.reach(revision_after(conflict, storage))
    raise Conflict.for_modified_object(resource.group, resource.plural, call.name)


def _changed(
    resource: Resource, call: Call, record: Record, change: Change, options: WriteOptions, *, tracked: bool
) -> Object:
    """Apply the change, update managedFields, and convert the result to the storage version."""
    new = change(resource.served(record.load()))
    if not tracked:
        # Loaded again, because the change may have modified its copy in place.
        new = tracking.track(resource, call, resource.served(record.load()), new, options)
    return resource.stored(new)


def _size(call: Call, record: Record) -> int:
    """Return the bytes that an update handles."""
    return call.size + len(record.tail)


async def _current(resource: Resource, call: Call) -> Record:
    """Return the stored object; raise NotFound if there is none in the store either."""
    record = resource.home.record(call.namespace, call.name)
    if record is None:
        await resource.services.cache.fresh()
        record = resource.home.record(call.namespace, call.name)
    if record is None:
        raise NotFound.for_object(resource.group, resource.plural, call.name)
    return record


@dataclass(frozen=True, slots=True)
class _Live:
    """Stored object that an update starts from."""

    record: Record
    obj: Object


async def _attempt(resource: Resource, call: Call, live: _Live, new: Object, options: WriteOptions) -> Updated:
    services, storage = resource.services, resource.home
    record, old = live.record, live.obj
    _check_version(resource, call, new, record)
    request = Request(Operation.UPDATE, resource, call, new, old, dry_run=options.dry_run)
    size = _size(call, record)
    await resource.decided(partial(services.admission.admit, request), size)
    await services.admission.amend(request)
    new = request.given
    # Subresources such as status cannot change addresses or ports.
    whole = not call.subresource
    reserved = services.allocators.reserve(storage, new, old, dry_run=options.dry_run) if whole else None
    try:
        _prepare(resource, call, new, old)
        request.obj = new = await services.heavy.run(size, partial(_validated, resource, call, new, old))
        await resource.decided(partial(services.admission.validate, request), size)
        await services.admission.settle(request)
        # Strategies and webhooks cannot change the version; equality with the old object is compared next.
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        return await _write(storage, record, request, options)
    finally:
        if reserved is not None:
            reserved.release()  # a stored service holds its addresses through the collection


async def _write(home: Resource, record: Record, request: Request, options: WriteOptions) -> Updated:
    new, old = request.obj, request.old
    assert new is not None
    assert old is not None
    # upstream: an update that changes nothing is not written, so it creates no event and no new resourceVersion.
    if spec_equal(new, old) and not record.foreign and not _emptied(new, old):
        return Updated(record)
    new = await request.resource.laid_down(new)
    if _emptied(new, old):
        return Updated(await _remove(home, record, new, dry_run=options.dry_run))
    if options.dry_run:
        return Updated(unstored(home, new, record.revision))
    services = home.services
    value = await home.to_stored(new)
    entry = await services.store.update(record.key, value, expected=record.revision)
    await services.cache.reach(entry.revision)
    if services.service_stored is not None and (home.group, home.plural) == creation.SERVICES:
        await services.service_stored(new, old)
    return Updated(written(home, entry))


def _check_version(resource: Resource, call: Call, new: Object, record: Record) -> None:
    """Raise Conflict if the client names a resourceVersion that is not the stored one."""
    version: str = new["metadata"].get("resourceVersion", "")
    if version in ("", "0"):
        if not resource.home.strategy.allow_unconditional_update:
            error = fields.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise Invalid(resource.group, resource.plural, call.name, [error])
        new["metadata"]["resourceVersion"] = str(record.revision)
        return
    if not (version.isascii() and version.isdigit()):
        raise result_without_reason(500, f'strconv.ParseUint: parsing "{version}": invalid syntax')
    # Upstream compares numbers, so leading zeros do not matter.
    if version.lstrip("0") != str(record.revision):
        raise Conflict.for_modified_object(resource.group, resource.plural, call.name)


def _prepare(resource: Resource, call: Call, new: Object, old: ReadOnlyObject) -> None:
    """Restore fields that updates cannot change, for all kinds and for this one."""
    # upstream 1.36: apiserver/pkg/registry/rest/update.go
    metadata, before = new["metadata"], old["metadata"]
    metadata.pop("generation", None)
    metadata.pop("selfLink", None)
    if "generation" in before:
        metadata["generation"] = before["generation"]
    resource.strategy.prepare_for_update(new, old, resource.judge(call.subresource))
    metadata = new["metadata"]
    metadata.setdefault("uid", before["uid"])
    metadata["creationTimestamp"] = before["creationTimestamp"]
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])


def _validated(resource: Resource, call: Call, new: Object, old: ReadOnlyObject) -> Object:
    """Return the new object in its stored form; raise Invalid or add warnings."""
    if errors := _complaints(resource, call, new, old):
        raise Invalid(resource.home.group, new["kind"], call.name, errors)
    # If managedFields changed in nothing but times, the old times stay, so that the update is no change.
    return keep_times(old, new)


def _complaints(resource: Resource, call: Call, new: Object, old: ReadOnlyObject) -> list[fields.FieldError]:
    context = resource.judge(call.subresource)
    # upstream 1.36: rest/update.go validates metadata on its own and against the old one, then each kind's
    # ValidateUpdate does so again; the errors appear twice.
    errors = validate_metadata(new, names.check_path_segment, resource.kind.namespaced, native=False)
    errors += validate_metadata_update(new, old)
    again = (
        validate_native_metadata_update if resource.strategy.requires_qualified_finalizers else validate_metadata_update
    )
    errors += again(new, old)
    errors += resource.strategy.validate_update(new, old, context)
    if not errors:
        call.warn(resource.strategy.warnings_on_update(new, old, context))
        resource.strategy.canonicalize(new)
    return errors


def _emptied(new: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    """Return whether this update removes the last finalizer of an object that is being deleted."""
    # upstream 1.36: apiserver/pkg/registry/generic/registry/store.go, ShouldDeleteDuringUpdate
    metadata, before = new["metadata"], old["metadata"]
    if metadata.get("finalizers") or before.get("deletionGracePeriodSeconds"):
        return False
    if not metadata.get("deletionTimestamp") or not before.get("deletionTimestamp"):
        return False
    return not (new.get("spec") or {}).get("finalizers")


async def _remove(home: Resource, record: Record, new: Object, *, dry_run: bool) -> Record:
    if not dry_run:
        try:
            entry = await home.services.store.delete(record.key, expected=record.revision)
        except store_errors.Conflict as conflict:
            if conflict.current is not None:
                raise
        else:
            await home.services.cache.reach(entry.revision)
            await take_along(home, record)
    return unstored(home, new, record.revision)
