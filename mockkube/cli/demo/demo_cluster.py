"""Clusters on which the example plays: one in virtual time without an address, or one with a page."""

from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from mockkube.api.errors import Unavailable
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.client.identity import AUTHENTICATED, MASTERS, ClientIdentity, user_agent
from mockkube.client.protocol import Key
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.cluster.state.certificates import ADMIN
from mockkube.features.components import API_SERVER
from mockkube.features.versions import DEFAULT
from mockkube.runtime.clock import RealClock

if TYPE_CHECKING:
    from mockkube.cluster.control_plane import ControlPlane

_POLL_SECONDS: Final = 0.02


class DemoCluster(Protocol):
    """Cluster of the example, in virtual time."""

    @property
    def client(self) -> LocalClient:
        """Client of the administrator."""
        ...

    async def enable_gate(self, component: str, gate: str) -> None:
        """Turn on a gate of a component, which restarts it."""
        ...

    async def advance(self, seconds: float) -> None:
        """Let time pass until all components are at rest."""
        ...

    async def explain_pod(self, pod: Key) -> ReadOnlyObject:
        """Return why a pod is where it is, or is not."""
        ...


class SimulatedDemoCluster:
    """Simulated cluster as the example uses it."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self.client = cluster.client()

    async def enable_gate(self, component: str, gate: str) -> None:
        """Turn on a gate of a component, which restarts it."""
        await self._cluster.change_component(component, gates={gate: True})

    async def advance(self, seconds: float) -> None:
        """Let time pass until all components are at rest."""
        await self._cluster.advance(seconds)

    async def explain_pod(self, pod: Key) -> ReadOnlyObject:
        """Return why a pod is where it is, or is not."""
        return (await self._cluster.explain_pod(pod)).as_json()


class ServedDemoCluster:
    """Cluster with an address and a page, in virtual time, as the example uses it."""

    def __init__(self, control_plane: "ControlPlane") -> None:
        self._control_plane = control_plane
        identity = ClientIdentity(ADMIN, (MASTERS, AUTHENTICATED), user_agent("kubectl", DEFAULT))
        endpoint = control_plane.component_controller.local_clients.get_endpoint(API_SERVER)
        self.client = LocalClient(endpoint, identity, None, write_options=WriteOptions(field_manager="kubectl"))

    async def enable_gate(self, component: str, gate: str) -> None:
        """Turn on a gate of a component, which restarts it."""
        control_api, before = self._control_plane.control_api, self._find_instance(component)
        spec = control_api.load_objects("components")[component]["spec"]
        gates = {**(spec.get("featureGates") or {}), gate: True}
        await control_api.update_spec("components", component, {**spec, "featureGates": gates})
        # A task of the cluster restarts the component.
        while (now := self._find_instance(component)) is None or now is before:
            await RealClock().sleep(_POLL_SECONDS)
        await self.advance(0)

    def _find_instance(self, component: str) -> object | None:
        """Return what runs as a component now; None while it restarts."""
        controller = self._control_plane.component_controller
        if component != API_SERVER:
            return controller.factory.get_component(component)
        try:
            return controller.local_clients.get_endpoint(API_SERVER).get_server()
        except Unavailable:
            return None

    async def advance(self, seconds: float) -> None:
        """Let time pass until all components are at rest."""
        executor = self._control_plane.virtual_executor
        assert executor is not None, "the cluster runs in virtual time"
        clock = self._control_plane.api_server_dependencies.clock
        await executor.advance_to(clock.now() + timedelta(seconds=seconds))

    async def explain_pod(self, pod: Key) -> ReadOnlyObject:
        """Return why a pod is where it is, or is not."""
        return (await self._control_plane.pod_explanations.explain(pod)).as_json()
