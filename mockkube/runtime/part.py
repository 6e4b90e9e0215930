"""A part: a component that runs beside the API servers, as whoever assembles a cluster starts, steps and stops it.

`scheduler`, `controllers` and `kubelet` each offer `build(context) -> Part` in their module `part`. A change of a
component's version or gates is a restart: the part is stopped and dropped, and another one built.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from prometheus_client import CollectorRegistry

from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.loop_board import LoopBoard
from mockkube.runtime.steps import Worker

ClientT = TypeVar("ClientT")
CapabilitiesT = TypeVar("CapabilitiesT")


@dataclass(frozen=True)  # a generic class with slots cannot be made under the name of one of its forms
class Context(Generic[ClientT, CapabilitiesT]):
    """What a part is built with: all that it knows of the outside."""

    component: str
    """Which component it is: `kube-scheduler`, `kubelet` for the fleet, `kubelet.n1` for one node."""
    client: ClientT
    """The API server it talks to, seen with its own codec; it identifies itself by the component's name."""
    capabilities: CapabilitiesT
    """Its version and gates, read once into the tables it works with."""
    clock: Clock
    chance: Chance
    """Draws of its own: they shift nothing elsewhere."""
    metrics: CollectorRegistry
    """Where it registers what it measures, under upstream's names; its gates and version are there already."""
    owns: Callable[[str], bool]
    """Whether a node of that name is this part's: a kubelet of its own takes one from the fleet, and gives it back.

    The answer may change while the part runs: it asks each time it acts for a node.
    """
    loops: LoopBoard = field(default_factory=LoopBoard)
    """Where it shows what it gets nowhere with."""
    log: ComponentLog = field(default_factory=ComponentLog)
    """What it logs."""


class Part(Protocol):
    """A component between its start and its end.

    Order: `start` once, then steps of `workers` until nobody wants more, `stop` once, also after a `start` that
    failed. After `stop` nothing of it runs and nothing is open. Two parts of one component never overlap.

    Errors: what `start` or a step raises ends the part; it is reported, stopped, and after a while built anew. A worker
    that can survive a failure (one key of many, an API server that is away) therefore catches it, and comes back.

    Cancellation: `start` and steps may be cancelled at any await; `stop` is called all the same.
    """

    async def start(self) -> None:
        """Open what it follows; return without waiting for what others do."""
        ...

    @property
    def workers(self) -> Sequence[Worker]:
        """All that works in it, delivery of watch events included; fixed once it is started.

        In real time each runs in a task of its own; in virtual time the clock's owner steps them, one at a time.
        """
        ...

    async def stop(self) -> None:
        """End what `start` opened."""
        ...
