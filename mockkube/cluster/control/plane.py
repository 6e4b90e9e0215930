"""Control resources of one cluster: a registry over a store of their own."""

import asyncio
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, Self

from mockkube_storage.store import Store

from mockkube.api.types import Object
from mockkube.apiserver.admission.chain import Chain
from mockkube.apiserver.identity.user import MASTERS, User
from mockkube.apiserver.post_start_hooks.store_maintenance import Housekeeping
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.allocators import Allocators
from mockkube.apiserver.registry.cache import Collection
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.control.catalogue import Facts, Pages, family
from mockkube.cluster.control.component import Asked, Keeper
from mockkube.cluster.control.definitions import API_VERSION, GROUP, ControlSchema
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT
from mockkube.runtime.chance import Random
from mockkube.runtime.clock import Clock

_MANAGER: Final = "mockkube"
_USER: Final = User("system:mockkube", groups=(MASTERS,))
_OPTIONS: Final = WriteOptions(field_manager=_MANAGER)


@lru_cache(maxsize=1)
def _schema() -> ControlSchema:
    """Return the types of the control kinds, shared by all clusters of the process."""
    return ControlSchema(DEFAULT)


class ControlPlane:
    """Registry of the control resources; API servers serve it while it is entered."""

    def __init__(
        self,
        configuration: ClusterConfiguration,
        store: Store,
        pages: Pages,
        *,
        revision: Callable[[], int],
        clock: Clock,
        chance: Random,
    ) -> None:
        """Use a started store; `revision` returns the revision of the cluster's own store."""
        self._trains = configuration.release_trains
        self._store = store
        self._housekeeping = Housekeeping(store, clock)
        self._group = asyncio.TaskGroup()
        self._running: list[asyncio.Task[None]] = []
        self.registry = Registry(
            store=store,
            clock=clock,
            chance=chance,
            caps=Capabilities(DEFAULT),
            schema=_schema(),
            admission=Chain([Keeper(self.components)]),
            allocators=Allocators(),
            runtime_config={API_VERSION: True},
            family=family(Facts(configuration, self.components, revision), pages),
        )

    async def __aenter__(self) -> Self:
        cache = self.registry.services.cache
        await cache.start()
        await self._group.__aenter__()
        self._running = [self._group.create_task(work) for work in (cache.run(), *self._housekeeping.work())]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for task in self._running:
            task.cancel()
        await self._group.__aexit__(None, None, None)

    def resource(self, plural: str) -> Resource:
        """Return the resource of a control kind."""
        found = self.registry.stored(GROUP, plural)
        assert found is not None, f"{plural} is a control kind"
        return found

    def collection(self, plural: str) -> Collection:
        """Return the cached objects of a kind."""
        return self.resource(plural).collection

    def objects(self, plural: str) -> dict[str, Object]:
        """Return every object of a kind by name; the caller may change the copies."""
        return {record.name: record.load() for record in self.collection(plural).records.values()}

    def components(self) -> Mapping[str, Asked]:
        """Return the spec of every component by name."""
        return {name: Asked.read(obj, self._trains) for name, obj in self.objects("components").items()}

    async def specs_at(self, plural: str, revision: int) -> dict[str, Object]:
        """Return the spec of every object of a kind at a revision; Compacted if that is too old."""
        resource = self.resource(plural)
        page = await self._store.list(resource.prefix(""), revision=revision)
        objects = (resource.read_entry(entry).load() for entry in page.entries)
        return {obj["metadata"]["name"]: obj["spec"] for obj in objects}

    async def create(self, plural: str, name: str, spec: Object) -> list[str]:
        """Create an object; return warnings."""
        resource = self.resource(plural)
        call = Call(_USER, user_agent=_MANAGER)
        obj = {"apiVersion": API_VERSION, "kind": resource.kind.kind, "metadata": {"name": name}, "spec": spec}
        await creation.create(resource, call, resource.decode(obj, call, "Ignore"), _OPTIONS)
        return call.warnings

    async def tell(self, plural: str, name: str, spec: Object) -> list[str]:
        """Replace an object's spec and return warnings; NotFound, or Invalid with the field errors."""
        resource = self.resource(plural)
        call = Call(_USER, name=name, user_agent=_MANAGER)
        obj = {"apiVersion": API_VERSION, "kind": resource.kind.kind, "metadata": {"name": name}, "spec": spec}
        new_spec = resource.decode(obj, call, "Ignore")["spec"]
        await updating.update(resource, call, lambda live: {**live, "spec": new_spec}, _OPTIONS)
        return call.warnings

    async def remove(self, plural: str, name: str) -> None:
        """Delete an object if it exists."""
        # Directly in the store: admission protects required components from users, not from a restore.
        record = self.resource(plural).record("", name)
        if record is not None:
            entry = await self._store.delete(record.key, expected=record.revision)
            await self.registry.services.cache.reach(entry.revision)

    async def report(self, plural: str, obj: Object, status: Object) -> None:
        """Replace the status of an object; NotFound if it was deleted."""
        # An unchanged status is no write, so that reports do not wake their own watchers for ever.
        if obj.get("status") == status:
            return
        resource = self.resource(plural)
        call = Call(_USER, name=obj["metadata"]["name"], subresource="status", user_agent=_MANAGER)

        def reported(live: Object) -> Object:
            return {**live, "status": status}

        await updating.update(resource, call, reported, _OPTIONS)
