"""Dependencies that the workers of a kubelet share: client, clock, informers, stages, events."""

from collections.abc import Callable
from dataclasses import dataclass

from mockkube.client.cache import Informer, InformerFactory
from mockkube.client.protocol import Client
from mockkube.kubelet.event_reporter import Reporter
from mockkube.kubelet.node_status import Places
from mockkube.kubelet.stages.stage_cache import StageBook
from mockkube.kubelet.stages.stage_player import StagePlayer
from mockkube.runtime.chance import Random
from mockkube.runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class Equipment:
    """Dependencies of the workers of a kubelet."""

    # Name of the component, prefix of the names of its workers.
    owner: str
    client: Client
    clock: Clock
    chance: Random
    # Whether this component simulates the kubelet of a node at present.
    owns: Callable[[str], bool]
    # Informers of nodes and pods, and the objects that could not be read.
    caches: InformerFactory
    nodes: Informer
    pods: Informer
    places: Places
    book: StageBook
    reporter: Reporter

    def player(self, kind: str) -> StagePlayer:
        """Return a new stage controller for objects of a kind."""
        return StagePlayer(self.client, self.clock, self.chance, self.book, self.reporter, kind)
