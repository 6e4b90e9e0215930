"""Clients of the components for the API servers of this process."""

from collections.abc import Iterable

from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.client import identity
from mockkube.client.identity import ClientIdentity
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.cluster.control.component import ComponentSpec
from mockkube.cluster.execution.executor import Executor
from mockkube.cluster.faults.fault_injecting_client import ComponentClientConfig, FaultInjectingClient
from mockkube.cluster.faults.faults import Faults
from mockkube.features.components import CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.features.versions import Version
from mockkube.proposals.component_extensions import make_schema


class LocalClients:
    """Creates the clients of components, and keeps the endpoints of the API servers that they use."""

    def __init__(self, faults: Faults, executor: Executor, *, shards_nodes: bool = False) -> None:
        """With `shards_nodes` the kubelet of one node may also write Leases of members."""
        self._faults, self._executor, self._shards_nodes = faults, executor, shards_nodes
        self._endpoints: dict[str, LocalEndpoint] = {}
        self._clients: dict[str, FaultInjectingClient] = {}

    def get_endpoint(self, server: str) -> LocalEndpoint:
        """Return the local endpoint of an API server, which exists before and after the server."""
        return self._endpoints.setdefault(server, LocalEndpoint())

    def create_client(self, spec: ComponentSpec, *, is_of_elector: bool = False) -> FaultInjectingClient:
        """Return a new client of a component, or of its elector."""
        settings = spec.settings
        name = settings.component
        schema = make_schema(settings.version, settings.trains)
        # A kubelet of one node has the rights of that node only; it reads stages as the kubelets of all nodes do.
        instructed = identity.kubelets(settings.version) if name.startswith(f"{KUBELET}.") else None
        client_config = ComponentClientConfig(
            self._make_identity(name, settings.version), VersionedDecoder(schema), instructed
        )
        client = self._build_client(spec, client_config)
        self._clients[f"{name}/leader-election" if is_of_elector else name] = client
        return client

    def create_client_as(self, spec: ComponentSpec, user: ClientIdentity) -> FaultInjectingClient:
        """Return a client of another identity with the server and the version of a component."""
        settings = spec.settings
        decoder = VersionedDecoder(make_schema(settings.version, settings.trains))
        client = self._clients[user.user_agent] = self._build_client(spec, ComponentClientConfig(user, decoder))
        return client

    def _build_client(self, spec: ComponentSpec, config: ComponentClientConfig) -> FaultInjectingClient:
        return FaultInjectingClient(
            spec.server_name,
            self.get_endpoint(spec.server_name),
            config,
            self._faults,
            pause_step=self._executor.pause_step,
        )

    def _make_identity(self, component: str, version: Version) -> ClientIdentity:
        name, _, node = component.partition(".")
        if name == SCHEDULER:
            return identity.scheduler(version)
        if name == CONTROLLER_MANAGER:
            return identity.controller_manager(version)
        assert name == KUBELET, f"{name} is no API server, so it is a kubelet"
        # differs: the node authorizer does not know the Leases by which processes share nodes
        return identity.kubelet(node, version) if node and not self._shards_nodes else identity.kubelets(version)

    def remove_client(self, component: str) -> None:
        """Forget the client of a deleted component."""
        self._clients.pop(component, None)
        self._clients.pop(f"{component}/leader-election", None)

    def cut_watches(self, faults: Iterable[str]) -> None:
        """Cut open watches that match these new faults."""
        names = tuple(faults)
        for client in self._clients.values():
            client.cut_watches(names)
