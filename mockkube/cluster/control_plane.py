"""Control plane of a cluster: control API, components, and controllers of the control resources."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import field
from typing import TYPE_CHECKING

from mockkube_storage.store import Store

from mockkube.api.times import parse_time
from mockkube.apiserver.registry.simulated_kubelets import SimulatedKubelets
from mockkube.cluster.api_servers.api_server import ApiServerDependencies, Server
from mockkube.cluster.api_servers.credentials import Credentials
from mockkube.cluster.api_servers.listeners import MakeListener
from mockkube.cluster.components.component_controller import ComponentController, ComponentControllerDependencies
from mockkube.cluster.components.component_pages import ComponentPages
from mockkube.cluster.components.component_runner import (
    ComponentFlags,
    add_signing_flags,
    has_leader_election,
    resolve_elections,
    resolve_flags,
)
from mockkube.cluster.components.persisted_settings import apply_configuration
from mockkube.cluster.components.pod_explanation_page import PodExplanationPage
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.component_settings import resolve_settings
from mockkube.cluster.control.catalogue import UI_PAGE, WHY_PAGE
from mockkube.cluster.control.clock import CLOCK_NAME
from mockkube.cluster.control.control_api import ControlApi
from mockkube.cluster.control.reconciler import Reconciler
from mockkube.cluster.execution.clock_controller import ClockController
from mockkube.cluster.execution.executor import Executor, RealTimeExecutor
from mockkube.cluster.execution.virtual_time_executor import VirtualTimeExecutor
from mockkube.cluster.faults.fault_controller import FaultController
from mockkube.cluster.faults.faults import Faults
from mockkube.cluster.node_group_controller import NodeGroupController
from mockkube.cluster.snapshots.snapshot_controller import RestartComponents, SnapshotController
from mockkube.cluster.snapshots.snapshot_store import SnapshotStore
from mockkube.cluster.user_interface import UserInterface, UserInterfaceDependencies
from mockkube.features.components import API_SERVER, KUBELET, SCHEDULER
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.runtime.tracing import MakeTracer
from mockkube.runtime.virtual_time import VirtualClock

if TYPE_CHECKING:
    from mockkube.cluster.replication.process_leases import ProcessLeases


@dataclass(frozen=True, slots=True)
class ControlPlaneDependencies:
    """Dependencies of a control plane."""

    # The cluster's own store, started.
    store: Store
    # Store of the control resources, started.
    control_store: Store
    snapshot_store: SnapshotStore
    configuration: ClusterConfiguration
    credentials: Credentials
    clock: Clock
    random: Random
    # Flags of components other than API servers; they take precedence over the configuration's.
    flags: Mapping[str, ComponentFlags] = field(default_factory=dict)
    # Leases of the processes that use the store; None if it is this process alone.
    process_leases: "ProcessLeases | None" = None
    # Function that returns the tracer of a component; None: nothing is traced.
    make_tracer: MakeTracer | None = None


class ControlPlane:
    """Control API, components and controllers, not started."""

    def __init__(
        self,
        dependencies: ControlPlaneDependencies,
        build_api_server: Callable[[ApiServerDependencies], Server],
        make_listeners: Callable[[Faults], MakeListener],
        executor: Executor | None = None,
    ) -> None:
        """Use the given executor, whose owner takes the steps, or create one."""
        self._dependencies = dependencies
        configuration, clock, random = dependencies.configuration, dependencies.clock, dependencies.random
        given_flags = resolve_flags(configuration, dependencies.flags)
        flags = add_signing_flags(dependencies.credentials, given_flags)
        self._pages = ComponentPages(configuration, clock)
        self.pod_explanations = PodExplanationPage(clock, flags.get(SCHEDULER, {}))
        self.user_interface = UserInterface()
        self.control_api = ControlApi(
            configuration,
            dependencies.control_store,
            {**self._pages.get_handlers(), WHY_PAGE: self.pod_explanations.serve, UI_PAGE: self.user_interface.serve},
            revision=lambda: dependencies.store.revision,
            clock=clock,
            random=random,
        )
        if dependencies.process_leases is not None and configuration.join:
            process = dependencies.process_leases.record.description
            warning = f"control resources belong to one process of the control plane: this is {process}"
            self.control_api.registry.dependencies.warnings = (warning,)
        self.faults = Faults(random)
        self._virtual_executor: VirtualTimeExecutor | None = None
        if executor is None and isinstance(clock, VirtualClock):
            executor = self._virtual_executor = VirtualTimeExecutor(clock, wait_for_delivery=self._wait_for_delivery)
        settings = resolve_settings(configuration, API_SERVER)
        self.api_server_dependencies = ApiServerDependencies(
            dependencies.store,
            configuration,
            dependencies.credentials,
            clock,
            random,
            settings,
            self.control_api.registry,
            dependencies.credentials.make_token_issuer(),
            self._is_running,
            SimulatedKubelets(self._is_kubelet_running, are_left_out="kubelets" in configuration.without),
            dependencies.process_leases,
            make_tracer=dependencies.make_tracer,
        )
        controller_dependencies = ComponentControllerDependencies(
            build_api_server,
            make_listeners(self.faults),
            executor or RealTimeExecutor(clock),
            self.faults,
            flags,
            resolve_elections(configuration, given_flags),
            shards_nodes=has_leader_election(configuration),
        )
        self.component_controller = ComponentController(
            self.api_server_dependencies, self.control_api, controller_dependencies
        )
        self.node_groups = NodeGroupController(
            self.control_api,
            self.component_controller,
            controller_dependencies.executor,
            flags.get(SCHEDULER, {}),
            clock=clock,
            random=random,
        )
        # Set afterwards: the control API needs the pages, and the component controller needs the control API.
        self._pages.component_controller = self.pod_explanations.component_controller = self.component_controller
        self.user_interface.dependencies = UserInterfaceDependencies(
            dependencies.store,
            self.control_api,
            self.component_controller,
            configuration,
            dependencies.credentials,
            clock,
        )

    def _is_running(self, component: str) -> bool:
        return (
            component in self.control_api.load_component_specs()
            and self.component_controller.get_state(component).is_running
        )

    def _is_kubelet_running(self, node: str) -> bool:
        specs = self.control_api.load_component_specs()
        own = f"{KUBELET}.{node}"
        return self._is_running(own if own in specs else KUBELET)

    @property
    def virtual_executor(self) -> VirtualTimeExecutor | None:
        """Executor that moves the virtual time of the cluster; None in real time, or if a caller takes the steps."""
        return self._virtual_executor

    async def _wait_for_delivery(self) -> None:
        await self.component_controller.wait_for_delivery()

    async def start(self, stack: AsyncExitStack) -> None:
        """Start the control API and apply the configuration; the components are stopped before it is closed."""
        await stack.enter_async_context(self.control_api)
        self._resume_virtual_time()
        await apply_configuration(self._dependencies.configuration, self.control_api)
        stack.push_async_callback(self.component_controller.stop)
        stack.push_async_callback(self.node_groups.stop)

    async def stop_components(self, names: Iterable[str]) -> None:
        """Let components not run, as in the snapshot that the cluster starts from."""
        for name in names:
            spec = self.control_api.load_objects("components")[name]["spec"]
            await self.control_api.update_spec("components", name, {**spec, "running": False})

    async def start_api_server(self) -> Server:
        """Start the API servers and register the nodes; return the first server."""
        server = await self.component_controller.start_api_servers()
        dependencies, version = self._dependencies, self.component_controller.get_settings(KUBELET).version
        if nodes := dependencies.configuration.nodes:
            from mockkube.cluster.api_servers.node_registration import register_nodes

            await register_nodes(server, nodes, version=version, now=dependencies.clock.now())
        return server

    async def run(self, stack: AsyncExitStack) -> None:
        """Accept connections, run the other components and reconcile control resources until the stack is left."""
        stack.callback(self.component_controller.stop_accepting)
        await self.component_controller.start_components()
        self.component_controller.run()
        await self._run_reconcilers(stack)
        stack.push_async_callback(self.user_interface.stop)

    def _resume_virtual_time(self) -> None:
        """Continue virtual time where the last process left it."""
        clock, clock_object = self._dependencies.clock, self.control_api.load_objects("clocks").get(CLOCK_NAME, {})
        if isinstance(clock, VirtualClock) and (then := clock_object.get("status", {}).get("now")):
            clock.move_to(clock.monotonic() + (parse_time(then) - clock.now()).total_seconds())

    def make_reconcilers(self, *, restart_components: RestartComponents) -> list[Reconciler]:
        """Return the reconcilers; `restart_components` stops and starts all components."""
        dependencies = self._dependencies
        faults = FaultController(
            self.control_api, self.faults, dependencies.clock, cut_watches=self.component_controller.cut_watches
        )
        snapshots = SnapshotController(
            self.control_api,
            dependencies.store,
            dependencies.snapshot_store,
            dependencies.clock,
            restart_components=restart_components,
        )
        return [faults.reconciler, self.node_groups.reconciler, snapshots.reconciler]

    async def _run_reconcilers(self, stack: AsyncExitStack) -> None:
        """Reconcile clock, faults, node groups and snapshots until the stack is left."""
        advance_to = None if self._virtual_executor is None else self._virtual_executor.advance_to
        clock = ClockController(
            self.control_api, self._dependencies.clock, self._dependencies.configuration.clock, advance_to
        )
        group = asyncio.TaskGroup()
        await group.__aenter__()
        stack.push_async_callback(group.__aexit__, None, None, None)
        for reconciler in (
            clock.reconciler,
            *self.make_reconcilers(restart_components=self.component_controller.restart_all),
        ):
            stack.enter_context(reconciler.subscribe())
            stack.callback(group.create_task(reconciler.run()).cancel)
