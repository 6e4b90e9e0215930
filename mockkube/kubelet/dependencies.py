"""Dependencies that the workers of a kubelet share: client, clock, informers, stages, events."""

from collections.abc import Callable

from mockkube.client.informer import Informer, InformerFactory
from mockkube.client.protocol import Client
from mockkube.kubelet.events.event_reporter import EventReporter
from mockkube.kubelet.nodes.node_status import NodeNumbers
from mockkube.kubelet.stages.stage_cache import StageCache
from mockkube.kubelet.stages.stage_controller import StageController
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.shell.containers.container_states import ContainerStates


@dataclass(frozen=True, slots=True)
class KubeletDependencies:
    """Dependencies of the workers of a kubelet."""

    # Name of the component, prefix of the names of its workers.
    owner: str
    client: Client
    clock: Clock
    random: Random
    # Whether this component simulates the kubelet of a node at present.
    owns_node: Callable[[str], bool]
    # Informers of nodes, pods and services, and the objects that could not be read.
    informers: InformerFactory
    nodes: Informer
    pods: Informer
    services: Informer
    node_numbers: NodeNumbers
    stage_cache: StageCache
    events: EventReporter
    # Changes to containers by exec and attach.
    container_states: ContainerStates

    def make_stage_controller(self, kind: str) -> StageController:
        """Return a new stage controller for objects of a kind."""
        return StageController(self.client, self.clock, self.random, self.stage_cache, self.events, kind)
