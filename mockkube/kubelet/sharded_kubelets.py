"""Kubelets of the nodes that are this process's share; kubelets of other processes have the rest."""

from collections.abc import Sequence
from dataclasses import replace
from socket import gethostname

from mockkube.client.leader_election import make_holder_identity
from mockkube.client.lease_holder_client import LeaseHolderClient
from mockkube.client.protocol import Client
from mockkube.features.capabilities import Capabilities
from mockkube.kubelet.kubelets import Kubelets
from mockkube.kubelet.nodes.node_shards import NodeShards
from mockkube.runtime.component import Component, ComponentDependencies
from mockkube.runtime.steps import Worker
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.shell.containers.container_states import ContainerStates


class ShardedKubelets:
    """Kubelets, and the member Lease by which processes share the nodes."""

    def __init__(
        self,
        dependencies: ComponentDependencies[Client, Capabilities],
        states: ContainerStates,
        *,
        nodes: tuple[str, ...] | None = None,
    ) -> None:
        clock = dependencies.clock
        # The name of the machine must not make a difference to a simulation.
        host = "mockkube" if isinstance(clock, VirtualClock) else gethostname()
        shards = self.shards = NodeShards(
            dependencies.client,
            clock,
            identity=make_holder_identity(host, dependencies.random),
            owner=dependencies.component,
            nodes=nodes,
        )
        self._states = states

        def owns(node: str) -> bool:
            return shards.owns(node) and dependencies.owns(node)

        self._owns = owns
        self._kubelets = Kubelets(
            replace(dependencies, client=LeaseHolderClient(dependencies.client, shards.is_member), owns=owns), states
        )
        shards.on_changed = self._kubelets.check_ownership
        self._workers = (*shards.workers, *shards.track(self._kubelets.workers))

    @property
    def workers(self) -> Sequence[Worker]:
        """Workers of the shards and of the kubelets."""
        return self._workers

    async def start(self) -> None:
        """Start the kubelets; they have no nodes until this process is a member."""
        await self._kubelets.start()
        # API servers of other processes ask this one for containers of these nodes.
        self._states.kubelets[self._owns] = None

    async def stop(self) -> None:
        """Stop the kubelets, then let other processes have their nodes."""
        self._states.kubelets.pop(self._owns, None)
        await self._kubelets.stop()
        await self.shards.leave()


def build_sharded_kubelets(
    dependencies: ComponentDependencies[Client, Capabilities],
    states: ContainerStates,
    *,
    nodes: tuple[str, ...] | None = None,
) -> Component:
    """Return kubelets of a share of the nodes; a component of one node (`kubelet.NODE`) has exactly that node."""
    own = dependencies.component.partition(".")[2]
    return ShardedKubelets(dependencies, states, nodes=(own,) if own else nodes)
