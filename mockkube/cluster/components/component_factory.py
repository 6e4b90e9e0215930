"""Build components, each with its own client, gates, random source, metrics registry and log."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from socket import gethostname
from typing import TYPE_CHECKING, Protocol

from prometheus_client import CollectorRegistry

from mockkube.apiserver.http.metrics import register_version_and_gates, render
from mockkube.client.protocol import Client
from mockkube.cluster.components.component_runner import (
    BUILDERS,
    BuildComponent,
    ComponentFlags,
    TypedComponentDependencies,
)
from mockkube.cluster.control.component import ComponentSpec
from mockkube.features.components import KUBELET
from mockkube.features.effective_version import EffectiveVersion
from mockkube.runtime.clock import Clock
from mockkube.runtime.component import Component
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.hot_loops import HotLoop, HotLoops
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal
from mockkube.runtime.tracing import MakeTracer
from mockkube.runtime.virtual_time import VirtualClock

if TYPE_CHECKING:
    from mockkube.client.leader_election import LeaderElectionConfig, LeaderElector


class CreateClient(Protocol):
    """Function that returns a new client of a component."""

    def __call__(self, spec: ComponentSpec, *, is_of_elector: bool = False) -> Client:
        """Return a client; an elector has one of its own."""
        ...


class ComponentFactory:
    """Builds components, and keeps what each was built with last."""

    def __init__(
        self,
        clock: Clock,
        random: Random,
        create_client: CreateClient,
        flags: Mapping[str, ComponentFlags],
        build_kubelets: BuildComponent,
        make_tracer: MakeTracer | None = None,
    ) -> None:
        self._make_tracer = make_tracer
        self._builders = {**BUILDERS, KUBELET: build_kubelets}
        self._clock = clock
        self._seed = random.generator.getrandbits(64)
        # How often each component and each elector was built.
        self._built: Counter[str] = Counter()
        self._create_client = create_client
        # Flags by the name of the component without replica or node.
        self._flags = flags
        self._metrics: dict[str, CollectorRegistry] = {}
        self._created_at: dict[str, datetime] = {}
        # Electors of components that take part in a leader election.
        self._electors: dict[str, LeaderElector] = {}
        self._components: dict[str, Component] = {}
        # Notified when a hot loop of some component may have begun or ended.
        self.hot_loop_signal = Signal()
        self._hot_loops: dict[str, HotLoops] = {}
        self._logs: dict[str, ComponentLog] = {}

    def get_log(self, component: str) -> ComponentLog:
        """Return the log of a component, which outlives restarts."""
        return self._logs.setdefault(component, ComponentLog())

    def create_component(
        self,
        spec: ComponentSpec,
        owns_node: Callable[[str], bool],
        holds_lease: Callable[[], bool] | None = None,
    ) -> Component:
        """Return a new component; under leader election it writes only while it holds its Lease."""
        settings = spec.settings
        name = settings.component
        client: Client = self._create_client(spec)
        if holds_lease is not None:
            from mockkube.client.lease_holder_client import LeaseHolderClient

            client = LeaseHolderClient(client, holds_lease)
        metrics = self._create_metrics(spec)
        chance = self._create_random(name)
        hot_loops = self.reset_hot_loops(name)
        log = self.get_log(name)
        tracer = None if self._make_tracer is None else self._make_tracer(name, str(settings.version))
        dependencies = TypedComponentDependencies(
            name, client, settings.capabilities(), self._clock, chance, metrics, owns_node, hot_loops, log, tracer
        )
        kind = name.partition(".")[0]
        component = self._components[name] = self._builders[kind](dependencies, self._flags.get(kind, {}))
        return component

    def create_elector(self, spec: ComponentSpec, election: "LeaderElectionConfig") -> "LeaderElector":
        """Return the elector of a component, with a client of its own."""
        from mockkube.client.leader_election import create_component_elector

        name = spec.settings.component
        chance = self._create_random(f"{name}/leader-election")
        # The name of the machine must not make a difference to a simulation.
        host = "mockkube" if isinstance(self._clock, VirtualClock) else gethostname()
        elector = create_component_elector(
            self._create_client(spec, is_of_elector=True), self._clock, chance, election, component=name, host=host
        )
        self._electors[name] = elector
        self.reset_component(spec)
        return elector

    def _create_random(self, name: str) -> Random:
        """Return a random source that depends on how often its owner was built, and on no other component."""
        self._built[name] += 1
        return Random.from_seed(self._seed, f"{name}/{self._built[name]}")

    def reset_component(self, spec: ComponentSpec) -> None:
        """Forget a component that waits for its Lease; its metrics are those of its elector alone."""
        self._components.pop(spec.settings.component, None)
        self.reset_hot_loops(spec.settings.component)
        self._create_metrics(spec)

    def _create_metrics(self, spec: ComponentSpec) -> CollectorRegistry:
        settings, metrics = spec.settings, CollectorRegistry()
        register_version_and_gates(metrics, EffectiveVersion.from_version(settings.version), settings.gate_states())
        if (elector := self._electors.get(settings.component)) is not None:
            elector.register_metrics(metrics)
        self._metrics[settings.component], self._created_at[settings.component] = metrics, self._clock.now()
        return metrics

    def reset_hot_loops(self, component: str) -> HotLoops:
        """Replace the hot loops of a component by an empty collection."""
        hot_loops = self._hot_loops[component] = HotLoops(self.hot_loop_signal)
        return hot_loops

    def remove_component(self, component: str) -> None:
        """Forget a deleted component."""
        for known in (self._metrics, self._created_at, self._components, self._hot_loops, self._electors):
            known.pop(component, None)

    def render_metrics(self, component: str) -> bytes | None:
        """Return the metrics of a running component in Prometheus' text format."""
        registry = self._metrics.get(component)
        return None if registry is None else render(registry)

    def find_hot_loops(self, component: str) -> list[HotLoop]:
        """Return the hot loops of a component."""
        hot_loops = self._hot_loops.get(component)
        return [] if hot_loops is None else hot_loops.current()

    def get_component(self, component: str) -> Component | None:
        """Return the component that was built last under a name."""
        return self._components.get(component)

    def get_created_at(self, component: str) -> datetime | None:
        """Return when a component was built."""
        return self._created_at.get(component)
