"""Build components, each with its own client, gates, random source, metrics registry and log."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from prometheus_client import CollectorRegistry

from mockkube.apiserver.http.metrics import register_version_and_gates, render
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.client import identity
from mockkube.client.identity import ClientIdentity
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.cluster.components.component_runner import (
    BUILDERS,
    ComponentFlags,
    TypedComponentDependencies,
    make_kubelets_builder,
)
from mockkube.cluster.control.component import ComponentSpec
from mockkube.cluster.execution.executor import Executor
from mockkube.cluster.faults.fault_injecting_client import ComponentClientConfig, FaultInjectingClient
from mockkube.cluster.faults.faults import Faults
from mockkube.features.components import CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.versions import Version
from mockkube.proposals.component_extensions import make_schema
from mockkube.runtime.clock import Clock
from mockkube.runtime.component import Component
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.hot_loops import HotLoop, HotLoops
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal
from mockkube.shell.containers.container_states import ContainerStates


class ComponentFactory:
    """Builds components, and keeps what each was built with last."""

    def __init__(
        self,
        clock: Clock,
        random: Random,
        faults: Faults,
        executor: Executor,
        flags: Mapping[str, ComponentFlags],
        container_states: ContainerStates,
    ) -> None:
        self._builders = {**BUILDERS, KUBELET: make_kubelets_builder(container_states)}
        self._clock = clock
        self._random = random
        self._faults = faults
        self._executor = executor
        # Flags by the name of the component without replica or node.
        self._flags = flags
        self._endpoints: dict[str, LocalEndpoint] = {}
        self._clients: dict[str, FaultInjectingClient] = {}
        self._metrics: dict[str, CollectorRegistry] = {}
        self._created_at: dict[str, datetime] = {}
        self._components: dict[str, Component] = {}
        # Notified when a hot loop of some component may have begun or ended.
        self.hot_loop_signal = Signal()
        self._hot_loops: dict[str, HotLoops] = {}
        self._logs: dict[str, ComponentLog] = {}

    def get_endpoint(self, server: str) -> LocalEndpoint:
        """Return the local endpoint of an API server, which exists before and after the server."""
        return self._endpoints.setdefault(server, LocalEndpoint())

    def get_log(self, component: str) -> ComponentLog:
        """Return the log of a component, which outlives restarts."""
        return self._logs.setdefault(component, ComponentLog())

    def create_component(self, spec: ComponentSpec, owns_node: Callable[[str], bool]) -> Component:
        """Return a new component."""
        settings = spec.settings
        name = settings.component
        schema = make_schema(settings.version, settings.trains)
        # A kubelet of one node has the rights of that node only; it reads stages as the kubelets of all nodes do.
        instructed = identity.kubelets(settings.version) if name.startswith(f"{KUBELET}.") else None
        client_config = ComponentClientConfig(
            _make_identity(name, settings.version), VersionedDecoder(schema), instructed
        )
        client = FaultInjectingClient(
            spec.server_name,
            self.get_endpoint(spec.server_name),
            client_config,
            self._faults,
            pause_step=self._executor.pause_step,
        )
        metrics = CollectorRegistry()
        register_version_and_gates(metrics, EffectiveVersion.from_version(settings.version), settings.gate_states())
        self._clients[name], self._metrics[name], self._created_at[name] = client, metrics, self._clock.now()
        # A random source per component: draws in one do not shift those of another.
        chance = Random.from_seed(self._random.generator.getrandbits(64), name)
        hot_loops = self.reset_hot_loops(name)
        log = self.get_log(name)
        dependencies = TypedComponentDependencies(
            name, client, settings.capabilities(), self._clock, chance, metrics, owns_node, hot_loops, log
        )
        kind = name.partition(".")[0]
        component = self._components[name] = self._builders[kind](dependencies, self._flags.get(kind, {}))
        return component

    def reset_hot_loops(self, component: str) -> HotLoops:
        """Replace the hot loops of a component by an empty collection."""
        hot_loops = self._hot_loops[component] = HotLoops(self.hot_loop_signal)
        return hot_loops

    def remove_component(self, component: str) -> None:
        """Forget a deleted component."""
        for known in (self._clients, self._metrics, self._created_at, self._components, self._hot_loops):
            known.pop(component, None)

    def cut_watches(self, faults: Iterable[str]) -> None:
        """Cut open watches that match these new faults."""
        names = tuple(faults)
        for line in self._clients.values():
            line.cut_watches(names)

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


def _make_identity(component: str, version: Version) -> ClientIdentity:
    name, _, node = component.partition(".")
    if name == SCHEDULER:
        return identity.scheduler(version)
    if name == CONTROLLER_MANAGER:
        return identity.controller_manager(version)
    assert name == KUBELET, f"{name} is no API server, so it is a kubelet"
    return identity.kubelet(node, version) if node else identity.kubelets(version)
