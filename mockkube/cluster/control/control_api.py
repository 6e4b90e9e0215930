"""Control resources of one cluster: a registry over a store of their own."""

import asyncio
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, Self

from mockkube_storage import errors as store_errors
from mockkube_storage.store import Store

from mockkube.api.json_objects import Object
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.identity.user import MASTERS_GROUP, User
from mockkube.apiserver.post_start_hooks.store_maintenance import StoreMaintenance
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.runtime_config import RuntimeConfig
from mockkube.apiserver.registry.service_ip_allocator import ServiceIpAllocator
from mockkube.apiserver.registry.watch_cache import Collection
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.control.catalogue import ControlKindDependencies, PageHandlers, make_kind_set
from mockkube.cluster.control.component import ComponentSpec, DeletionProtection
from mockkube.cluster.control.schemas import API_VERSION, GROUP, ControlSchema
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random

_MANAGER: Final = "mockkube"
_USER: Final = User("system:mockkube", groups=(MASTERS_GROUP,))
_OPTIONS: Final = WriteOptions(field_manager=_MANAGER)


@lru_cache(maxsize=1)
def _make_schema() -> ControlSchema:
    """Return the types of the control kinds, shared by all clusters of the process."""
    return ControlSchema(DEFAULT)


class ControlApi:
    """Registry of the control resources; API servers serve it while it is entered."""

    def __init__(
        self,
        configuration: ClusterConfiguration,
        store: Store,
        page_handlers: PageHandlers,
        *,
        revision: Callable[[], int],
        clock: Clock,
        random: Random,
    ) -> None:
        """Use a started store; `revision` returns the revision of the cluster's own store."""
        self._trains = configuration.release_trains
        self._store = store
        self._store_maintenance = StoreMaintenance(store, clock)
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []
        # Specs of components, and the revisions from which they were decoded.
        self._specs: Mapping[str, ComponentSpec] = {}
        self._spec_revisions: dict[str, int] = {}
        self.registry = Registry(
            store=store,
            clock=clock,
            random=random,
            capabilities=Capabilities(DEFAULT),
            schema=_make_schema(),
            admission=AdmissionChain([DeletionProtection(self.load_component_specs)]),
            service_ip_allocator=ServiceIpAllocator(),
            runtime_config=RuntimeConfig({API_VERSION: True}),
            kind_set=make_kind_set(
                ControlKindDependencies(configuration, self.load_component_specs, revision), page_handlers
            ),
        )

    async def __aenter__(self) -> Self:
        cache = self.registry.dependencies.watch_cache
        await cache.start()
        await self._group.__aenter__()
        self._tasks = [self._group.create_task(work) for work in (cache.run(), *self._store_maintenance.coroutines())]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(None, None, None)

    def get_resource(self, plural: str) -> Resource:
        """Return the resource of a control kind."""
        found = self.registry.find_storage_resource(GROUP, plural)
        assert found is not None, f"{plural} is a control kind"
        return found

    def get_collection(self, plural: str) -> Collection:
        """Return the cached objects of a kind."""
        return self.get_resource(plural).collection

    def load_objects(self, plural: str) -> dict[str, Object]:
        """Return every object of a kind by name; the caller may change the copies."""
        return {cached.name: cached.load() for cached in self.get_collection(plural).objects.values()}

    def load_component_specs(self) -> Mapping[str, ComponentSpec]:
        """Return the spec of every component by name."""
        collection = self.get_collection("components")
        revisions = {cached.name: cached.revision for cached in collection.objects.values()}
        if revisions != self._spec_revisions:
            self._spec_revisions = revisions
            self._specs = {
                name: ComponentSpec.from_object(obj, self._trains)
                for name, obj in self.load_objects("components").items()
            }
        return self._specs

    async def load_specs_at(self, plural: str, revision: int) -> dict[str, Object]:
        """Return the spec of every object of a kind at a revision; Compacted if that is too old."""
        resource = self.get_resource(plural)
        page = await self._store.list(resource.prefix(""), revision=revision)
        objects = (resource.decode_entry(entry).load() for entry in page.entries)
        return {obj["metadata"]["name"]: obj["spec"] for obj in objects}

    async def create_object(self, plural: str, name: str, spec: Object) -> list[str]:
        """Create an object; return warnings."""
        resource = self.get_resource(plural)
        call = RequestScope(_USER, user_agent=_MANAGER)
        obj = {"apiVersion": API_VERSION, "kind": resource.kind.kind, "metadata": {"name": name}, "spec": spec}
        await creation.create(resource, call, resource.decode(obj, call, "Ignore"), _OPTIONS)
        return call.warnings

    async def update_spec(self, plural: str, name: str, spec: Object) -> list[str]:
        """Replace an object's spec and return warnings; NotFound, or Invalid with the field errors."""
        resource = self.get_resource(plural)
        call = RequestScope(_USER, name=name, user_agent=_MANAGER)
        obj = {"apiVersion": API_VERSION, "kind": resource.kind.kind, "metadata": {"name": name}, "spec": spec}
        new_spec = resource.decode(obj, call, "Ignore")["spec"]
        await updating.update(resource, call, lambda live: {**live, "spec": new_spec}, _OPTIONS)
        return call.warnings

    async def delete_object(self, plural: str, name: str) -> None:
        """Delete an object if it exists."""
        # Directly in the store: admission protects required components from users, not from a restore.
        cached = self.get_resource(plural).get_cached("", name)
        if cached is None:
            return
        expected = cached.revision
        while True:
            try:
                entry = await self._store.delete(cached.key, expected=expected)
            except store_errors.Conflict as conflict:
                if conflict.current is None:
                    return
                expected = conflict.current.revision  # its status was updated meanwhile
            else:
                break
        await self.registry.dependencies.watch_cache.wait_until_at(entry.revision)

    async def update_status(self, plural: str, obj: Object, status: Object) -> None:
        """Replace the status of an object; NotFound if it was deleted."""
        # An unchanged status is no write, so that reports do not wake their own watchers for ever.
        if obj.get("status") == status:
            return
        resource = self.get_resource(plural)
        call = RequestScope(_USER, name=obj["metadata"]["name"], subresource="status", user_agent=_MANAGER)

        def set_status(live: Object) -> Object:
            return {**live, "status": status}

        await updating.update(resource, call, set_status, _OPTIONS)
