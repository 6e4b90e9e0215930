"""Update objects: read, change, admit, prepare, validate, store; retry on conflicts.

upstream 1.36: apiserver/pkg/registry/generic/registry/store.go (Update), rest/update.go
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors

from mockkube.api import fields, names
from mockkube.api.errors import ApiError, BadRequest, Conflict, Invalid, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.updater import keep_timestamps
from mockkube.api.validation.metadata import find_update_errors
from mockkube.apiserver.registry import allocation_claims, creation, managed_fields
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.creation import dry_run_result, find_written, set_namespace
from mockkube.apiserver.registry.deletion import after_delete, is_outdated, revision_of_conflict
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope, Resource, equals_except_version, error_without_reason
from mockkube.lazy_dataclasses import dataclass

# Attempts of an update without a resourceVersion against concurrent writes.
UPDATE_TRIES_MAX: Final = 100

ObjectUpdate = Callable[[Object], Object]
"""Function from the current object, a copy in the served version, to the new one."""


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """Result of an update."""

    object: CachedObject
    is_created: bool = False
    # State that it replaced in the store.
    before: CachedObject | None = None


async def replace(resource: Resource, scope: RequestScope, obj: Object, options: WriteOptions) -> UpdateResult:
    """Replace the stored object with this one, of the resource's version."""
    check_identity(resource, scope, obj["metadata"])
    uid = obj["metadata"].get("uid", "")

    def keep_metadata(old: Object) -> Object:
        if uid and uid != old["metadata"]["uid"]:
            raise precondition_failed(resource, scope, "UID", uid, old["metadata"]["uid"])
        return {**obj, "metadata": dict(obj["metadata"])}

    # Some kinds can be created by PUT. The cache must be fresh to know that the object does not exist.
    if resource.get_cached(scope.namespace, scope.name) is None and not scope.subresource:
        await resource.dependencies.watch_cache.wait_until_fresh()
        if resource.get_cached(scope.namespace, scope.name) is None:
            return await _create_on_update(resource, scope, obj, options)
    return await update(resource, scope, keep_metadata, options, only_reads=True)


def check_identity(resource: Resource, scope: RequestScope, metadata: Object) -> None:
    """Raise BadRequest unless name and namespace match the path; set an absent namespace."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/rest.go
    name = metadata.get("name")
    if not name:
        why = "name must be provided"
        raise BadRequest(f"the name of the object ({scope.name} based on URL) was undeterminable: {why}")
    if name != scope.name:
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({scope.name})")
    set_namespace(metadata, scope.namespace if resource.kind.namespaced else "")


def precondition_failed(resource: Resource, scope: RequestScope, what: str, expected: str, actual: str) -> Conflict:
    """Return the error of upstream's storage layer for a uid or version that does not match."""
    key = resource.etcd_key(scope.namespace, scope.name)
    why = f"Precondition failed: {what} in precondition: {expected}, {what} in object meta: {actual}"
    text = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    return Conflict.for_object(resource.group, resource.plural, scope.name, text)


async def _create_on_update(
    resource: Resource, scope: RequestScope, obj: Object, options: WriteOptions
) -> UpdateResult:
    metadata = obj["metadata"]
    if not resource.strategy.allow_create_on_update:
        raise NotFound.for_object(resource.group, resource.plural, scope.name)
    if metadata.get("uid"):
        raise precondition_failed(resource, scope, "UID", metadata["uid"], "")
    metadata.pop("resourceVersion", None)
    return UpdateResult(await creation.create(resource, scope, obj, options), is_created=True)


async def update(
    resource: Resource,
    scope: RequestScope,
    change: ObjectUpdate,
    options: WriteOptions,
    *,
    managers_updated: bool = False,
    only_reads: bool = False,
) -> UpdateResult:
    """Apply a change to the stored object. A resourceVersion in the new object must be the current one.

    `managers_updated`: the change sets managedFields itself, or they are not to be updated. `only_reads`: the change
    does not modify its argument, and no admission plugin modifies the parts of it that it returns.
    """
    dependencies, storage_resource = resource.dependencies, resource.storage_resource
    is_fresh = False
    for _ in range(UPDATE_TRIES_MAX):
        current = await _get_current(resource, scope)
        (cached,) = await resource.convert_all_for_reading((current,))
        live = _CurrentState(cached, cached.load(), is_shared=only_reads and storage_resource is resource)
        admitted = partial(_change_and_admit, resource, scope, live, change, options, managers_updated=managers_updated)
        try:
            request = await resource.run_with_conversions(admitted, _work_bytes(scope, cached))
            return await _try_update(request, live, options)
        except ApiError:
            # What fails on a state from the cache may succeed on a newer one, which another server has stored.
            # upstream 1.36: apiserver/pkg/storage/etcd3/store.go, GuaranteedUpdate
            if is_fresh or not await is_outdated(storage_resource, current):
                raise
            is_fresh = True
        except store_errors.Conflict as conflict:
            # A client that named the replaced resourceVersion gets a Conflict in the next attempt; a patch is applied
            # to the new state.
            await dependencies.watch_cache.wait_until_at(revision_of_conflict(conflict, storage_resource))
    raise Conflict.for_modified_object(resource.group, resource.plural, scope.name)


def _change_and_admit(
    resource: Resource,
    scope: RequestScope,
    live: "_CurrentState",
    change: ObjectUpdate,
    options: WriteOptions,
    *,
    managers_updated: bool,
) -> AdmissionAttributes:
    """Apply the change, update managedFields, convert to the storage version, and call `admit` of plugins."""
    # Each gets a copy that it may modify, but for the live object in its storage version: decoding it takes 5 µs.
    new = change(live.obj if live.is_shared else resource.to_served_version(live.load_again()))
    if not managers_updated:
        is_stored = resource.storage_resource is resource
        old = live.obj if is_stored else resource.to_served_version(live.cached.load())
        new = managed_fields.update_managed_fields(resource, scope, old, new, options)
    new = resource.to_storage_version(new)
    _check_version(resource, scope, new, live.cached)
    request = AdmissionAttributes(Operation.UPDATE, resource, scope, new, live.obj, dry_run=options.dry_run)
    resource.dependencies.admission.admit(request)
    return request


def _work_bytes(scope: RequestScope, cached: CachedObject) -> int:
    """Return the bytes that an update handles."""
    return scope.body_bytes + cached.size


async def _get_current(resource: Resource, scope: RequestScope) -> CachedObject:
    """Return the stored object; raise NotFound if there is none in the store either."""
    cached = resource.storage_resource.get_cached(scope.namespace, scope.name)
    if cached is None:
        await resource.dependencies.watch_cache.wait_until_fresh()
        cached = resource.storage_resource.get_cached(scope.namespace, scope.name)
    if cached is None:
        raise NotFound.for_object(resource.group, resource.plural, scope.name)
    return cached


@dataclass(frozen=True, slots=True)
class _CurrentState:
    """Stored object that an update starts from."""

    cached: CachedObject
    obj: Object
    # Whether the change gets this very object.
    is_shared: bool = False

    def load_again(self) -> Object:
        """Return a copy of the object that may be changed, except for the entries in its managedFields."""
        copy, entries = self.cached.load_without_managed_fields(), self.obj["metadata"].get("managedFields")
        if entries:
            copy["metadata"]["managedFields"] = entries
        return copy


async def _try_update(request: AdmissionAttributes, live: _CurrentState, options: WriteOptions) -> UpdateResult:
    resource, scope = request.resource, request.scope
    dependencies, storage_resource = resource.dependencies, resource.storage_resource
    cached, old = live.cached, live.obj
    await dependencies.admission.admit_async(request)
    new = request.new
    # Subresources such as status cannot change addresses or ports.
    is_main_resource = not scope.subresource
    claims = (
        await allocation_claims.allocate(storage_resource, new, old, dry_run=options.dry_run)
        if is_main_resource and allocation_claims.has_allocations(storage_resource)
        else None
    )
    try:
        _prepare(resource, scope, new, old)
        await resource.run_with_conversions(partial(_validate, request, new, old), _work_bytes(scope, cached))
        await dependencies.admission.validate_async(request)
        new = request.new
        # Strategies and webhooks cannot change the version; equality with the old object is compared next.
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        return await _store_update(storage_resource, cached, request, options)
    finally:
        if claims is not None:
            await claims.release()  # a stored service holds its addresses through the collection


async def _store_update(
    storage_resource: Resource, cached: CachedObject, request: AdmissionAttributes, options: WriteOptions
) -> UpdateResult:
    new, old = request.obj, request.old
    assert new is not None
    assert old is not None
    # upstream: an update that changes nothing is not written, so it creates no event and no new resourceVersion.
    if equals_except_version(new, old) and not cached.needs_rewrite and not _should_delete(new, old):
        return UpdateResult(cached)
    new = await request.resource.convert_for_storing(new)
    if _should_delete(new, old):
        return UpdateResult(await _remove(storage_resource, cached, new, dry_run=options.dry_run))
    if options.dry_run:
        return UpdateResult(dry_run_result(storage_resource, new, cached.revision))
    dependencies = storage_resource.dependencies
    write = partial(dependencies.store.update, cached.key, expected=cached.revision)
    entry = await storage_resource.store(new, write)
    if (
        dependencies.on_service_stored is not None
        and (storage_resource.group, storage_resource.plural) == creation.SERVICES
    ):
        await dependencies.on_service_stored(new, old)
    return UpdateResult(find_written(storage_resource, entry), before=cached)


def _check_version(resource: Resource, scope: RequestScope, new: Object, cached: CachedObject) -> None:
    """Raise Conflict if the client names a resourceVersion that is not the stored one."""
    version: str = new["metadata"].get("resourceVersion", "")
    if version in ("", "0"):
        if not resource.storage_resource.strategy.allow_unconditional_update:
            error = fields.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise Invalid(resource.group, resource.plural, scope.name, [error])
        new["metadata"]["resourceVersion"] = str(cached.revision)
        return
    if not (version.isascii() and version.isdigit()):
        raise error_without_reason(500, f'strconv.ParseUint: parsing "{version}": invalid syntax')
    # Upstream compares numbers, so leading zeros do not matter.
    if version.lstrip("0") != str(cached.revision):
        raise Conflict.for_modified_object(resource.group, resource.plural, scope.name)


def _prepare(resource: Resource, scope: RequestScope, new: Object, old: ReadOnlyObject) -> None:
    """Restore fields that updates cannot change, for all kinds and for this one."""
    # upstream 1.36: apiserver/pkg/registry/rest/update.go
    metadata, before = new["metadata"], old["metadata"]
    metadata.pop("generation", None)
    metadata.pop("selfLink", None)
    if "generation" in before:
        metadata["generation"] = before["generation"]
    resource.strategy.prepare_for_update(new, old, resource.strategy_context(scope.subresource))
    metadata = new["metadata"]
    metadata.setdefault("uid", before["uid"])
    metadata["creationTimestamp"] = before["creationTimestamp"]
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])


def _validate(request: AdmissionAttributes, new: Object, old: ReadOnlyObject) -> None:
    """Bring the new object into its stored form, and let admission validate it; raise Invalid or add warnings."""
    resource, scope = request.resource, request.scope
    if errors := _find_errors(resource, scope, new, old):
        raise Invalid(resource.storage_resource.group, new["kind"], scope.name, errors)
    # If managedFields changed in nothing but times, the old times stay, so that the update is no change.
    request.obj = keep_timestamps(old, new)
    resource.dependencies.admission.validate(request)


def _find_errors(resource: Resource, scope: RequestScope, new: Object, old: ReadOnlyObject) -> list[fields.FieldError]:
    native = resource.strategy.requires_qualified_finalizers
    errors = find_update_errors(new, old, names.check_path_segment, resource.kind.namespaced, native=native)
    context = resource.strategy_context(scope.subresource, metadata_is_valid=native and not errors)
    errors += resource.strategy.validate_update(new, old, context)
    if not errors:
        scope.warn(resource.strategy.warnings_on_update(new, old, context))
        resource.strategy.canonicalize(new)
    return errors


def _should_delete(new: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    """Return whether this update removes the last finalizer of an object that is being deleted."""
    # upstream 1.36: apiserver/pkg/registry/generic/registry/store.go, ShouldDeleteDuringUpdate
    metadata, before = new["metadata"], old["metadata"]
    if metadata.get("finalizers") or before.get("deletionGracePeriodSeconds"):
        return False
    if not metadata.get("deletionTimestamp") or not before.get("deletionTimestamp"):
        return False
    return not (new.get("spec") or {}).get("finalizers")


async def _remove(storage_resource: Resource, cached: CachedObject, new: Object, *, dry_run: bool) -> CachedObject:
    if not dry_run:
        try:
            entry = await storage_resource.dependencies.store.delete(cached.key, expected=cached.revision)
        except store_errors.Conflict as conflict:
            if conflict.current is not None:
                raise
        else:
            await storage_resource.dependencies.watch_cache.wait_until_at(entry.revision)
            await after_delete(storage_resource, cached)
    return dry_run_result(storage_resource, new, cached.revision)
