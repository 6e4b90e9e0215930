"""Interface of a component that runs beside the API servers, and the dependencies it is built with.

The scheduler and the controller manager each have a `build` function, the kubelet has `build_kubelets`; they return a
`Component` with given `ComponentDependencies`. A change of a component's version or gates is a restart: the old
instance is stopped and a new one is built.
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from prometheus_client import CollectorRegistry

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.hot_loops import HotLoops
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Worker
from mockkube.runtime.tracing import Tracer

ClientT = TypeVar("ClientT")
CapabilitiesT = TypeVar("CapabilitiesT")


@dataclass(frozen=True)  # with slots, calling a parametrized alias of it fails
class ComponentDependencies(Generic[ClientT, CapabilitiesT]):
    """Everything that a component is built with."""

    component: str
    """Name of the component: `kube-scheduler`, `kubelet` for all nodes without their own, `kubelet.n1` for one node."""
    client: ClientT
    """Client for the API server; it decodes by the component's version and identifies itself by its name."""
    capabilities: CapabilitiesT
    """Version and gates of the component."""
    clock: Clock
    random: Random
    """Random source of this component alone, so that its draws do not change those of others."""
    metrics: CollectorRegistry
    """Registry for its metrics, under upstream's names; gates and version are registered already."""
    owns: Callable[[str], bool]
    """Returns whether this component is responsible for a node of that name.

    The answer may change while the component runs (a node gets or loses a kubelet of its own), so it is not cached.
    """
    hot_loops: HotLoops = field(default_factory=HotLoops)
    """Receives the hot loops of the component."""
    log: ComponentLog = field(default_factory=ComponentLog)
    """Log of the component."""
    tracer: Tracer | None = None
    """Tracer of the component; None: it records no spans."""


class Component(Protocol):
    """A component between its start and its end.

    Order: `start` once, then steps of `workers` until it is to end, `stop` once, also after a `start` that failed.
    After `stop` nothing of it runs and nothing is open. Two instances of one component never overlap.

    Errors: what `start` or a step raises ends the component; it is reported, stopped, and rebuilt after a while. A
    worker that can survive a failure (one key of many, an unreachable API server) therefore catches it and retries.

    Cancellation: `start` and steps may be cancelled at any await; `stop` is called all the same.
    """

    async def start(self) -> None:
        """Open watches and files; return without waiting for other components."""
        ...

    @property
    def workers(self) -> Sequence[Worker]:
        """All workers of the component, delivery of watch events included; fixed once it is started.

        In real time each runs in a task of its own; in virtual time the clock's owner steps them, one at a time.
        """
        ...

    async def stop(self) -> None:
        """Close what `start` opened."""
        ...
