"""The control resources of one cluster: a registry over a store in memory, apart from what the cluster stores itself.

They are gone with the process, as the settings of real components are unless somebody writes them down: what a
cluster is started with says where it begins again.
"""

import asyncio
from collections.abc import Mapping
from typing import Final, Self

from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.catalogue import STATUS, Kind
from mockkube.api.types import Object
from mockkube.apiserver.http.authentication import MASTERS, User
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.allocators import Allocators
from mockkube.apiserver.registry.cache import Collection
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Family, Registry
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.control.component import PRINTER, Asked, ComponentStrategy, Defaults, Keeper
from mockkube.cluster.control.definitions import API_VERSION, GROUP, VERSION, ControlSchema, published
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock

KINDS: Final = (
    Kind(
        GROUP,
        "Component",
        "components",
        namespaced=False,
        short_names=("comp",),
        versions=(VERSION,),
        subresources=(STATUS,),
    ),
)
_MANAGER: Final = "mockkube"
_USER: Final = User("system:mockkube", groups=(MASTERS,))
_OPTIONS: Final = WriteOptions(field_manager=_MANAGER)


class ControlPlane:
    """What the control API holds. `registry` is for API servers to adopt while this is entered."""

    def __init__(self, configuration: ClusterConfiguration, *, clock: Clock, chance: Chance) -> None:
        self._trains = configuration.release_trains
        self._store = MemoryStore()
        self._group = asyncio.TaskGroup()
        self._following: asyncio.Task[None] | None = None
        self.registry = Registry(
            store=self._store,
            clock=clock,
            chance=chance,
            caps=Capabilities(DEFAULT),
            schema=ControlSchema(DEFAULT),
            plugins=[Keeper()],
            allocators=Allocators(),
            runtime_config={API_VERSION: True},
            family=self._family(configuration),
        )

    def _family(self, configuration: ClusterConfiguration) -> Family:
        return Family(
            kinds=KINDS,
            strategies={(GROUP, "Component"): ComponentStrategy(configuration, self.components)},
            defaults={(GROUP, VERSION, "Component"): Defaults(configuration, self.components)},
            printers={(GROUP, "Component"): PRINTER},
            published={(GROUP, VERSION, kind.kind): published(kind.kind) for kind in KINDS},
        )

    async def __aenter__(self) -> Self:
        await self._store.start()
        cache = self.registry.services.cache
        await cache.start()
        await self._group.__aenter__()
        self._following = self._group.create_task(cache.run())
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._following is not None:
            self._following.cancel()
            await self._group.__aexit__(None, None, None)
        await self._store.close()

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

    async def create(self, plural: str, name: str, spec: Object) -> None:
        """Create an object nobody has created yet."""
        resource = self.resource(plural)
        call = Call(_USER, user_agent=_MANAGER)
        obj = {"apiVersion": API_VERSION, "kind": resource.kind.kind, "metadata": {"name": name}, "spec": spec}
        await creation.create(resource, call, resource.decode(obj, call, "Ignore"), _OPTIONS)

    async def report(self, plural: str, obj: Object, status: Object) -> None:
        """Replace the status of an object; NotFound if it is gone."""
        if obj.get("status") == status:
            return
        resource = self.resource(plural)
        call = Call(_USER, name=obj["metadata"]["name"], subresource="status", user_agent=_MANAGER)

        def reported(live: Object) -> Object:
            return {**live, "status": status}

        await updating.update(resource, call, reported, _OPTIONS)
