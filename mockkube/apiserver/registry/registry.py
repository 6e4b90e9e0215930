"""Every resource an API server serves, found by group, version and plural."""

from collections.abc import Mapping, Sequence

from mockkube_storage.store import Store

from mockkube.api.catalogue import KINDS, Kind, stable
from mockkube.api.codec import Codec
from mockkube.api.defaults.catalogue import DEFAULTS, STAMPS
from mockkube.api.kinds.catalogue import STRATEGIES
from mockkube.api.schema import Schema
from mockkube.api.strategy import Strategy
from mockkube.apiserver.admission.chain import Chain, Plugin
from mockkube.apiserver.registry.allocators import Allocators
from mockkube.apiserver.registry.cache import Cache
from mockkube.apiserver.registry.resource import Resource, Services
from mockkube.apiserver.registry.tracking import Trackers
from mockkube.apiserver.service_account_tokens import TokenIssuer
from mockkube.features.capabilities import Capabilities
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock

PLAIN = Strategy()


class Registry:
    """The resources of one API server, and what they share."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        chance: Chance,
        caps: Capabilities,
        schema: Schema,
        plugins: Sequence[Plugin],
        allocators: Allocators,
        runtime_config: Mapping[str, bool],
    ) -> None:
        self.schema = schema
        codec = Codec(schema)
        self.services = Services(
            store=store,
            cache=Cache(store),
            clock=clock,
            chance=chance,
            caps=caps,
            codec=codec,
            admission=Chain(plugins),
            allocators=allocators,
            accounts=TokenIssuer(),
            trackers=Trackers(schema, codec),
            find=self.stored,
        )
        self.resources: dict[tuple[str, str, str], Resource] = {}
        self._stored: dict[tuple[str, str], Resource] = {}
        for kind in KINDS:
            self._add(kind, runtime_config)

    def _add(self, kind: Kind, runtime_config: Mapping[str, bool]) -> None:
        existing = [version for version in kind.versions if self.schema.kind(kind.group, version, kind.kind)]
        if not existing or "get" not in kind.verbs:
            return
        strategy = STRATEGIES.get((kind.group, kind.kind), PLAIN)
        home = self._stored.get(kind.stored_as) if kind.stored_as else None
        for version in existing:
            node = self.schema.kind(kind.group, version, kind.kind)
            assert node is not None
            resource = Resource(kind, version, node, strategy, self.services)
            resource.stamp = STAMPS.get((kind.group, version, kind.kind))
            resource.default = DEFAULTS.get((kind.group, version, kind.kind))
            resource.home = home = home or resource
            if resource is home:
                self._stored[kind.group, kind.plural] = resource
                _ = resource.collection
            if runtime_config.get(resource.api_version, stable(version)):
                self.resources[kind.group, version, kind.plural] = resource

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The served resource, if there is one."""
        return self.resources.get((group, version, plural))

    def stored(self, group: str, plural: str) -> Resource | None:
        """The resource in its storage version, served or not."""
        return self._stored.get((group, plural))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """The served resource of a kind, as an object names it."""
        for resource in self.resources.values():
            if resource.kind.kind == kind and resource.api_version == api_version:
                return resource
        return None

    def served_kinds(self) -> list[tuple[Kind, tuple[str, ...]]]:
        """Every kind with its served versions, for discovery; kinds that only answer a POST included."""
        served = []
        for kind in KINDS:
            versions = tuple(
                version
                for version in kind.versions
                if (kind.group, version, kind.plural) in self.resources
                or ("get" not in kind.verbs and stable(version) and self.schema.kind(kind.group, version, kind.kind))
            )
            if versions:
                served.append((kind, versions))
        return served
