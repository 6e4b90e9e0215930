"""What the workers of a kubelet share: whom they talk to, what they watch, and what they know of stages and places."""

from collections.abc import Callable
from dataclasses import dataclass

from mockkube.client.cache import Caches, ListWatch
from mockkube.client.protocol import Client
from mockkube.kubelet.event_reporter import Reporter
from mockkube.kubelet.node_status import Places
from mockkube.kubelet.stages.stage_cache import StageBook
from mockkube.kubelet.stages.stage_player import StagePlayer
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class Equipment:
    """What the workers of a kubelet share."""

    owner: str
    """The component, by which they are named."""
    client: Client
    clock: Clock
    chance: Chance
    owns: Callable[[str], bool]
    """Whether a node of that name is ours at the moment."""
    caches: Caches
    """Those of nodes and pods, and what in them cannot be read."""
    nodes: ListWatch
    pods: ListWatch
    places: Places
    book: StageBook
    reporter: Reporter

    def player(self, kind: str) -> StagePlayer:
        """Return one that takes objects of a kind from stage to stage."""
        return StagePlayer(self.client, self.clock, self.chance, self.book, self.reporter, kind)
