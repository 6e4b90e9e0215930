"""CRD controller: accept names of CRDs, serve established ones, finalize deleted ones."""

# upstream 1.36: apiextensions-apiserver/pkg/controller/{status,establish,finalizer},
# apiextensions-apiserver/pkg/apiserver/customresource_handler.go

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from mockkube.api.conditions import make_condition
from mockkube.api.custom import naming
from mockkube.api.custom.codec import CustomResourceCodec
from mockkube.api.custom.crd import Crd, CrdVersion
from mockkube.api.custom.crd_conditions import (
    ESTABLISHED,
    TERMINATING,
    is_condition_true,
    needs_finalization,
    with_condition,
    without_finalizer,
)
from mockkube.api.custom.validation_schema import ValidationSchemaParser
from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.api.times import render_time
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.custom.conversion_webhook import ConversionWebhook
from mockkube.apiserver.custom.patterns import matches_pattern
from mockkube.apiserver.custom.resource import CrdFieldsUpdaters, CrdTerminating, CustomResource
from mockkube.apiserver.custom.webhook_converted_resource import (
    ConversionCache,
    WebhookConvertedResource,
    WebhookFieldsUpdaters,
)
from mockkube.apiserver.registry import deletion, encoding, updating
from mockkube.apiserver.registry.bootstrap import APISERVER_USER
from mockkube.apiserver.registry.creation import CRDS
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RegistryDependencies, RequestScope, Resource
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeListener, ChangeType, Collection
from mockkube.runtime.heavy_work import HEAVY_BYTES_MIN
from mockkube.runtime.work_queue import WorkQueue

# Time that watches stay open after their resource changed, so that clients see why they end.
GRACE_SECONDS: Final = 1.0
_USER_AGENT: Final = "kube-apiserver"
_LOG: Final = logging.getLogger("mockkube.apiserver")


class CrdController:
    """Controller of the stored CRDs of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._parser = ValidationSchemaParser(registry.dependencies.capabilities.version, matches_pattern)
        # Resource in the storage version, by the name of its CRD.
        self._served: dict[str, CustomResource] = {}
        # Listeners for the deletion of the last objects of CRDs that are being deleted.
        self._deletion_listeners: dict[str, ChangeListener] = {}
        # Functions that end watches on resources that changed or are gone, until `run` takes them.
        self._watches_to_end: list[Sequence[Callable[[], None]]] = []
        # Task group for these while the controller runs.
        self._watch_ends: asyncio.TaskGroup | None = None
        self._queue: WorkQueue[str] = WorkQueue(registry.dependencies.clock)

    def openapi_schemas(self) -> Mapping[GroupVersionKind, ReadOnlyObject]:
        """Return the OpenAPI schemas of the served versions."""
        return {
            GroupVersionKind(storage_resource.group, version.name, storage_resource.kind.kind): version.schema
            for storage_resource in self._served.values()
            for version in storage_resource.crd.served_versions()
            if version.schema
        }

    async def start(self) -> None:
        """Serve the existing CRDs, and follow changes from now on."""
        collection = self._crds.collection
        collection.listeners[self._on_change] = False
        for cached in tuple(collection.objects.values()):
            await self._try(cached.name)

    async def run(self) -> None:
        """Reconcile changed CRDs until cancelled."""
        try:
            async with asyncio.TaskGroup() as self._watch_ends:
                while self._watches_to_end:
                    self._watch_ends.create_task(self._end_watches(self._watches_to_end.pop()))
                await self._queue.run(self._try)
        finally:
            self._watch_ends = None

    async def _end_watches(self, watches: Sequence[Callable[[], None]]) -> None:
        """End watches after the grace period."""
        await self._registry.dependencies.clock.sleep(GRACE_SECONDS)
        for end in watches:
            end()

    @property
    def is_busy(self) -> bool:
        """True if a CRD is queued or being processed."""
        return self._queue.is_busy()

    async def _try(self, name: str) -> None:
        """Reconcile a CRD; log errors, so that a bad CRD does not keep others from being served."""
        try:
            await self.sync(name)
        except ApiError as error:
            _LOG.warning("CustomResourceDefinition %s cannot be served: %s", name, error)
        except Exception as error:
            self._registry.dependencies.watch_cache.bad_objects.record_failure(
                "CrdController", "customresourcedefinitions", name, error
            )

    async def sync(self, name: str) -> None:
        """Reconcile one CRD: accept its names and serve it, or finalize it."""
        obj = self._load(name)
        if obj is None:
            return
        if needs_finalization(obj):
            await self._finalize(name)
            return
        settled = naming.accept_names(obj, self._other_crds(obj), self._now())
        if settled != obj:
            settled = await self._update_status(name, self._with_accepted_names) or settled
        await self._serve(settled)

    @property
    def _crds(self) -> Resource:
        resource = self._registry.find_storage_resource(*CRDS)
        assert resource is not None, "every server has definitions"
        return resource

    def _now(self) -> str:
        return render_time(self._registry.dependencies.clock.now())

    def _load(self, name: str) -> Object | None:
        cached = self._crds.get_cached("", name)
        return cached.load() if cached is not None else None

    def _other_crds(self, obj: ReadOnlyObject) -> list[Object]:
        """Return the other CRDs of the same group."""
        suffix, name = f".{obj['spec']['group']}", obj["metadata"]["name"]
        cached_objects = self._crds.collection.objects.values()
        return [one.load() for one in cached_objects if one.name != name and one.name.endswith(suffix)]

    def _with_accepted_names(self, obj: Object) -> Object:
        return naming.accept_names(obj, self._other_crds(obj), self._now())

    async def _update_status(self, name: str, change: updating.ObjectUpdate) -> Object | None:
        """Update the status of a CRD; return None if it is gone or was changed meanwhile."""
        scope = RequestScope(APISERVER_USER, "", name, "status", _USER_AGENT)
        try:
            updated = await updating.update(self._crds, scope, change, WriteOptions())
        except (NotFound, Conflict):
            return None
        return updated.object.load()

    # What is served

    async def _serve(self, obj: ReadOnlyObject) -> None:
        """Serve an established CRD, unless this state of it is served already."""
        if not is_condition_true(obj, ESTABLISHED):
            return
        definition = Crd(obj, self._parser)
        if not (definition.plural and definition.kind):
            return  # a client has emptied the accepted names in the status; they are about to be settled again
        size = len(encoding.dumps(obj))
        resources = await self._registry.dependencies.heavy_work.run(
            size, partial(self._build_resources, definition, obj)
        )
        own = self._registry.find_storage_resource(definition.group, definition.plural)
        if own is not None and not isinstance(own, CustomResource):
            return  # a built-in kind of that name comes first
        if resources:
            storage_resource = resources[0]
            name = f"{definition.group}/{definition.plural}"
            # The collection must be loaded before the resource is installed: requests are served from it immediately.
            await storage_resource.dependencies.watch_cache.open_collection(name, storage_resource.decode_entry)
            self._install(definition, resources)

    def _build_resources(self, crd: Crd, obj: ReadOnlyObject) -> list[CustomResource]:
        """Return the resources of a CRD; none if this state of it is served already."""
        ending = is_condition_true(obj, TERMINATING)
        known = self._served.get(crd.name)
        if known is not None and known.crd.digest == crd.digest and known.is_terminating == ending:
            return []
        return build_resources(crd, self._registry.dependencies, is_terminating=ending)

    def _install(self, crd: Crd, resources: list[CustomResource]) -> None:
        """Serve these resources, and convert the cached objects to their schema."""
        storage_resource, known = resources[0], self._served.get(crd.name)
        collection = storage_resource.collection
        # Nothing is awaited here, so no request sees the new resource with objects of the old schema.
        if collection.decode_entry != storage_resource.decode_entry:
            collection.replace_decoder(storage_resource.decode_entry, storage_resource.recode)
        if known is not None and known.crd.digest != crd.digest:
            self._schedule_watch_end(collection)
        self._served[crd.name] = storage_resource
        self._registry.serve_crd(storage_resource, [one for one in resources if one.custom_version.is_served])

    def _stop_serving(self, name: str) -> None:
        storage_resource = self._served.pop(name, None)
        if storage_resource is not None:
            self._registry.remove_crd(storage_resource.group, storage_resource.plural)
            self._schedule_watch_end(storage_resource.collection)
            storage_resource.collection.listeners.pop(self._deletion_listeners.pop(name, self._on_change), None)
            # A CRD of the same name may come back with another schema and reads its objects again.
            self._registry.dependencies.watch_cache.drop_collection(
                f"{storage_resource.group}/{storage_resource.plural}"
            )

    def _schedule_watch_end(self, collection: Collection) -> None:
        if collection.watch_stoppers:
            watches = tuple(collection.watch_stoppers)
            if self._watch_ends is None:
                self._watches_to_end.append(watches)
            else:
                self._watch_ends.create_task(self._end_watches(watches))

    def _on_change(self, change: CacheChange) -> None:
        """Handle a change of a CRD: update served resources immediately, queue everything else."""
        name = change.object.name
        if change.type is ChangeType.DELETED:
            self._stop_serving(name)
            self._enqueue_group(change.object.load())
            return
        obj = change.object.load()
        # A large schema takes long to compile, so it is left to the queue, which compiles off the event loop.
        if name in self._served and is_condition_true(obj, ESTABLISHED) and change.object.size < HEAVY_BYTES_MIN:
            definition = Crd(obj, self._parser)
            if resources := self._build_resources(definition, obj):
                self._install(definition, resources)
        self._queue.add(name)

    def _enqueue_group(self, obj: ReadOnlyObject) -> None:
        """Queue the CRDs of the group of a deleted one, whose names may now be free for them."""
        for one in self._other_crds(obj):
            self._queue.add(one["metadata"]["name"])

    # Objects of deleted CRDs

    async def _finalize(self, name: str) -> None:
        """Delete the objects of a CRD; remove its finalizer once they are gone."""
        storage_resource = self._served.get(name)
        if storage_resource is None:
            await self._remove_finalizer(name, reason="NeverEstablished", message="resource was never established")
            return
        if name not in self._deletion_listeners:
            message = "CustomResource deletion is in progress"
            begun = make_condition(TERMINATING, holds=True, reason="InstanceDeletionInProgress", message=message)
            await self._update_status(name, lambda one: with_condition(one, begun, self._now()))
            self._deletion_listeners[name] = listener = self._make_deletion_listener(name)
            storage_resource.collection.listeners[listener] = False
            await self._delete_objects(storage_resource)
        if not storage_resource.collection.objects:
            await self._remove_finalizer(name, reason="InstanceDeletionCompleted", message="removed all instances")

    def _make_deletion_listener(self, name: str) -> ChangeListener:
        """Return a listener that queues the CRD when one of its objects is deleted."""

        def listen(change: CacheChange) -> None:
            if change.type is ChangeType.DELETED:
                self._queue.add(name)

        return listen

    async def _delete_objects(self, storage_resource: CustomResource) -> None:
        for cached in tuple(storage_resource.collection.objects.values()):
            scope = RequestScope(APISERVER_USER, cached.namespace, cached.name, user_agent=_USER_AGENT)
            try:
                await deletion.delete(storage_resource, scope, DeleteOptions())
            except NotFound:
                continue

    async def _remove_finalizer(self, name: str, *, reason: str, message: str) -> None:
        done = make_condition(TERMINATING, holds=False, reason=reason, message=message)
        await self._update_status(name, lambda one: without_finalizer(with_condition(one, done, self._now())))


def build_resources(
    crd: Crd, dependencies: RegistryDependencies, *, is_terminating: bool = False
) -> list[CustomResource]:
    """Return a resource for each version, the storage version first."""
    codec = CustomResourceCodec(crd, dependencies.codec)
    admission = (
        AdmissionChain([*dependencies.admission.plugins, CrdTerminating()])
        if is_terminating
        else dependencies.admission
    )
    # The dependencies are copied with the CRD's codec; everything else is shared with the server.
    own = replace(dependencies, codec=codec, admission=admission)
    storage_version = crd.storage_version
    versions = [storage_version, *(version for version in crd.served_versions() if version is not storage_version)]
    make = _with_webhook if crd.uses_conversion_webhook else _without_webhook
    resources = make(crd, versions, codec, own, is_terminating=is_terminating)
    for resource in resources:
        resource.storage_resource = resources[0]
    return resources


def _without_webhook(
    crd: Crd,
    versions: list[CrdVersion],
    codec: CustomResourceCodec,
    dependencies: RegistryDependencies,
    *,
    is_terminating: bool,
) -> list[CustomResource]:
    """Return resources of versions without conversion: they differ only by name and schema."""
    own = replace(dependencies, managed_fields_updaters=CrdFieldsUpdaters(crd, codec))
    return [CustomResource(crd, version, codec, own, is_terminating=is_terminating) for version in versions]


def _with_webhook(
    crd: Crd,
    versions: list[CrdVersion],
    codec: CustomResourceCodec,
    dependencies: RegistryDependencies,
    *,
    is_terminating: bool,
) -> list[CustomResource]:
    """Return resources of versions that a webhook converts."""
    conversions = ConversionCache(ConversionWebhook(crd, dependencies), codec)
    own = replace(dependencies, managed_fields_updaters=WebhookFieldsUpdaters(crd, codec, conversions))
    return [
        WebhookConvertedResource(crd, version, codec, own, is_terminating=is_terminating, conversions=conversions)
        for version in versions
    ]
