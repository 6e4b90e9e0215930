"""The control resources of one cluster: a registry over a store of their own, apart from what the cluster stores."""

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
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock

_MANAGER: Final = "mockkube"
_USER: Final = User("system:mockkube", groups=(MASTERS,))
_OPTIONS: Final = WriteOptions(field_manager=_MANAGER)


@lru_cache(maxsize=1)
def _schema() -> ControlSchema:
    """The types of the control kinds: the same for every cluster of the process."""
    return ControlSchema(DEFAULT)


class ControlPlane:
    """What the control API holds. `registry` is for API servers to adopt while this is entered."""

    def __init__(
        self,
        configuration: ClusterConfiguration,
        store: Store,
        pages: Pages,
        *,
        revision: Callable[[], int],
        clock: Clock,
        chance: Chance,
    ) -> None:
        """Hold them in a store that is started; `revision` is that of the other store, the cluster's own."""
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
        """The resource of a control kind."""
        found = self.registry.stored(GROUP, plural)
        assert found is not None, f"{plural} is a control kind"
        return found

    def collection(self, plural: str) -> Collection:
        """What is stored of a kind."""
        return self.resource(plural).collection

    def objects(self, plural: str) -> dict[str, Object]:
        """Every object of a kind by name; the caller may change them."""
        return {record.name: record.load() for record in self.collection(plural).records.values()}

    def components(self) -> Mapping[str, Asked]:
        """What every component is asked for."""
        return {name: Asked.read(obj, self._trains) for name, obj in self.objects("components").items()}

    async def specs_at(self, plural: str, revision: int) -> dict[str, Object]:
        """Return the spec of every object of a kind as of a revision; Compacted if that is forgotten."""
        resource = self.resource(plural)
        page = await self._store.list(resource.prefix(""), revision=revision)
        objects = (resource.read_entry(entry).load() for entry in page.entries)
        return {obj["metadata"]["name"]: obj["spec"] for obj in objects}

    async def create(self, plural: str, name: str, spec: Object) -> list[str]:
        """Create an object nobody has created yet; return what it is warned of."""
        resource = self.resource(plural)
        call = Call(_USER, user_agent=_MANAGER)
        obj = {"apiVersion": API_VERSION, "kind": resource.kind.kind, "metadata": {"name": name}, "spec": spec}
        await creation.create(resource, call, resource.decode(obj, call, "Ignore"), _OPTIONS)
        return call.warnings

    async def tell(self, plural: str, name: str, spec: Object) -> list[str]:
        """Replace the spec of an object, and return warnings; NotFound if there is none, Invalid if it may not be."""
        resource = self.resource(plural)
        call = Call(_USER, name=name, user_agent=_MANAGER)
        obj = {"apiVersion": API_VERSION, "kind": resource.kind.kind, "metadata": {"name": name}, "spec": spec}
        told = resource.decode(obj, call, "Ignore")["spec"]
        await updating.update(resource, call, lambda live: {**live, "spec": told}, _OPTIONS)
        return call.warnings

    async def remove(self, plural: str, name: str) -> None:
        """Delete an object; nothing happens if there is none."""
        record = self.resource(plural).record("", name)
        if record is not None:
            entry = await self._store.delete(record.key, expected=record.revision)
            await self.registry.services.cache.reach(entry.revision)

    async def report(self, plural: str, obj: Object, status: Object) -> None:
        """Replace the status of an object; NotFound if it is gone."""
        if obj.get("status") == status:
            return
        resource = self.resource(plural)
        call = Call(_USER, name=obj["metadata"]["name"], subresource="status", user_agent=_MANAGER)

        def reported(live: Object) -> Object:
            return {**live, "status": status}

        await updating.update(resource, call, reported, _OPTIONS)
