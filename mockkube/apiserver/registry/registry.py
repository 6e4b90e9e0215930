"""Registry of all resources that an API server serves, by group, version and plural."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial
from typing import Any, Final

from mockkube_storage.store import Store

from mockkube.api.catalogue import KINDS, KindInfo, Subresource, load_kind
from mockkube.api.decoding.codec import Codec
from mockkube.api.errors import Timeout
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.strategies import Strategies
from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.api.schema import Schema
from mockkube.api.strategy import Strategy
from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
from mockkube.apiserver.registry.admission import Admission
from mockkube.apiserver.registry.aggregated_api import AggregatedApi
from mockkube.apiserver.registry.managed_fields import ManagedFieldsUpdaters
from mockkube.apiserver.registry.resource import RegistryDependencies, Resource
from mockkube.apiserver.registry.runtime_config import RuntimeConfig
from mockkube.apiserver.registry.service_ip_allocator import ServiceIpAllocator
from mockkube.apiserver.registry.watch_cache import WatchCache
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock, RealClock
from mockkube.runtime.heavy_work import InlineRunner, ThreadedRunner
from mockkube.runtime.hot_loops import HotLoops
from mockkube.runtime.random import Random


@dataclass(frozen=True, slots=True)
class KindSet:
    """Kinds that are served together; `load` and `strategy` return the record and the strategy of one."""

    kinds: Sequence[KindInfo]
    load: Callable[[KindInfo], Kind]
    strategy: Callable[[KindInfo], Strategy]
    openapi_schemas: Mapping[tuple[str, str, str], ReadOnlyObject] = field(default_factory=dict)
    """OpenAPI schemas by group, version and kind, for kinds that upstream does not have."""
    get_handlers: Mapping[tuple[str, str, str], Callable[[Any], Any]] = field(default_factory=dict)
    """Handlers of GET by group, plural and subresource, for subresources of a single kind."""


def built_in_kinds(strategies: Strategies) -> KindSet:
    """Return the built-in kinds with the strategies of one server."""
    return KindSet(KINDS, lambda kind: load_kind(kind.group, kind.kind), strategies.for_kind)


BUILT_IN_KINDS: Final = built_in_kinds(Strategies())


@lru_cache(maxsize=32)
def _get_codec(schema: Schema) -> Codec:
    """Return the codec of a schema. Compiling one is slow, so servers with the same schema share it."""
    return Codec(schema)


def _request_timeout() -> Timeout:
    """Return the error for work that takes longer than a request may."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/finisher/finisher.go
    return Timeout("Timeout: request did not complete within requested timeout - context deadline exceeded")


def _without_disabled_subresources(kinds: Sequence[KindInfo], capabilities: Capabilities) -> list[KindInfo]:
    """Return the kinds without subresources whose gate is off: they answer 404, and discovery lists none of them."""

    def is_enabled(subresource: Subresource) -> bool:
        return not subresource.gate or capabilities.enabled(subresource.gate)

    return [
        kind
        if all(map(is_enabled, kind.subresources))
        else replace(kind, subresources=tuple(filter(is_enabled, kind.subresources)))
        for kind in kinds
    ]


class Registry:
    """Resources of one API server, and what they share.

    It may adopt another registry, whose groups are served like its own, from a store of their own.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        random: Random,
        capabilities: Capabilities,
        schema: Schema,
        admission: Admission,
        service_ip_allocator: ServiceIpAllocator,
        runtime_config: RuntimeConfig,
        kind_set: KindSet = BUILT_IN_KINDS,
        token_issuer: TokenIssuer | None = None,
        hot_loops: HotLoops | None = None,
    ) -> None:
        self.schema = schema
        self.kind_set = kind_set = replace(kind_set, kinds=_without_disabled_subresources(kind_set.kinds, capabilities))
        self._runtime_config = runtime_config
        codec = _get_codec(schema)
        is_real_time = isinstance(clock, RealClock)
        self.dependencies = RegistryDependencies(
            store=store,
            watch_cache=WatchCache(store, hot_loops, applies_in_callers=not is_real_time),
            clock=clock,
            random=random,
            capabilities=capabilities,
            codec=codec,
            protobuf=ProtobufSerializer(schema),
            admission=admission,
            service_ip_allocator=service_ip_allocator,
            token_issuer=token_issuer or TokenIssuer(),
            heavy_work=ThreadedRunner(_request_timeout) if is_real_time else InlineRunner(),
            managed_fields_updaters=ManagedFieldsUpdaters(schema, codec),
            find_storage_resource=self.find_storage_resource,
            find_by_kind=self.find_by_kind,
            find_equivalents=self.find_equivalents,
        )
        self.resources: dict[tuple[str, str, str], Resource] = {}
        self._storage_resources: dict[tuple[str, str], Resource] = {}
        self._adopted_groups: dict[str, Registry] = {}
        self._crd_resources: dict[tuple[str, str], list[Resource]] = {}
        # Called with group and plural of a CRD that is no longer served.
        self.on_crd_removed: Callable[[str, str], None] = lambda group, plural: None
        # Increases whenever other resources are served than before, to invalidate discovery and OpenAPI.
        self.generation = 0
        # Aggregated APIs by group and version: requests to them are proxied.
        self.aggregated_apis: dict[tuple[str, str], AggregatedApi] = {}
        for kind in kind_set.kinds:
            self._add_kind(kind)

    def add_registry(self, other: "Registry") -> None:
        """Serve the resources of another registry, whose groups this one does not have."""
        self._adopted_groups.update((kind.group, other) for kind in other.kind_set.kinds)
        self.resources.update(other.resources)
        self._storage_resources.update(other._storage_resources)

    async def serve_new_crd(self, group: str, plural: str) -> bool:
        """Serve a CRD that another server has just stored; return whether there is one."""
        dependencies = self.dependencies
        if not dependencies.is_store_shared or dependencies.on_crd_created is None:
            return False
        await dependencies.watch_cache.wait_until_fresh()
        crds, name = (
            self.find_storage_resource("apiextensions.k8s.io", "customresourcedefinitions"),
            f"{plural}.{group}",
        )
        if crds is None or crds.get_cached("", name) is None:
            return False
        await dependencies.on_crd_created(name)
        return True

    def serve_crd(self, storage_resource: Resource, served: Iterable[Resource]) -> None:
        """Serve the versions of a CRD, in the place of those served before."""
        self._withdraw_crd(storage_resource.group, storage_resource.plural)
        self._crd_resources[storage_resource.group, storage_resource.plural] = list(served)
        self._storage_resources[storage_resource.group, storage_resource.plural] = storage_resource
        self.resources.update(((one.group, one.version, one.plural), one) for one in served)
        self.generation += 1

    def remove_crd(self, group: str, plural: str) -> None:
        """Stop serving the versions of a CRD, and report it."""
        self._withdraw_crd(group, plural)
        self.on_crd_removed(group, plural)

    def _withdraw_crd(self, group: str, plural: str) -> None:
        # Built-in resources are never removed, even if a CRD of the same name is deleted.
        if (group, plural) not in self._crd_resources:
            return
        for one in self._crd_resources.pop((group, plural)):
            del self.resources[group, one.version, plural]
        del self._storage_resources[group, plural]
        self.generation += 1

    def registry_of_group(self, group: str) -> "Registry":
        """Return the registry that holds a group: an adopted one, else this."""
        return self._adopted_groups.get(group, self)

    def _add_kind(self, kind: KindInfo) -> None:
        existing = [version for version in kind.versions if self.schema.find_definition(kind.group, version, kind.kind)]
        # Kinds without GET, such as reviews, are never stored; the HTTP layer answers them.
        if not existing or "get" not in kind.verbs:
            return
        kind_set = self.kind_set
        storage_resource = self._storage_resources.get(kind.stored_as) if kind.stored_as else None
        for version in existing:
            resource = Resource(
                kind,
                version,
                partial(self.schema.get_kind_type, kind.group, version, kind.kind),
                lambda: kind_set.strategy(kind),
                self.dependencies,
                lambda: kind_set.load(kind),
            )
            resource.storage_resource = storage_resource = storage_resource or resource
            if resource is storage_resource:
                self._storage_resources[kind.group, kind.plural] = resource
                # Collections must exist before the cache starts, because it reads the store once for all of them.
                _ = resource.collection
            # Versions that are not served are still those in which objects are stored.
            if self._serves(kind, version):
                self.resources[kind.group, version, kind.plural] = resource

    def _serves(self, kind: KindInfo, version: str) -> bool:
        is_enabled = not kind.gate or self.dependencies.capabilities.enabled(kind.gate)
        return is_enabled and self._runtime_config.serves(kind.group, version, kind.plural)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Return the served resource, if there is one."""
        return self.resources.get((group, version, plural))

    def find_storage_resource(self, group: str, plural: str) -> Resource | None:
        """Return the resource in its storage version, served or not."""
        return self._storage_resources.get((group, plural))

    def has_built_in_group(self, group: str) -> bool:
        """Return whether the group is built in; groups of CRDs are not."""
        return any(kind.group == group for kind, _ in self._built_in_kinds())

    def find_by_kind(self, api_version: str, kind: str) -> Resource | None:
        """Return the served resource of an apiVersion and a kind."""
        for resource in self.resources.values():
            if resource.kind.kind == kind and resource.api_version == api_version:
                return resource
        return None

    def find_equivalents(self, resource: Resource) -> list[Resource]:
        """Return the served resources, of any version or group, that are stored as the same kind."""
        return [one for one in self.resources.values() if one.storage_resource is resource.storage_resource]

    def count_objects(self) -> list[tuple[str, str, int]]:
        """Return group, plural and number of objects of each kind that is stored."""
        stored = self._storage_resources.values()
        return sorted(
            (one.group, one.plural, len(one.collection.objects)) for one in stored if one.storage_resource is one
        )

    def served_kinds(self) -> list[tuple[KindInfo, tuple[str, ...]]]:
        """Return every kind with its served versions, for discovery; includes kinds that only answer a POST."""
        served = self._built_in_kinds()
        for _, resources in sorted(self._crd_resources.items()):
            served += [(one.kind, (one.version,)) for one in resources]
        return served

    def _built_in_kinds(self) -> list[tuple[KindInfo, tuple[str, ...]]]:
        served = []
        for kind in self.kind_set.kinds:
            versions = tuple(
                version
                for version in kind.versions
                if (kind.group, version, kind.plural) in self.resources
                or (
                    "get" not in kind.verbs
                    and self._serves(kind, version)
                    and self.schema.find_definition(kind.group, version, kind.kind)
                )
            )
            if versions:
                served.append((kind, versions))
        for other in dict.fromkeys(self._adopted_groups.values()):
            served += other.served_kinds()
        return served
