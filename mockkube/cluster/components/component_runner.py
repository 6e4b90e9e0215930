"""Run one component that is no API server: how it is built, its workers, its start and end."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mockkube.client.protocol import Client
from mockkube.cluster.api_servers.credentials import Credentials
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.control.component import ComponentSpec
from mockkube.cluster.execution.executor import Executor
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import CONTROLLER_MANAGER, SCHEDULER
from mockkube.runtime.component import Component, ComponentDependencies
from mockkube.runtime.steps import Signal, Worker
from mockkube.shell.containers.container_states import ContainerStates

if TYPE_CHECKING:
    from mockkube.client.leader_election import LeaderElectionConfig

# Values of a component's own flags, by name.
ComponentFlags = Mapping[str, Any]
TypedComponentDependencies = ComponentDependencies[Client, Capabilities]
BuildComponent = Callable[[TypedComponentDependencies, ComponentFlags], Component]

_LOG: Final = logging.getLogger("mockkube.cluster")


def resolve_flags(
    configuration: ClusterConfiguration, more: Mapping[str, ComponentFlags] | None = None
) -> Mapping[str, ComponentFlags]:
    """Return the flags of each component as `resolve_component_flags` does, which is imported only if there are any."""
    has_flags = configuration.controllers or configuration.controller_manager or more
    if configuration.scheduler_config is None and not has_flags:
        return {}
    # Imports the controllers' options, which a cluster without such flags does not need at its start.
    from mockkube.cluster.components.component_flags import resolve_component_flags

    return resolve_component_flags(configuration, more)


def has_leader_election(configuration: ClusterConfiguration) -> bool:
    """Return whether the components elect leaders, and kubelets share the nodes."""
    # differs: upstream's default is true; one process alone would only start later with it
    return configuration.join if configuration.leader_elect is None else configuration.leader_elect


def resolve_elections(
    configuration: ClusterConfiguration, flags: Mapping[str, ComponentFlags]
) -> "Mapping[str, LeaderElectionConfig]":
    """Return the leader election of each component that has one; a component's own flags may leave it out."""
    if not has_leader_election(configuration):
        return {}
    from mockkube.cluster.components.component_flags import make_controller_manager_election, make_scheduler_election

    elections = {
        SCHEDULER: make_scheduler_election(flags.get(SCHEDULER, {})),
        CONTROLLER_MANAGER: make_controller_manager_election(flags.get(CONTROLLER_MANAGER, {})),
    }
    return {component: election for component, election in elections.items() if election is not None}


def add_signing_flags(credentials: Credentials, flags: Mapping[str, ComponentFlags]) -> Mapping[str, ComponentFlags]:
    """Return the flags with the cluster's CA as signer of certificates, unless they name another."""
    certificates = credentials.certificates
    if certificates is None:
        return flags
    own = {
        "cluster-signing-cert-file": str(certificates.authority),
        "cluster-signing-key-file": str(certificates.authority_key),
    }
    return {**flags, CONTROLLER_MANAGER: {**own, **flags.get(CONTROLLER_MANAGER, {})}}


def _build_scheduler(dependencies: TypedComponentDependencies, flags: ComponentFlags) -> Component:
    from mockkube.cluster.components.component_flags import get_scheduler_configuration
    from mockkube.scheduler.scheduler import build

    return build(dependencies, get_scheduler_configuration(flags))


def _build_controller_manager(dependencies: TypedComponentDependencies, flags: ComponentFlags) -> Component:
    from mockkube.cluster.components.component_flags import make_controller_options
    from mockkube.controllers.controller_manager import build

    return build(dependencies, make_controller_options(flags, dependencies.capabilities.version))


def make_kubelets_builder(states: ContainerStates, *, shards_nodes: bool = False) -> BuildComponent:
    """Return the builder of kubelets that share the states of containers with the API servers.

    With `shards_nodes` they simulate only their share of the nodes, and kubelets of other processes the rest.
    """

    def build(dependencies: TypedComponentDependencies, flags: ComponentFlags) -> Component:
        if shards_nodes:
            from mockkube.kubelet.sharded_kubelets import build_sharded_kubelets

            return build_sharded_kubelets(dependencies, states)
        from mockkube.kubelet.kubelets import build_kubelets

        return build_kubelets(dependencies, states)

    return build


# By name of the component. Each imports its package only when it builds the component.
BUILDERS: Final[Mapping[str, BuildComponent]] = {
    SCHEDULER: _build_scheduler,
    CONTROLLER_MANAGER: _build_controller_manager,
}


class GuardedWorker:
    """Worker whose bugs end its component and nothing else."""

    def __init__(self, worker: Worker, on_failed: Callable[[Exception], None]) -> None:
        self._worker = worker
        self._on_failed: Callable[[Exception], None] | None = on_failed

    @property
    def name(self) -> str:
        """Name of the worker."""
        return self._worker.name

    @property
    def signal(self) -> Signal:
        """Signal of the worker."""
        return self._worker.signal

    def is_ready(self) -> bool:
        """Return whether the worker is ready and has not failed."""
        try:
            return self._on_failed is not None and self._worker.is_ready()
        except Exception as error:
            self._handle_failure(error)
            return False

    def wake_at(self) -> float | None:
        """Return when the worker wakes, None after a failure."""
        try:
            return None if self._on_failed is None else self._worker.wake_at()
        except Exception as error:
            self._handle_failure(error)
            return None

    async def step(self) -> None:
        """Take a step."""
        try:
            await self._worker.step()
        except Exception as error:
            self._handle_failure(error)

    def _handle_failure(self, error: Exception) -> None:
        """Never run the worker again: a bug of one component leaves the others alone."""
        _LOG.error("%s failed", self.name, exc_info=error)
        failed, self._on_failed = self._on_failed, None
        if failed is not None:
            failed(error)


class ComponentRunner:
    """Runs one component; a change of its spec is a restart, which loses all memory."""

    def __init__(
        self,
        create_component: Callable[[ComponentSpec], Component],
        executor: Executor,
        *,
        on_failed: Callable[[], None],
    ) -> None:
        # Spec that it runs with; None while it does not run.
        self.spec: ComponentSpec | None = None
        # Why it does not run although it should.
        self.failure = ""
        # Why it waits; only components under leader election do.
        self.standby_message = ""
        self._create_component = create_component
        self._executor = executor
        self._on_failed = on_failed
        self._component: Component | None = None
        self._workers: Sequence[Worker] = ()

    async def apply_spec(self, spec: ComponentSpec) -> None:
        """Run with this spec; do nothing if it does already."""
        if self._component is not None and self.spec == spec and not self.failure:
            return
        await self.stop()
        if not spec.should_run:
            return
        try:
            part = self._component = self._create_component(spec)
            await part.start()
        # As a separate process that crashes at its start: the failure is in the component's status.
        except Exception as error:  # the other components go on
            _LOG.exception("%s does not start", spec.settings.component)
            await self.stop()
            self.failure = str(error) or type(error).__name__
            return
        self.spec = spec
        self._workers = [GuardedWorker(worker, self._handle_failure) for worker in part.workers]
        self._executor.add_workers(self._workers)

    def _handle_failure(self, error: Exception) -> None:
        self.failure = str(error) or type(error).__name__
        self._on_failed()

    async def stop(self) -> None:
        """Stop the component's workers, then the component."""
        workers, self._workers = self._workers, ()
        part, self._component = self._component, None
        self.spec, self.failure = None, ""
        await self._executor.remove_workers(workers)
        if part is not None:
            await part.stop()
