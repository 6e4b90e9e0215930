"""Create objects: generate the name, admit, prepare, validate, store.

upstream 1.36: apiserver/pkg/registry/generic/registry/store.go (Create), rest/create.go
"""

from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors
from mockkube_storage.model import Entry

from mockkube.api.errors import AlreadyExists, BadRequest, Invalid
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.times import render_time
from mockkube.api.types import Object
from mockkube.api.validation.metadata import validate_metadata
from mockkube.apiserver.registry import encoding, tracking
from mockkube.apiserver.registry.admission import Operation, Request
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource, result_without_reason

# Attempts with different random suffixes before a generated name counts as taken.
NAME_TRIES_MAX: Final = 8
MISPLACED: Final = "the namespace of the provided object does not match the namespace sent on the request"
DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
SERVICES: Final = ("", "services")
_STEM_MAX: Final = 58
_FOREIGN_METADATA: Final = (
    "selfLink",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


async def create(
    resource: Resource, call: Call, obj: Object, options: WriteOptions, *, tracked: bool = False
) -> Record:
    """Store a new object of the resource's version and return what was stored.

    `managers_updated`: the managedFields of the object are set already.
    """
    metadata = obj["metadata"]
    _place(resource, call, obj)
    if not tracked:
        obj = await resource.decided(partial(tracking.track, resource, call, None, obj, options), call.size)
    stem = "" if metadata.get("name") else metadata.get("generateName", "")
    if not stem:
        return await _create(resource, call, obj, options)
    # Admission and strategies change the object in place, so every attempt starts from a copy.
    original = encoding.dumps(obj)
    for remaining in reversed(range(NAME_TRIES_MAX)):
        try:
            return await _create(resource, call, encoding.loads(original), options, stem=stem)
        except AlreadyExists:
            if not remaining:
                raise
    raise AssertionError("the last try returns or raises")


def place(metadata: Object, namespace: str) -> None:
    """Set the namespace of the request on the object; raise BadRequest if the object names another one."""
    # upstream 1.36: apiserver/pkg/registry/rest/meta.go, EnsureObjectNamespaceMatchesRequestNamespace
    if not namespace:
        metadata.pop("namespace", None)
    elif metadata.get("namespace", namespace) != namespace:
        raise BadRequest(MISPLACED)
    else:
        metadata["namespace"] = namespace


def _place(resource: Resource, call: Call, obj: Object) -> None:
    """Set the namespace, and drop metadata that only the server writes."""
    metadata = obj["metadata"]
    place(metadata, call.namespace if resource.kind.namespaced else "")
    for name in _FOREIGN_METADATA:
        metadata.pop(name, None)


async def _create(resource: Resource, call: Call, obj: Object, options: WriteOptions, *, stem: str = "") -> Record:
    services, storage = resource.services, resource.home
    new = resource.stored(obj)
    metadata = new["metadata"]
    metadata["uid"] = services.chance.new_uid()
    metadata["creationTimestamp"] = render_time(services.clock.now())
    request = Request(Operation.CREATE, resource, call, new, None, dry_run=options.dry_run)
    await resource.decided(partial(services.admission.admit, request), call.size)
    await services.admission.amend(request)
    if stem:
        # Named after mutating admission, as upstream: webhooks see an empty name with generateName.
        request.given["metadata"]["name"] = stem[:_STEM_MAX] + services.chance.new_suffix()
    return await insert(storage, call, request, options)


async def insert(home: Resource, call: Call, request: Request, options: WriteOptions) -> Record:
    """Prepare, validate and store the admitted object of the request."""
    services, strategy = home.services, request.resource.strategy
    new = request.obj
    assert new is not None
    context = home.judge(user=call.user if strategy.records_requester else None)
    # Cluster IPs are chosen before validation, which checks them like addresses that the client chose.
    reserved = services.allocators.reserve(home, new, None, dry_run=options.dry_run)
    try:
        strategy.prepare_for_create(new, context)
        await services.heavy.run(call.size, partial(_validate, home, strategy, context, call, new))
        await request.resource.decided(partial(services.admission.validate, request), call.size)
        # Quota is charged last, so that an object that is rejected for another reason uses none.
        await services.admission.settle(request)
        return await _store(home, await request.resource.laid_down(new), dry_run=options.dry_run)
    finally:
        reserved.release()  # a stored service holds its addresses through the collection


def _validate(home: Resource, strategy: Strategy, context: StrategyContext, call: Call, new: Object) -> None:
    """Raise Invalid or add warnings, and bring the object into its canonical form."""
    errors = strategy.validate(new, context)
    metadata_errors = validate_metadata(
        new, strategy.validate_name, home.kind.namespaced, native=strategy.requires_qualified_finalizers
    )
    if errors or metadata_errors:
        raise Invalid(home.group, new["kind"], new["metadata"].get("name", ""), [*metadata_errors, *errors])
    call.warn(strategy.warnings_on_create(new, context))
    strategy.canonicalize(new)


async def _store(home: Resource, new: Object, *, dry_run: bool) -> Record:
    """Write the object to the store, or only check for its name in a dry run."""
    metadata = new["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    key = home.key(namespace, name)
    if dry_run:
        if (existing := home.collection.records.get(key)) is not None:
            raise _taken(home, existing, name)
        return _shown(home, new)
    _check_version(metadata.pop("resourceVersion", ""))
    services = home.services
    try:
        entry = await services.store.create(key, await home.to_stored(new))
    except store_errors.Conflict as conflict:
        raise _taken(home, home.read_entry(conflict.current) if conflict.current else None, name) from conflict
    # Clients may read their own write from the cache as soon as this request is answered.
    await services.cache.reach(entry.revision)
    # differs: upstream creates service account and root CA shortly after the namespace. Here they exist before the
    # creation is answered, so that a test can create pods immediately.
    if services.namespace_created is not None and (home.group, home.plural) == ("", "namespaces"):
        await services.namespace_created(name)
    if services.definition_created is not None and (home.group, home.plural) == DEFINITIONS:
        await services.definition_created(name)
    if services.service_stored is not None and (home.group, home.plural) == SERVICES:
        await services.service_stored(new, None)
    return written(home, entry)


def _taken(home: Resource, existing: Record | None, name: str) -> AlreadyExists:
    """Return the AlreadyExists error for a name that is in use."""
    error = AlreadyExists.for_object(home.group, home.plural, name)
    if existing is not None and existing.load()["metadata"].get("deletionTimestamp"):
        return AlreadyExists(f"object is being deleted: {error.message}", details=error.details)
    return error


def written(home: Resource, entry: Entry) -> Record:
    """Return the cached object of an entry just written, even if a later write replaced it in the cache."""
    record = home.collection.records.get(entry.key)
    if record is not None and record.revision == entry.revision:
        return record
    for change in reversed(home.collection.history):
        if change.revision == entry.revision:
            return change.record
    return home.read_entry(entry)  # large objects are not remembered for long


def _check_version(given: str) -> None:
    """Raise an error for a new object with a resourceVersion; values that are no number are ignored."""
    # upstream 1.36: apiserver/pkg/storage/etcd3/store.go, Create
    if given.isascii() and given.isdigit() and int(given):
        raise result_without_reason(500, "resourceVersion should not be set on objects to be created")


def unstored(home: Resource, new: Object, revision: int = 0) -> Record:
    """Return the result of a dry run: the object with the resourceVersion it has now, if any."""
    metadata = new["metadata"]
    metadata.pop("resourceVersion", None)
    if revision:
        metadata["resourceVersion"] = str(revision)
    return _shown(home, new)


def _shown(home: Resource, new: Object) -> Record:
    """Return an object as a CachedObject without a key."""
    metadata, body = new["metadata"], encoding.dumps(encoding.ordered(new))
    return Record("", metadata["name"], metadata.get("namespace", ""), 0, home.head, body[len(home.head) :])
