"""Updating objects: read, change, admit, prepare, judge, store; again when somebody else was faster."""

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

TRIES_MAX: Final = 100
"""How often an update that names no version is tried against concurrent ones."""

Change = Callable[[Object], Object]
"""Turns the current object (its own copy, in the served version) into the new one."""


@dataclass(frozen=True, slots=True)
class Updated:
    """What an update came to."""

    record: Record
    created: bool = False


async def replace(resource: Resource, call: Call, obj: Object, options: WriteOptions) -> Updated:
    """Put this object (of the resource's version) in the place of the stored one."""
    check_identity(resource, call, obj["metadata"])
    uid = obj["metadata"].get("uid", "")

    def whole(old: Object) -> Object:
        if uid and uid != old["metadata"]["uid"]:
            raise broken_precondition(resource, call, "UID", uid, old["metadata"]["uid"])
        return {**obj, "metadata": dict(obj["metadata"])}

    if resource.record(call.namespace, call.name) is None and not call.subresource:
        await resource.services.cache.fresh()
        if resource.record(call.namespace, call.name) is None:
            return await _create_on_update(resource, call, obj, options)
    return await update(resource, call, whole, options)


def check_identity(resource: Resource, call: Call, metadata: Object) -> None:
    """The object must be the one the path names; a namespace that is not given is the path's."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/rest.go
    name = metadata.get("name")
    if not name:
        why = "name must be provided"
        raise BadRequest(f"the name of the object ({call.name} based on URL) was undeterminable: {why}")
    if name != call.name:
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({call.name})")
    place(metadata, call.namespace if resource.kind.namespaced else "")


def broken_precondition(resource: Resource, call: Call, what: str, asked: str, actual: str) -> Conflict:
    """The answer of the storage layer to a uid or version that does not match."""
    key = resource.etcd_key(call.namespace, call.name)
    why = f"Precondition failed: {what} in precondition: {asked}, {what} in object meta: {actual}"
    text = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    return Conflict.object(resource.group, resource.plural, call.name, text)


async def _create_on_update(resource: Resource, call: Call, obj: Object, options: WriteOptions) -> Updated:
    metadata = obj["metadata"]
    if not resource.strategy.allow_create_on_update:
        raise NotFound.object(resource.group, resource.plural, call.name)
    if metadata.get("uid"):
        raise broken_precondition(resource, call, "UID", metadata["uid"], "")
    metadata.pop("resourceVersion", None)
    return Updated(await creation.create(resource, call, obj, options), created=True)


async def update(
    resource: Resource, call: Call, change: Change, options: WriteOptions, *, tracked: bool = False
) -> Updated:
    """Apply a change to the stored object. A version named by the new object must be the current one.

    `tracked`: what the change returns already says who manages its fields, or nobody is to be noted.
    """
    services, home = resource.services, resource.home
    for _ in range(TRIES_MAX):
        (record,) = await resource.all_seen((await _current(resource, call),))
        old = record.load()
        changed = partial(_changed, resource, call, record, change, options, tracked=tracked)
        new = await resource.decided(changed, _size(call, record))
        try:
            return await _attempt(resource, call, _Live(record, old), new, options)
        except store_errors.Conflict as conflict:
            # Whoever named the version that is now replaced is refused at the next try; a patch is made anew.
            await services.cache.reach(revision_after(conflict, home))
    raise Conflict.changed(resource.group, resource.plural, call.name)


def _changed(
    resource: Resource, call: Call, record: Record, change: Change, options: WriteOptions, *, tracked: bool
) -> Object:
    """The object with the change, and who made it, in the version it is stored in."""
    new = change(resource.served(record.load()))
    if not tracked:
        new = tracking.track(resource, call, resource.served(record.load()), new, options)
    return resource.stored(new)


def _size(call: Call, record: Record) -> int:
    """How many bytes an update works on."""
    return call.size + len(record.tail)


async def _current(resource: Resource, call: Call) -> Record:
    """The stored object as of now; NotFound when there is none."""
    record = resource.home.record(call.namespace, call.name)
    if record is None:
        await resource.services.cache.fresh()
        record = resource.home.record(call.namespace, call.name)
    if record is None:
        raise NotFound.object(resource.group, resource.plural, call.name)
    return record


@dataclass(frozen=True, slots=True)
class _Live:
    """The stored object that an update started from."""

    record: Record
    obj: Object


async def _attempt(resource: Resource, call: Call, live: _Live, new: Object, options: WriteOptions) -> Updated:
    services, home = resource.services, resource.home
    record, old = live.record, live.obj
    _check_version(resource, call, new, record)
    request = Request(Operation.UPDATE, resource, call, new, old, dry_run=options.dry_run)
    size = _size(call, record)
    await resource.decided(partial(services.admission.admit, request), size)
    await services.admission.amend(request)
    new = request.given
    whole = not call.subresource
    reserved = services.allocators.reserve(home, new, old, dry_run=options.dry_run) if whole else None
    try:
        _prepare(resource, call, new, old)
        request.obj = new = await services.heavy.run(size, partial(_validated, resource, call, new, old))
        await resource.decided(partial(services.admission.validate, request), size)
        await services.admission.settle(request)
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        return await _write(home, record, request, options)
    finally:
        if reserved is not None:
            reserved.release()  # what was stored holds on by itself


async def _write(home: Resource, record: Record, request: Request, options: WriteOptions) -> Updated:
    new, old = request.obj, request.old
    assert new is not None
    assert old is not None
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
    """A version that the client names must be the stored one."""
    version: str = new["metadata"].get("resourceVersion", "")
    if version in ("", "0"):
        if not resource.home.strategy.allow_unconditional_update:
            error = fields.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise Invalid(resource.group, resource.plural, call.name, [error])
        new["metadata"]["resourceVersion"] = str(record.revision)
        return
    if not (version.isascii() and version.isdigit()):
        raise result_without_reason(500, f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if version.lstrip("0") != str(record.revision):
        raise Conflict.changed(resource.group, resource.plural, call.name)


def _prepare(resource: Resource, call: Call, new: Object, old: ReadOnlyObject) -> None:
    """Bring back what no update may change, then what this kind's may not."""
    # upstream 1.36: apiserver/pkg/registry/rest/update.go
    metadata, before = new["metadata"], old["metadata"]
    metadata.pop("generation", None)
    metadata.pop("selfLink", None)
    if "generation" in before:
        metadata["generation"] = before["generation"]
    resource.strategy.prepare_update(new, old, resource.judge(call.subresource))
    metadata = new["metadata"]
    metadata.setdefault("uid", before["uid"])
    metadata["creationTimestamp"] = before["creationTimestamp"]
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])


def _validated(resource: Resource, call: Call, new: Object, old: ReadOnlyObject) -> Object:
    """The new object as it is stored; raise Invalid, or warn, as its kind says."""
    if errors := _complaints(resource, call, new, old):
        raise Invalid(resource.home.group, new["kind"], call.name, errors)
    return keep_times(old, new)


def _complaints(resource: Resource, call: Call, new: Object, old: ReadOnlyObject) -> list[fields.FieldError]:
    judge = resource.judge(call.subresource)
    # upstream 1.36: rest/update.go judges metadata as a whole and as a change, then each kind judges the change again
    errors = validate_metadata(new, names.path_segment, resource.kind.namespaced, native=False)
    errors += validate_metadata_update(new, old)
    again = validate_native_metadata_update if resource.strategy.native else validate_metadata_update
    errors += again(new, old)
    errors += resource.strategy.validate_update(new, old, judge)
    if not errors:
        call.warn(resource.strategy.warn_update(new, old, judge))
        resource.strategy.canonicalize(new)
    return errors


def _emptied(new: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    """Whether this update leaves an object that is being deleted nothing to wait for."""
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
