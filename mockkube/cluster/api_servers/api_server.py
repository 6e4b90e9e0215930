"""Interface of an API server to its cluster, and the function that builds one."""

import ssl
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from mockkube_storage.store import Store

from mockkube.apiserver.registry.simulated_kubelets import SimulatedKubelets
from mockkube.cluster.api_servers.credentials import Credentials, make_authenticator
from mockkube.cluster.api_servers.object_writer import ObjectWriter
from mockkube.cluster.api_servers.tcp_listener import Handler
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.configuration.effective_flags import make_effective_flags
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.configuration.values import REAL_CLOCK
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.hot_loops import HotLoops
from mockkube.runtime.random import Random
from mockkube.runtime.tracing import MakeTracer, Tracer

if TYPE_CHECKING:
    from mockkube.apiserver.http.handlers.kubelet_forwarder import PeerServers
    from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
    from mockkube.apiserver.post_start_hooks.kubernetes_endpoints import FindServers
    from mockkube.apiserver.registry.registry import Registry
    from mockkube.apiserver.registry.runtime_config import RuntimeConfig
    from mockkube.apiserver.server import ApiServer, ApiServerOptions
    from mockkube.cluster.replication.process_leases import ProcessLeases


class Server(ObjectWriter, Protocol):
    """An API server as its cluster uses it."""

    @property
    def handler(self) -> Handler:
        """Handler of HTTP requests between `start` and `stop`."""
        ...

    async def start(self) -> None:
        """Write the objects that every cluster has to the store, and begin to serve."""
        ...

    @property
    def api_server(self) -> "ApiServer | None":
        """The server object for clients in the process; None if the server runs elsewhere."""
        ...

    def end_watches(self) -> None:
        """End all open watches cleanly, and those that are opened later."""
        ...

    async def stop(self) -> None:
        """End watches and all tasks, also after a `start` that failed."""
        ...


@dataclass(frozen=True, slots=True)
class ApiServerDependencies:
    """Dependencies of an API server."""

    store: Store
    configuration: ClusterConfiguration
    credentials: Credentials
    clock: Clock
    random: Random
    settings: ComponentSettings
    # Registry of the control API, which every API server serves, too.
    control_registry: "Registry"
    # Issuer of service account tokens, shared so that tokens outlive a server's restart.
    token_issuer: "TokenIssuer"
    # Whether another component runs, by name; for component statuses.
    is_component_running: Callable[[str], bool] = lambda component: False
    # Kubelets that answer for pods.
    simulated_kubelets: SimulatedKubelets = field(default_factory=SimulatedKubelets)
    # Leases of the processes that use the store; None if it is this process alone.
    process_leases: "ProcessLeases | None" = None
    # Where the server reports objects that it cannot read.
    hot_loops: HotLoops | None = None
    # Function that returns the tracer of a component; None: nothing is traced.
    make_tracer: MakeTracer | None = None


def build_api_server(dependencies: ApiServerDependencies) -> Server:
    """Return an API server with these dependencies, not started."""
    from mockkube.apiserver.server import ApiServer

    options = make_options(dependencies)
    return ApiServer(store=dependencies.store, options=options, clock=dependencies.clock, random=dependencies.random)


def make_options(dependencies: ApiServerDependencies) -> "ApiServerOptions":
    """Return the options of an API server with these dependencies."""
    from mockkube.apiserver.admission.catalogue import validate_flags
    from mockkube.apiserver.aggregation.transport import FrontProxyCredentials
    from mockkube.apiserver.identity.request_header_options import make_front_proxy_options
    from mockkube.apiserver.server import ApiServerOptions

    configuration, certificates = dependencies.configuration, dependencies.credentials.certificates
    enable, disable = configuration.enable_admission_plugins, configuration.disable_admission_plugins
    if errors := validate_flags(enable, disable):
        raise ConfigurationError(f"--{'; --'.join(errors)}")
    front_proxy = request_header = None
    if certificates is not None:
        front_proxy = FrontProxyCredentials(*certificates.front_proxy_files())
        request_header = make_front_proxy_options(front_proxy.authority.read_bytes())
    return ApiServerOptions(
        authenticator=make_authenticator(configuration, dependencies.credentials.token),
        caps=dependencies.settings.capabilities(),
        gates=tuple(dependencies.settings.gate_states()),
        flags=make_effective_flags(configuration, dependencies.settings),
        trains=dependencies.settings.trains,
        enable_admission=enable,
        disable_admission=disable,
        runtime_config=_make_runtime_config(configuration),
        certificate_authority="" if certificates is None else certificates.authority.read_text(),
        front_proxy=front_proxy,
        request_header=request_header,
        serves_resource_metrics=configuration.serves_resource_metrics,
        additional_registry=dependencies.control_registry,
        token_issuer=dependencies.token_issuer,
        peer_servers=_make_peer_servers(dependencies),
        find_servers=_make_find_servers(dependencies),
        is_component_running=dependencies.is_component_running,
        simulated_kubelets=dependencies.simulated_kubelets,
        is_store_shared=configuration.join,
        hot_loops=dependencies.hot_loops,
        lease_identity=_make_lease_identity(dependencies),
        tracer=_make_tracer(dependencies),
    )


def _make_runtime_config(configuration: ClusterConfiguration) -> "RuntimeConfig":
    from mockkube.apiserver.registry.runtime_config import make_runtime_config

    try:
        return make_runtime_config(configuration.runtime_config)
    except ValueError as error:
        raise ConfigurationError(f"--runtime-config: {error}") from None


def _make_tracer(dependencies: ApiServerDependencies) -> "Tracer | None":
    settings = dependencies.settings
    if dependencies.make_tracer is None:
        return None
    return dependencies.make_tracer(settings.component, str(settings.version))


def _make_lease_identity(dependencies: ApiServerDependencies) -> str:
    """Return the holder identity of the server's lease; empty in virtual time, where renewals would never rest."""
    if dependencies.configuration.clock != REAL_CLOCK:
        return ""
    import socket

    replica = dependencies.settings.component.partition(".")[2]
    # Several processes of a machine may be part of one control plane; their clusters have different names.
    name = dependencies.configuration.name if dependencies.configuration.join else ""
    return "/".join([socket.gethostname(), *filter(None, (name, replica))])


def _make_find_servers(dependencies: ApiServerDependencies) -> "FindServers | None":
    """Return the function that finds the live API servers of a control plane that others may join; else None."""
    leases = dependencies.process_leases
    if leases is None or not dependencies.configuration.join:
        return None
    from mockkube.apiserver.post_start_hooks.kubernetes_endpoints import ServerAddress

    async def find_servers() -> list[ServerAddress]:
        return [ServerAddress.from_url(record.url) for record in await leases.find_live()]

    return find_servers


def _make_peer_servers(dependencies: ApiServerDependencies) -> "PeerServers | None":
    """Return the other API servers of a control plane that others may join; else None."""
    leases, credentials = dependencies.process_leases, dependencies.credentials
    if leases is None or not dependencies.configuration.join:
        return None
    from mockkube.apiserver.http.handlers.kubelet_forwarder import PeerServers
    from mockkube.client.tls import make_client_tls_context

    own = leases.record.url

    async def find_urls() -> list[str]:
        # Only servers that can prove with TLS who they are get the token, whatever URL is in the database.
        scheme = f"{urlsplit(own).scheme}://"
        return [
            record.url for record in await leases.find_live() if record.url != own and record.url.startswith(scheme)
        ]

    def make_tls_context() -> ssl.SSLContext | None:
        files = credentials.certificates
        return None if files is None else make_client_tls_context(files.authority.read_bytes())

    return PeerServers(own, find_urls, credentials.token, make_tls_context)
