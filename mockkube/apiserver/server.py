"""API server: wires registry, admission, authorization, HTTP handlers and post-start hooks over one store.

It owns the tasks that run, but not the socket: a listener passes requests to `ApiServer.handler`.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

from mockkube_storage.store import Store

from mockkube.api.errors import AlreadyExists
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.strategies import Strategies
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.api.strategy import StrategyContext
from mockkube.api.strategy_dependencies import StrategyDependencies
from mockkube.apiserver.admission import catalogue as admission
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.admission.plugins.service_account import ServiceAccount
from mockkube.apiserver.aggregation.availability_controller import AvailabilityController
from mockkube.apiserver.aggregation.service_resolver import NoEndpoint, resolve_endpoint
from mockkube.apiserver.aggregation.transport import FrontProxyCredentials
from mockkube.apiserver.audit.auditor import Auditor
from mockkube.apiserver.authentication.service_account_authenticator import ServiceAccountTokenAuthenticator
from mockkube.apiserver.authorization.authorizer import DEFAULT_MODES, RBAC, Authorizer
from mockkube.apiserver.authorization.bootstrap_roles import bootstrap_rbac
from mockkube.apiserver.authorization.escalation import EscalationCheck
from mockkube.apiserver.custom.lazy_crd_controller import LazyCrdController
from mockkube.apiserver.http.filters.audit import RequestAuditor
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.http.filters.authorization import RequestAuthorizer
from mockkube.apiserver.http.handlers import reviews
from mockkube.apiserver.http.handlers.health import HealthCheck
from mockkube.apiserver.http.handlers.non_resource_paths import NonResourcePaths
from mockkube.apiserver.http.handlers.proxy_handler import ProxyHandler
from mockkube.apiserver.http.handlers.zpages import ZpagesComponent
from mockkube.apiserver.http.metrics import (
    ApiServerMetrics,
    OpenWatchesCollector,
    StoredObjectsCollector,
    register_version_and_gates,
)
from mockkube.apiserver.http.router import Router
from mockkube.apiserver.http.webhook_client import WebhookClient
from mockkube.apiserver.identity.request_header_options import RequestHeaderOptions
from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
from mockkube.apiserver.post_start_hooks.event_expiry import EventExpiry
from mockkube.apiserver.post_start_hooks.hooks import PostStartHooks
from mockkube.apiserver.post_start_hooks.namespace_defaults import NamespaceDefaults
from mockkube.apiserver.post_start_hooks.store_maintenance import StoreMaintenance
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.admission import AdmissionPlugin
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, bootstrap
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import KindSet, Registry, built_in_kinds
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.runtime_config import RuntimeConfig
from mockkube.apiserver.registry.service_ip_allocator import NODE_PORTS, SERVICE_CIDR, ServiceIpAllocator
from mockkube.apiserver.registry.simulated_kubelets import SimulatedKubelets
from mockkube.apiserver.registry.webhook_calls import WebhookCallError
from mockkube.features.capabilities import Capabilities
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gates import GateState
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.component_extensions import make_object_rules, make_schema, make_validation_extensions
from mockkube.proposals.loading import default_trains
from mockkube.runtime.clock import Clock
from mockkube.runtime.hot_loops import HotLoops
from mockkube.runtime.random import Random
from mockkube.runtime.tracing import Tracer

if TYPE_CHECKING:
    from mockkube.apiserver.http.handlers.kubelet_forwarder import KubeletForwarder, PeerServers
    from mockkube.apiserver.post_start_hooks.kubernetes_endpoints import FindServers
    from mockkube.apiserver.registry.aggregated_api import ComputedGroup


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
    authorization_modes: tuple[str, ...] = DEFAULT_MODES
    """Authorization modes in the order in which they are asked."""
    service_cidrs: tuple[str, ...] = (SERVICE_CIDR,)
    """Ranges of cluster IPs, one for each IP family; the first is the primary one."""
    node_ports: range = NODE_PORTS
    """Range of node ports."""
    enable_admission: tuple[str, ...] = ()
    disable_admission: tuple[str, ...] = ()
    admission_plugins: Mapping[str, Callable[[], AdmissionPlugin]] = field(default_factory=dict)
    """Functions that make the admission plugins with options of their own, by the plugin's name."""
    runtime_config: RuntimeConfig = field(default_factory=RuntimeConfig)
    certificate_authority: str = ""
    front_proxy: FrontProxyCredentials | None = None
    """Client certificate shown to aggregated API servers; None: requests to them carry none."""
    request_header: RequestHeaderOptions | None = None
    """Request header configuration that is published for aggregated API servers; None: there is none."""
    serves_resource_metrics: bool = False
    """Whether the server has the API group metrics.k8s.io, with simulated usage."""
    additional_registry: Registry | None = None
    """Registry of further groups, with a store of its own; its owner keeps its watch cache running."""
    peer_servers: "PeerServers | None" = None
    """Other API servers of the control plane; None: this one answers for all pods."""
    find_servers: "FindServers | None" = None
    """Function that returns the live API servers of the control plane; None: the endpoints of `kubernetes` stay."""
    is_component_running: Callable[[str], bool] = lambda component: False
    """Function that returns whether a component of the cluster runs, by its name."""
    simulated_kubelets: SimulatedKubelets = field(default_factory=SimulatedKubelets)
    """Kubelets that answer for pods, shared by the API servers of a cluster."""
    lease_identity: str = ""
    """Holder of the identity lease: the host, a slash, a suffix that tells servers of a host apart; empty: no lease."""
    auditor: Auditor | None = None
    """Writer of the audit log; None: nothing is logged."""
    is_store_shared: bool = False
    """Whether API servers of other processes use the same store."""
    hot_loops: HotLoops | None = None
    """Registry of hot loops, where the server reports objects that it cannot read."""
    tracer: Tracer | None = None
    """Tracer of requests; None: they are not traced."""
    token_issuer: TokenIssuer | None = None
    """Issuer of service account tokens; None: a new one, so that tokens become invalid when the server ends."""


def _validate_custom_schema(
    schema: ReadOnlyObject, old: ReadOnlyObject | None, at: str, context: StrategyContext
) -> list[FieldError]:
    """Return the errors of a CRD's schema, its CEL rules included."""
    from mockkube.apiserver.custom.rule_validation import (
        validate_crd_schema,  # with CEL, when the first CRD comes
    )

    return validate_crd_schema(schema, old, at, context)


def _make_forwarder(registry: Registry, peers: "PeerServers") -> "KubeletForwarder":
    from mockkube.apiserver.http.handlers.kubelet_forwarder import KubeletForwarder  # only with other servers

    return KubeletForwarder(registry, peers)


def _make_computed_apis(registry: Registry) -> "list[ComputedGroup]":
    from mockkube.apiserver.metric_values.metric_values_apis import (
        make_metric_values_apis,
    )  # only where they are served
    from mockkube.apiserver.resource_metrics.resource_metrics_api import ResourceMetricsApi

    return [ResourceMetricsApi(registry), *make_metric_values_apis(registry)]


async def _reconcile_endpoints(registry: Registry, find_servers: "FindServers") -> None:
    """Keep the endpoints of the service `kubernetes` until cancelled."""
    from mockkube.apiserver.post_start_hooks.kubernetes_endpoints import (
        KubernetesEndpointsController,  # only with other servers
    )

    await KubernetesEndpointsController(registry, find_servers).run()


# The first expressions import CEL.
def _validate_device_expression(expression: str, at: str, context: StrategyContext, stored: bool) -> list[FieldError]:
    from mockkube.matching.cel.devices import validate_device_expression

    return validate_device_expression(expression, at, context, stored)


def _validate_policy_expression(expression: str, at: str, purpose: str, obj: ReadOnlyObject) -> list[FieldError]:
    from mockkube.apiserver.admission.policies.expressions import validate_expression

    return validate_expression(expression, at, purpose, obj)


@lru_cache(maxsize=32)
def _kind_set(version: Version, trains: tuple[ReleaseTrain, ...]) -> KindSet:
    """Return the built-in kinds with the fields and operators that proposals add."""
    # Nothing in it depends on one server, so all servers of a version and its trains share it.
    extensions = make_validation_extensions(version, trains)
    dependencies = StrategyDependencies(
        device_expression=_validate_device_expression,
        policy_expression=_validate_policy_expression,
        custom_schema=_validate_custom_schema,
        extensions=extensions,
        objects=make_object_rules(version, trains),
    )
    return built_in_kinds(Strategies(dependencies))


class ApiServer:
    """One API server on a store; `handler` answers requests between `start` and `stop`."""

    def __init__(self, *, store: Store, options: ApiServerOptions, clock: Clock, random: Random) -> None:
        self._options = options
        self.registry = Registry(
            store=store,
            clock=clock,
            random=random,
            capabilities=options.caps,
            schema=make_schema(options.caps.version, options.trains),
            admission=AdmissionChain(
                admission.build_plugins(options.enable_admission, options.disable_admission, options.admission_plugins)
            ),
            service_ip_allocator=ServiceIpAllocator(options.service_cidrs, random, options.node_ports),
            runtime_config=options.runtime_config,
            kind_set=_kind_set(options.caps.version, options.trains),
            token_issuer=options.token_issuer,
            hot_loops=options.hot_loops,
        )
        self._crd_controller = LazyCrdController(self.registry)
        if options.additional_registry is not None:
            self.registry.add_registry(options.additional_registry)
        self.metrics = ApiServerMetrics()
        self.registry.on_crd_removed = self.metrics.forget_resource
        register_version_and_gates(
            self.metrics.registry, EffectiveVersion.from_version(options.caps.version), options.gates
        )
        self._ready = False
        checks = [HealthCheck("ping", lambda: True), HealthCheck("etcd", lambda: self._ready and not store.problem)]
        authorizer = Authorizer(self.registry, options.authorization_modes)
        dependencies = self.registry.dependencies
        # The authorizer reads roles from the registry, and the registry's admission and strategies ask the authorizer.
        # The cycle is closed here, after both exist.
        dependencies.authorize = authorizer.authorize
        dependencies.is_component_running = options.is_component_running
        dependencies.simulated_kubelets = options.simulated_kubelets
        dependencies.is_store_shared = options.is_store_shared
        self._webhooks = WebhookClient(self._resolve_service_url)
        dependencies.call_webhook = self._webhooks.post
        dependencies.admission = AdmissionChain([*dependencies.admission.plugins, EscalationCheck(authorizer)])
        computed_apis = _make_computed_apis(self.registry) if options.serves_resource_metrics else []
        self._computed_apis = computed_apis
        self._post_start_hooks = PostStartHooks(
            self.registry,
            options.certificate_authority,
            self._lease_identity(),
            options.request_header,
            [one.spec for one in computed_apis],
        )
        authenticator = options.authenticator.with_token_authenticators(
            ServiceAccountTokenAuthenticator(self.registry, self._post_start_hooks.legacy_tokens.record_use)
        )
        request_authorizer = RequestAuthorizer(authorizer, constrained=options.caps.enabled("ConstrainedImpersonation"))
        review_handlers = reviews.review_handlers(self.registry, authorizer, authenticator)
        zpages = ZpagesComponent("apiserver", options.caps, options.flags, clock.now())
        non_resource_paths = NonResourcePaths(
            self.registry, self.metrics, checks, review_handlers, zpages, self._published_schemas
        )
        self._aggregated_apis = AvailabilityController(self.registry, options.front_proxy, computed_apis)
        proxy = ProxyHandler(self.registry, self._aggregated_apis)
        auditor = None if options.auditor is None else RequestAuditor(options.auditor, dependencies.protobuf)
        peers = options.peer_servers
        forwarder = None if peers is None else _make_forwarder(self.registry, peers)
        self.handler = Router(
            self.registry,
            authenticator,
            request_authorizer,
            clock,
            self.metrics,
            non_resource_paths,
            proxy,
            auditor,
            forwarder,
            options.tracer,
        )
        self.tracer = options.tracer
        self.metrics.registry.register(OpenWatchesCollector(lambda: self.handler.open_watches.counts.items()))
        self.metrics.registry.register(StoredObjectsCollector(self.registry.count_objects))
        self._namespace_defaults = NamespaceDefaults(self.registry, options.certificate_authority)
        self._store_maintenance = StoreMaintenance(store, clock, dependencies.watch_cache.forget_history)
        dependencies.watch_cache.on_bytes_written = self._store_maintenance.count_written
        self._event_expiry = EventExpiry(self.registry)
        self._tasks: list[asyncio.Task[None]] = []
        self._group = asyncio.TaskGroup()

    def _resolve_service_url(self, service: ReadOnlyObject) -> str:
        """Return the base URL of a webhook's service; raise WebhookCallError if it has no endpoint."""
        try:
            return resolve_endpoint(self.registry, service).url
        except NoEndpoint as error:
            raise WebhookCallError(str(error)) from error

    def _lease_identity(self) -> str:
        """Return the holder of the identity lease, empty without the gate APIServerIdentity."""
        # upstream 1.36: pkg/controlplane/apiserver/server.go
        return self._options.lease_identity if self._options.caps.enabled("APIServerIdentity") else ""

    async def start(self) -> None:
        """Start the watch cache, create the objects of a new cluster, run the post-start hooks."""
        cache = self.registry.dependencies.watch_cache
        await cache.start()
        await self._group.__aenter__()
        self._tasks.append(self._group.create_task(cache.run()))
        await self._crd_controller.start()
        self.registry.dependencies.on_crd_created = self._crd_controller.sync
        self._tasks.append(self._group.create_task(self._crd_controller.run()))
        await bootstrap(self.registry, authority=self._options.certificate_authority)
        if RBAC in self._options.authorization_modes:
            roles = (one.reader_role for one in self._computed_apis)
            await bootstrap_rbac(self.registry, [one for one in roles if one is not None])
        # Without the ServiceAccount plugin no pod needs a service account, so namespaces get none by default.
        if any(plugin.name == ServiceAccount.name for plugin in self.registry.dependencies.admission.plugins):
            self.registry.dependencies.on_namespace_created = self._namespace_defaults.sync
            self._tasks.append(self._group.create_task(self._namespace_defaults.run()))
        await self._post_start_hooks.start()
        self._aggregated_apis.start()
        coroutines = [
            *self._post_start_hooks.coroutines(),
            *self._aggregated_apis.coroutines(),
            *self._store_maintenance.coroutines(),
            self._event_expiry.run(),
        ]
        if self._options.find_servers is not None:
            coroutines.append(_reconcile_endpoints(self.registry, self._options.find_servers))
        self._tasks += [self._group.create_task(one) for one in coroutines]
        self._ready = True

    def _published_schemas(self) -> Mapping[GroupVersionKind, ReadOnlyObject]:
        """Return schemas for OpenAPI of kinds that upstream does not have."""
        additional_registry = self._options.additional_registry
        published = {} if additional_registry is None else additional_registry.kind_set.openapi_schemas
        return {
            **{GroupVersionKind(*kind): schema for kind, schema in published.items()},
            **self._crd_controller.openapi_schemas(),
        }

    @property
    def api_server(self) -> "ApiServer":
        """The server itself, for callers of its process that use the registry without HTTP."""
        return self

    @property
    def busy(self) -> bool:
        """True if a stored change has not reached the cache or the post-start hooks yet."""
        cache = self.registry.dependencies.watch_cache
        busy = (
            self._namespace_defaults.is_busy,
            self._crd_controller.is_busy,
            self._post_start_hooks.is_busy,
            self._aggregated_apis.queue.is_busy,
        )
        return cache.revision < cache.store.revision or any(busy)

    def end_watches(self) -> None:
        """End every open watch cleanly, and every watch that is opened later."""
        self.handler.open_watches.end_all()

    async def stop(self) -> None:
        """Stop all tasks and close all connections, also after a failed start."""
        self._ready = False
        self._post_start_hooks.stop()
        self._aggregated_apis.stop()
        # Watches end before the cache that feeds them is cancelled, so that clients read a complete chunked response.
        self.end_watches()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await self._group.__aexit__(None, None, None)
            self._tasks.clear()
        await self._webhooks.close()
        await self._aggregated_apis.transport.close()
        if (webhook := self._options.authenticator.webhook) is not None:
            await webhook.close()
        if self._options.auditor is not None:
            self._options.auditor.close()

    def _find_resource(self, obj: Object) -> Resource:
        resource = self.registry.find_by_kind(obj["apiVersion"], obj["kind"])
        assert resource is not None, f"{obj['apiVersion']} {obj['kind']} is served"
        return resource

    def _decode(self, resource: Resource, obj: Object, subresource: str = "") -> tuple[RequestScope, Object]:
        metadata = obj["metadata"]
        scope = RequestScope(APISERVER_USER, metadata.get("namespace", ""), metadata["name"], subresource, "mockkube")
        return scope, resource.decode(obj, scope, "Ignore")

    async def create_object(self, obj: Object) -> Object | None:
        """Create the object; return None, without a change, if its name exists."""
        resource = self._find_resource(obj)
        scope, decoded = self._decode(resource, obj)
        try:
            return (await creation.create(resource, scope, decoded, WriteOptions())).load()
        except AlreadyExists:
            return None

    async def update_object(self, obj: Object) -> Object:
        """Replace an existing object except its status."""
        resource = self._find_resource(obj)
        scope, decoded = self._decode(resource, obj)
        return (await updating.replace(resource, scope, decoded, WriteOptions())).object.load()

    async def update_status(self, obj: Object) -> Object:
        """Replace the status of an existing object."""
        resource = self._find_resource(obj)
        scope, decoded = self._decode(resource, obj, "status")
        return (await updating.replace(resource, scope, decoded, WriteOptions())).object.load()
