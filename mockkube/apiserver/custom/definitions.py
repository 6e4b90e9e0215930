"""CRD controller: accept names of CRDs, serve established ones, finalize deleted ones."""

# upstream 1.36: apiextensions-apiserver/pkg/controller/{status,establish,finalizer},
# apiextensions-apiserver/pkg/apiserver/customresource_handler.go

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from mockkube.api.conditions import make_condition
from mockkube.api.custom import naming
from mockkube.api.custom.conditions import (
    ESTABLISHED,
    TERMINATING,
    awaits_cleanup,
    is_true,
    with_condition,
    without_finalizer,
)
from mockkube.api.custom.definition import Definition
from mockkube.api.custom.schemas import SchemaReader
from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.custom.patterns import found_in
from mockkube.apiserver.custom.resource import CustomResource
from mockkube.apiserver.custom.resources import resources_of
from mockkube.apiserver.registry import deletion, encoding, updating
from mockkube.apiserver.registry.bootstrap import APISERVER
from mockkube.apiserver.registry.cache import Change, ChangeType, Collection, Listener
from mockkube.apiserver.registry.creation import DEFINITIONS
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.runtime.heavy_work import HEAVY_BYTES_MIN

# Time that watches stay open after their resource changed, so that clients see why they end.
GRACE_SECONDS: Final = 1.0
_AGENT: Final = "kube-apiserver"
_LOG: Final = logging.getLogger("mockkube.apiserver")


class Definitions:
    """Controller of the stored CRDs of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._reader = SchemaReader(registry.services.caps.version, found_in)
        # Resource in the storage version, by the name of its CRD.
        self._served: dict[str, CustomResource] = {}
        # Listeners for the deletion of the last objects of CRDs that are being deleted.
        self._ending: dict[str, Listener] = {}
        # Functions that end watches on resources that changed or are gone.
        self._outdated: list[Sequence[Callable[[], None]]] = []
        self._pending: dict[str, None] = {}
        self._wake = asyncio.Event()

    def published(self) -> Mapping[GroupVersionKind, ReadOnlyObject]:
        """Return the OpenAPI schemas of the served versions."""
        return {
            GroupVersionKind(storage.group, version.name, storage.kind.kind): version.schema
            for storage in self._served.values()
            for version in storage.definition.served()
            if version.schema
        }

    async def start(self) -> None:
        """Serve the existing CRDs, and follow changes from now on."""
        collection = self._resource.collection
        collection.listeners[self._changed] = None
        for record in tuple(collection.records.values()):
            await self._try(record.name)

    async def run(self) -> None:
        """Reconcile changed CRDs until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._wake.wait()
                while self._outdated:
                    group.create_task(self._end(self._outdated.pop()))
                await self.step()

    async def _end(self, watches: Sequence[Callable[[], None]]) -> None:
        """End watches after the grace period."""
        await self._registry.services.clock.sleep(GRACE_SECONDS)
        for end in watches:
            end()

    def is_ready(self) -> bool:
        """Return whether a CRD is queued."""
        return bool(self._pending)

    @property
    def busy(self) -> bool:
        """True if a CRD is queued or being processed."""
        return self._wake.is_set()

    async def step(self) -> None:
        """Reconcile one CRD."""
        name = next(iter(self._pending), None)
        if name is not None:
            del self._pending[name]
            await self._try(name)
        if not self._pending:
            self._wake.clear()

    async def _try(self, name: str) -> None:
        """Reconcile a CRD; log errors, so that a bad CRD does not keep others from being served."""
        try:
            await self.ensure(name)
        except ApiError as error:
            _LOG.warning("CustomResourceDefinition %s cannot be served: %s", name, error)
        except Exception as error:
            self._registry.services.cache.bad.record_failure("Definitions", "customresourcedefinitions", name, error)

    async def ensure(self, name: str) -> None:
        """Reconcile one CRD: accept its names and serve it, or finalize it."""
        obj = self._stored(name)
        if obj is None:
            return
        if awaits_cleanup(obj):
            await self._clean_up(name)
            return
        settled = naming.settled(obj, self._others(obj), self._now())
        if settled != obj:
            settled = await self._report(name, self._named) or settled
        await self._serve(settled)

    @property
    def _resource(self) -> Resource:
        resource = self._registry.stored(*DEFINITIONS)
        assert resource is not None, "every server has definitions"
        return resource

    def _now(self) -> str:
        return render_time(self._registry.services.clock.now())

    def _stored(self, name: str) -> Object | None:
        record = self._resource.record("", name)
        return record.load() if record is not None else None

    def _others(self, obj: ReadOnlyObject) -> list[Object]:
        """Return the other CRDs of the same group."""
        suffix, name = f".{obj['spec']['group']}", obj["metadata"]["name"]
        records = self._resource.collection.records.values()
        return [one.load() for one in records if one.name != name and one.name.endswith(suffix)]

    def _named(self, obj: Object) -> Object:
        return naming.settled(obj, self._others(obj), self._now())

    async def _report(self, name: str, change: updating.Change) -> Object | None:
        """Update the status of a CRD; return None if it is gone or was changed meanwhile."""
        scope = Call(APISERVER, "", name, "status", _AGENT)
        try:
            updated = await updating.update(self._resource, scope, change, WriteOptions())
        except (NotFound, Conflict):
            return None
        return updated.record.load()

    # What is served

    async def _serve(self, obj: ReadOnlyObject) -> None:
        """Serve an established CRD, unless this state of it is served already."""
        if not is_true(obj, ESTABLISHED):
            return
        definition = Definition(obj, self._reader)
        if not (definition.plural and definition.kind):
            return  # a client has emptied the accepted names in the status; they are about to be settled again
        size = len(encoding.dumps(obj))
        resources = await self._registry.services.heavy.run(size, partial(self._resources, definition, obj))
        own = self._registry.stored(definition.group, definition.plural)
        if own is not None and not isinstance(own, CustomResource):
            return  # a built-in kind of that name comes first
        if resources:
            storage = resources[0]
            name = f"{definition.group}/{definition.plural}"
            # The collection must be loaded before the resource is installed: requests are served from it immediately.
            await storage.services.cache.open(name, storage.read_entry)
            self._install(definition, resources)

    def _resources(self, definition: Definition, obj: ReadOnlyObject) -> list[CustomResource]:
        """Return the resources of a CRD; none if this state of it is served already."""
        ending = is_true(obj, TERMINATING)
        known = self._served.get(definition.name)
        if known is not None and known.definition.digest == definition.digest and known.ending == ending:
            return []
        return resources_of(definition, self._registry.services, ending=ending)

    def _install(self, definition: Definition, resources: list[CustomResource]) -> None:
        """Serve these resources, and convert the cached objects to their schema."""
        storage, known = resources[0], self._served.get(definition.name)
        collection = storage.collection
        # Nothing is awaited here, so no request sees the new resource with objects of the old schema.
        if collection.reader != storage.read_entry:
            collection.reread(storage.read_entry, storage.reread)
        if known is not None and known.definition.digest != definition.digest:
            self._retire(collection)
        self._served[definition.name] = storage
        self._registry.serve(storage, [one for one in resources if one.custom_version.served])

    def _withdraw(self, name: str) -> None:
        storage = self._served.pop(name, None)
        if storage is not None:
            self._registry.withdraw(storage.group, storage.plural)
            self._retire(storage.collection)
            storage.collection.listeners.pop(self._ending.pop(name, self._changed), None)
            # A CRD of the same name may come back with another schema and reads its objects again.
            self._registry.services.cache.drop(f"{storage.group}/{storage.plural}")

    def _retire(self, collection: Collection) -> None:
        if collection.watches:
            self._outdated.append(tuple(collection.watches))
            self._wake.set()

    def _changed(self, change: Change) -> None:
        """Handle a change of a CRD: update served resources immediately, queue everything else."""
        name = change.record.name
        if change.type is ChangeType.DELETED:
            self._withdraw(name)
            self._remember_group(change.record.load())
            return
        obj = change.record.load()
        # A large schema takes long to compile, so it is left to the queue, which compiles off the event loop.
        if name in self._served and is_true(obj, ESTABLISHED) and len(change.record.tail) < HEAVY_BYTES_MIN:
            definition = Definition(obj, self._reader)
            if resources := self._resources(definition, obj):
                self._install(definition, resources)
        self._remember(name)

    def _remember(self, name: str) -> None:
        self._pending[name] = None
        self._wake.set()

    def _remember_group(self, obj: ReadOnlyObject) -> None:
        """Queue the CRDs of the group of a deleted one, whose names may now be free for them."""
        for one in self._others(obj):
            self._remember(one["metadata"]["name"])

    # What goes with a definition

    async def _clean_up(self, name: str) -> None:
        """Delete the objects of a CRD; remove its finalizer once they are gone."""
        storage = self._served.get(name)
        if storage is None:
            await self._finish(name, reason="NeverEstablished", message="resource was never established")
            return
        if name not in self._ending:
            message = "CustomResource deletion is in progress"
            begun = make_condition(TERMINATING, holds=True, reason="InstanceDeletionInProgress", message=message)
            await self._report(name, lambda one: with_condition(one, begun, self._now()))
            self._ending[name] = listener = self._listener(name)
            storage.collection.listeners[listener] = None
            await self._delete_all(storage)
        if not storage.collection.records:
            await self._finish(name, reason="InstanceDeletionCompleted", message="removed all instances")

    def _listener(self, name: str) -> Listener:
        """Return a listener that queues the CRD when one of its objects is deleted."""

        def listen(change: Change) -> None:
            if change.type is ChangeType.DELETED:
                self._remember(name)

        return listen

    async def _delete_all(self, home: CustomResource) -> None:
        for record in tuple(home.collection.records.values()):
            scope = Call(APISERVER, record.namespace, record.name, user_agent=_AGENT)
            try:
                await deletion.delete(home, scope, DeleteOptions())
            except NotFound:
                continue

    async def _finish(self, name: str, *, reason: str, message: str) -> None:
        done = make_condition(TERMINATING, holds=False, reason=reason, message=message)
        await self._report(name, lambda one: without_finalizer(with_condition(one, done, self._now())))
