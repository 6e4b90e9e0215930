"""API server: wires registry, admission, authorization, HTTP handlers and post-start hooks over one store.

It owns the tasks that run, but not the socket: a listener passes requests to `ApiServer.handler`.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from mockkube_storage.store import Store

from mockkube.api.errors import AlreadyExists
from mockkube.api.fields import FieldError
from mockkube.api.kinds.dependencies import StrategyDependencies
from mockkube.api.kinds.strategies import Strategies
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.api.strategy import StrategyContext
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.admission import catalogue as admission
from mockkube.apiserver.admission.chain import Chain
from mockkube.apiserver.admission.policies.expressions import policy_expression
from mockkube.apiserver.admission.service_account import ServiceAccount
from mockkube.apiserver.aggregation.backends import Backends
from mockkube.apiserver.aggregation.routes import NoRoute, route
from mockkube.apiserver.aggregation.transport import FrontProxy
from mockkube.apiserver.authentication.service_account_authenticator import ServiceAccountReviewer
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.bootstrap_roles import bootstrap_rbac
from mockkube.apiserver.authorization.escalation import Escalation
from mockkube.apiserver.custom.definitions_on_demand import DefinitionsOnDemand
from mockkube.apiserver.http import reviews
from mockkube.apiserver.http.aggregated_apis import Proxy
from mockkube.apiserver.http.authentication import Authenticator
from mockkube.apiserver.http.authorization import Doorkeeper
from mockkube.apiserver.http.health import Check
from mockkube.apiserver.http.metrics import Metrics, describe
from mockkube.apiserver.http.plain import PlainPaths
from mockkube.apiserver.http.router import Router
from mockkube.apiserver.http.webhook_client import WebhookClient
from mockkube.apiserver.http.zpages import Subject
from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
from mockkube.apiserver.post_start_hooks.authentication_trust import front_proxy_data
from mockkube.apiserver.post_start_hooks.event_expiry import EventExpiry
from mockkube.apiserver.post_start_hooks.hooks import Chores
from mockkube.apiserver.post_start_hooks.namespace_defaults import Accounts
from mockkube.apiserver.post_start_hooks.store_maintenance import Housekeeping
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.allocators import Allocators
from mockkube.apiserver.registry.bootstrap import APISERVER, bootstrap
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import KindSet, Registry, built_in
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.apiserver.registry.webhook_calls import CallFailed
from mockkube.features.capabilities import Capabilities
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gates import GateState
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.matching.cel.devices import validate_device_expression
from mockkube.proposals.lending import make_object_rules, make_schema, make_validation_extensions
from mockkube.proposals.outside import default_trains
from mockkube.runtime.chance import Random
from mockkube.runtime.clock import Clock
from mockkube.runtime.loop_board import HotLoops


@dataclass(frozen=True, slots=True)
class ApiServerOptions:
    """Configuration of one API server."""

    authenticator: Authenticator
    caps: Capabilities = field(default_factory=Capabilities)
    flags: Mapping[str, str] = field(default_factory=dict)
    """Effective flags, as `/flagz` shows them."""
    gates: tuple[GateState, ...] = ()
    """Every gate of the version, on or off, as metrics report them."""
    trains: tuple[ReleaseTrain, ...] = field(default_factory=default_trains)
    """Release trains: which proposals a server of this version includes."""
    enable_admission: tuple[str, ...] = ()
    disable_admission: tuple[str, ...] = ()
    runtime_config: Mapping[str, bool] = field(default_factory=dict)
    certificate_authority: str = ""
    front_proxy: FrontProxy | None = None
    """Client certificate shown to aggregated API servers; None: requests to them carry none."""
    beside: Registry | None = None
    """Registry of further groups, with a store of its own; its owner keeps its watch cache running."""
    runs: Callable[[str], bool] = lambda component: False
    """Function that returns whether a component of the cluster runs, by its name."""
    identity: str = ""
    """Holder of the identity lease: the host, a slash, a suffix that tells servers of a host apart; empty: no lease."""
    board: HotLoops | None = None
    """Registry of hot loops, where the server reports objects that it cannot read."""
    accounts: TokenIssuer | None = None
    """Issuer of service account tokens; None: a new one, so that tokens become invalid when the server ends."""


def _custom_schema(
    schema: ReadOnlyObject, old: ReadOnlyObject | None, at: str, context: StrategyContext
) -> list[FieldError]:
    """Return the errors of a CRD's schema, its CEL rules included."""
    from mockkube.apiserver.custom.rule_checks import custom_schema  # with CEL, when the first definition comes

    return custom_schema(schema, old, at, context)


@lru_cache(maxsize=32)
def _family(version: Version, trains: tuple[ReleaseTrain, ...]) -> KindSet:
    """Return the built-in kinds with the fields and operators that proposals add."""
    # Nothing in it depends on one server, so all servers of a version and its trains share it.
    extensions = make_validation_extensions(version, trains)
    dependencies = StrategyDependencies(
        device_expression=validate_device_expression,
        policy_expression=policy_expression,
        custom_schema=_custom_schema,
        extensions=extensions,
        objects=make_object_rules(version, trains),
    )
    return built_in(Strategies(dependencies))


class ApiServer:
    """One API server on a store; `handler` answers requests between `start` and `stop`."""

    def __init__(self, *, store: Store, options: ApiServerOptions, clock: Clock, chance: Random) -> None:
        self._options = options
        self.registry = Registry(
            store=store,
            clock=clock,
            chance=chance,
            caps=options.caps,
            schema=make_schema(options.caps.version, options.trains),
            admission=Chain(admission.build(options.enable_admission, options.disable_admission)),
            allocators=Allocators(chance=chance),
            runtime_config=options.runtime_config,
            family=_family(options.caps.version, options.trains),
            accounts=options.accounts,
            board=options.board,
        )
        self._definitions = DefinitionsOnDemand(self.registry)
        if options.beside is not None:
            self.registry.adopt(options.beside)
        self.metrics = Metrics()
        describe(self.metrics.registry, EffectiveVersion.from_version(options.caps.version), options.gates)
        self._ready = False
        checks = [Check("ping", lambda: True), Check("etcd", lambda: self._ready and not store.problem)]
        authorizer = Authorizer(self.registry)
        services = self.registry.services
        # The authorizer reads roles from the registry, and the registry's admission and strategies ask the authorizer.
        # The cycle is closed here, after both exist.
        services.authorize = authorizer.decide
        services.runs = options.runs
        self._webhooks = WebhookClient(self._lead)
        services.call_webhook = self._webhooks.post
        services.admission = Chain([*services.admission.plugins, Escalation(authorizer)])
        self._chores = Chores(self.registry, options.certificate_authority, self._identity(), self._trust())
        authenticator = options.authenticator.knowing(ServiceAccountReviewer(self.registry, self._chores.tokens.used))
        doorkeeper = Doorkeeper(authorizer, constrained=options.caps.enabled("ConstrainedImpersonation"))
        answers = reviews.table(self.registry, authorizer, authenticator)
        subject = Subject("apiserver", options.caps, options.flags, clock.now())
        plain = PlainPaths(self.registry, self.metrics, checks, answers, subject, self._published)
        self._backends = Backends(self.registry, options.front_proxy)
        proxy = Proxy(self.registry, self._backends)
        self.handler = Router(self.registry, authenticator, doorkeeper, clock, self.metrics, plain, proxy)
        self._accounts = Accounts(self.registry, options.certificate_authority)
        self._housekeeping = Housekeeping(store, clock)
        services.cache.wrote = self._housekeeping.wrote
        self._event_expiry = EventExpiry(self.registry)
        self._running: list[asyncio.Task[None]] = []
        self._group = asyncio.TaskGroup()

    def _lead(self, service: ReadOnlyObject) -> str:
        """Return the base URL of a webhook's service; raise CallFailed if it has no endpoint."""
        try:
            return route(self.registry, service).url
        except NoRoute as error:
            raise CallFailed(str(error)) from error

    def _trust(self) -> Mapping[str, str]:
        """Return the request header configuration published for aggregated API servers."""
        proxy = self._options.front_proxy
        return {} if proxy is None else front_proxy_data(proxy.authority.read_text(), proxy.name)

    def _identity(self) -> str:
        """Return the holder of the identity lease, empty without the gate APIServerIdentity."""
        # upstream 1.36: pkg/controlplane/apiserver/server.go
        return self._options.identity if self._options.caps.enabled("APIServerIdentity") else ""

    async def start(self) -> None:
        """Start the watch cache, create the objects of a new cluster, run the post-start hooks."""
        cache = self.registry.services.cache
        await cache.start()
        await self._group.__aenter__()
        self._running.append(self._group.create_task(cache.run()))
        await self._definitions.start()
        self.registry.services.definition_created = self._definitions.ensure
        self._running.append(self._group.create_task(self._definitions.run()))
        await bootstrap(self.registry, authority=self._options.certificate_authority)
        await bootstrap_rbac(self.registry)
        # Without the ServiceAccount plugin no pod needs a service account, so namespaces get none by default.
        if any(plugin.name == ServiceAccount.name for plugin in self.registry.services.admission.plugins):
            self.registry.services.namespace_created = self._accounts.ensure
            self._running.append(self._group.create_task(self._accounts.run()))
        await self._chores.start()
        self._backends.start()
        work = [*self._chores.work(), *self._backends.work(), *self._housekeeping.work(), self._event_expiry.run()]
        self._running += [self._group.create_task(one) for one in work]
        self._ready = True

    def _published(self) -> Mapping[GroupVersionKind, ReadOnlyObject]:
        """Return schemas for OpenAPI of kinds that upstream does not have."""
        beside = self._options.beside
        published = {} if beside is None else beside.family.published
        return {
            **{GroupVersionKind(*kind): schema for kind, schema in published.items()},
            **self._definitions.published(),
        }

    @property
    def whole(self) -> "ApiServer":
        """The server itself, for callers of its process that use the registry without HTTP."""
        return self

    @property
    def busy(self) -> bool:
        """Whether a stored change has not reached the cache or the post-start hooks yet."""
        cache = self.registry.services.cache
        busy = (self._accounts.busy, self._definitions.busy, self._chores.busy, self._backends.rounds.busy)
        return cache.revision < cache.store.revision or any(busy)

    def end_watches(self) -> None:
        """End every open watch cleanly, and every watch that is opened later."""
        self.handler.streams.end()

    async def stop(self) -> None:
        """Stop all tasks and close all connections, also after a failed start."""
        self._ready = False
        self._chores.stop()
        self._backends.stop()
        # Watches end before the cache that feeds them is cancelled, so that clients read a complete chunked response.
        self.end_watches()
        for task in self._running:
            task.cancel()
        if self._running:
            await self._group.__aexit__(None, None, None)
            self._running.clear()
        await self._webhooks.close()
        await self._backends.transport.close()

    def _resource_of(self, obj: Object) -> Resource:
        resource = self.registry.of_kind(obj["apiVersion"], obj["kind"])
        assert resource is not None, f"{obj['apiVersion']} {obj['kind']} is served"
        return resource

    def _decoded(self, resource: Resource, obj: Object, subresource: str = "") -> tuple[Call, Object]:
        metadata = obj["metadata"]
        scope = Call(APISERVER, metadata.get("namespace", ""), metadata["name"], subresource, "mockkube")
        return scope, resource.decode(obj, scope, "Ignore")

    async def create_object(self, obj: Object) -> Object | None:
        """Create the object; return None, without a change, if its name exists."""
        resource = self._resource_of(obj)
        scope, decoded = self._decoded(resource, obj)
        try:
            return (await creation.create(resource, scope, decoded, WriteOptions())).load()
        except AlreadyExists:
            return None

    async def update_object(self, obj: Object) -> Object:
        """Replace an existing object except its status."""
        resource = self._resource_of(obj)
        scope, decoded = self._decoded(resource, obj)
        return (await updating.replace(resource, scope, decoded, WriteOptions())).record.load()

    async def update_status(self, obj: Object) -> Object:
        """Replace the status of an existing object."""
        resource = self._resource_of(obj)
        scope, decoded = self._decoded(resource, obj, "status")
        return (await updating.replace(resource, scope, decoded, WriteOptions())).record.load()
