"""Create objects: generate the name, admit, prepare, validate, store.

upstream 1.36: apiserver/pkg/registry/generic/registry/store.go (Create), rest/create.go
"""

from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors
from mockkube_storage.model import Entry

from mockkube.api.errors import AlreadyExists, BadRequest, Invalid
from mockkube.api.json_objects import Object
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.times import render_time
from mockkube.api.validation.metadata import validate_metadata
from mockkube.apiserver.registry import allocation_claims, encoding, managed_fields
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope, Resource, error_without_reason

# Attempts with different random suffixes before a generated name counts as taken.
NAME_TRIES_MAX: Final = 8
NAMESPACE_MISMATCH: Final = "the namespace of the provided object does not match the namespace sent on the request"
CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
NAMESPACES: Final = ("", "namespaces")
SERVICES: Final = ("", "services")
# Resources whose creation calls a hook.
HOOKED: Final = (CRDS, NAMESPACES, SERVICES)
_GENERATE_NAME_LENGTH_MAX: Final = 58
_SERVER_METADATA: Final = (
    "selfLink",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


async def create(
    resource: Resource, scope: RequestScope, obj: Object, options: WriteOptions, *, managers_updated: bool = False
) -> CachedObject:
    """Store a new object of the resource's version and return what was stored.

    `managers_updated`: the managedFields of the object are set already.
    """
    metadata = obj["metadata"]
    _prepare_metadata(resource, scope, obj)
    if not managers_updated:
        obj = await resource.run_with_conversions(
            partial(managed_fields.update_managed_fields, resource, scope, None, obj, options), scope.body_bytes
        )
    stem = "" if metadata.get("name") else metadata.get("generateName", "")
    if not stem:
        return await _try_create(resource, scope, obj, options)
    # Admission and strategies change the object in place, so every attempt starts from a copy.
    original = encoding.dumps(obj)
    for remaining in reversed(range(NAME_TRIES_MAX)):
        try:
            return await _try_create(resource, scope, encoding.loads(original), options, generate_name=stem)
        except AlreadyExists:
            if not remaining:
                raise
    raise AssertionError("the last try returns or raises")


def set_namespace(metadata: Object, namespace: str) -> None:
    """Set the namespace of the request on the object; raise BadRequest if the object names another one."""
    # upstream 1.36: apiserver/pkg/registry/rest/meta.go, EnsureObjectNamespaceMatchesRequestNamespace
    if not namespace:
        metadata.pop("namespace", None)
    elif metadata.get("namespace", namespace) != namespace:
        raise BadRequest(NAMESPACE_MISMATCH)
    else:
        metadata["namespace"] = namespace


def _prepare_metadata(resource: Resource, scope: RequestScope, obj: Object) -> None:
    """Set the namespace, and drop metadata that only the server writes."""
    metadata = obj["metadata"]
    set_namespace(metadata, scope.namespace if resource.kind.namespaced else "")
    for name in _SERVER_METADATA:
        metadata.pop(name, None)


async def _try_create(
    resource: Resource, scope: RequestScope, obj: Object, options: WriteOptions, *, generate_name: str = ""
) -> CachedObject:
    dependencies, storage_resource = resource.dependencies, resource.storage_resource
    if dependencies.is_store_shared:
        # Admission reads the cache: what another server has just answered, like the namespace of the object, is there.
        await dependencies.watch_cache.wait_until_fresh()
    new = resource.to_storage_version(obj)
    metadata = new["metadata"]
    metadata["uid"] = dependencies.random.new_uid()
    metadata["creationTimestamp"] = render_time(dependencies.clock.now())
    request = AdmissionAttributes(Operation.CREATE, resource, scope, new, None, dry_run=options.dry_run)
    await resource.run_with_conversions(partial(dependencies.admission.admit, request), scope.body_bytes)
    await dependencies.admission.admit_async(request)
    if generate_name:
        # Named after mutating admission, as upstream: webhooks see an empty name with generateName.
        request.new["metadata"]["name"] = generate_name[:_GENERATE_NAME_LENGTH_MAX] + dependencies.random.new_suffix()
    return await insert(storage_resource, scope, request, options)


async def insert(
    storage_resource: Resource, scope: RequestScope, request: AdmissionAttributes, options: WriteOptions
) -> CachedObject:
    """Prepare, validate and store the admitted object of the request."""
    dependencies, strategy = storage_resource.dependencies, request.resource.strategy
    new = request.obj
    assert new is not None
    context = storage_resource.strategy_context(user=scope.user if strategy.records_requester else None)
    # Cluster IPs are chosen before validation, which checks them like addresses that the client chose.
    claims = (
        await allocation_claims.allocate(storage_resource, new, None, dry_run=options.dry_run)
        if allocation_claims.has_allocations(storage_resource)
        else None
    )
    try:
        strategy.prepare_for_create(new, context)
        await request.resource.run_with_conversions(
            partial(_validate, storage_resource, strategy, context, scope, request), scope.body_bytes
        )
        # Quota is charged last, so that an object that is rejected for another reason uses none.
        await dependencies.admission.validate_async(request)
        return await _store(storage_resource, await request.resource.convert_for_storing(new), options)
    finally:
        if claims is not None:
            await claims.release()  # a stored service holds its addresses through the collection


def _validate(
    storage_resource: Resource,
    strategy: Strategy,
    context: StrategyContext,
    scope: RequestScope,
    request: AdmissionAttributes,
) -> None:
    """Raise Invalid or add warnings, bring the object into its canonical form, and let admission validate it."""
    new = request.new
    errors = strategy.validate(new, context)
    metadata_errors = validate_metadata(
        new, strategy.validate_name, storage_resource.kind.namespaced, native=strategy.requires_qualified_finalizers
    )
    if errors or metadata_errors:
        raise Invalid(storage_resource.group, new["kind"], new["metadata"].get("name", ""), [*metadata_errors, *errors])
    scope.warn(strategy.warnings_on_create(new, context))
    strategy.canonicalize(new)
    if scope.authorize_creation is not None:
        # upstream 1.36: apiserver/pkg/endpoints/handlers/update.go, withAuthorization
        scope.authorize_creation()
    storage_resource.dependencies.admission.validate(request)


async def _store(storage_resource: Resource, new: Object, options: WriteOptions) -> CachedObject:
    """Write the object to the store, or only check for its name in a dry run."""
    metadata = new["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    key = storage_resource.key(namespace, name)
    if options.dry_run:
        if (existing := storage_resource.collection.objects.get(key)) is not None:
            raise _already_exists(storage_resource, existing, name)
        return _to_cached_object(storage_resource, new)
    _check_version(metadata.pop("resourceVersion", ""))
    dependencies = storage_resource.dependencies
    try:
        write = partial(dependencies.store.create, key)
        # Hooks read what they follow from the watch cache.
        waits = options.waits_for_cache or (storage_resource.group, storage_resource.plural) in HOOKED
        entry = await storage_resource.store(new, write, waits_for_cache=waits)
        if not waits:
            return CachedObject(key, name, namespace, entry.revision, storage_resource.head, entry.value)
    except store_errors.Conflict as conflict:
        raise _already_exists(
            storage_resource, storage_resource.decode_entry(conflict.current) if conflict.current else None, name
        ) from conflict
    # differs: upstream creates service account and root CA shortly after the namespace. Here they exist before the
    # creation is answered, so that a test can create pods immediately.
    if dependencies.on_namespace_created is not None and (
        (storage_resource.group, storage_resource.plural) == NAMESPACES
    ):
        await dependencies.on_namespace_created(name)
    if dependencies.on_crd_created is not None and (storage_resource.group, storage_resource.plural) == CRDS:
        await dependencies.on_crd_created(name)
    if dependencies.on_service_stored is not None and (storage_resource.group, storage_resource.plural) == SERVICES:
        await dependencies.on_service_stored(new, None)
    return find_written(storage_resource, entry)


def _already_exists(storage_resource: Resource, existing: CachedObject | None, name: str) -> AlreadyExists:
    """Return the AlreadyExists error for a name that is in use."""
    error = AlreadyExists.for_object(storage_resource.group, storage_resource.plural, name)
    if existing is not None and existing.load()["metadata"].get("deletionTimestamp"):
        return AlreadyExists(f"object is being deleted: {error.message}", details=error.details)
    return error


def find_written(storage_resource: Resource, entry: Entry) -> CachedObject:
    """Return the cached object of an entry just written, even if a later write replaced it in the cache."""
    cached = storage_resource.collection.objects.get(entry.key)
    if cached is not None and cached.revision == entry.revision:
        return cached
    for change in reversed(storage_resource.collection.history):
        if change.revision == entry.revision:
            return change.object
    return storage_resource.decode_entry(entry)  # large objects are not remembered for long


def _check_version(given: str) -> None:
    """Raise an error for a new object with a resourceVersion; values that are no number are ignored."""
    # upstream 1.36: apiserver/pkg/storage/etcd3/store.go, Create
    if given.isascii() and given.isdigit() and int(given):
        raise error_without_reason(500, "resourceVersion should not be set on objects to be created")


def dry_run_result(storage_resource: Resource, new: Object, revision: int = 0) -> CachedObject:
    """Return the result of a dry run: the object with the resourceVersion it has now, if any."""
    metadata = new["metadata"]
    metadata.pop("resourceVersion", None)
    if revision:
        metadata["resourceVersion"] = str(revision)
    return _to_cached_object(storage_resource, new)


def _to_cached_object(storage_resource: Resource, new: Object) -> CachedObject:
    """Return an object as a CachedObject without a key."""
    metadata, body = new["metadata"], encoding.dumps(encoding.order_fields(new))
    return CachedObject(
        "",
        metadata["name"],
        metadata.get("namespace", ""),
        0,
        storage_resource.head,
        body[len(storage_resource.head) :],
    )
