"""Simulated cluster: a whole cluster in this process, without sockets or files, in virtual time, each step traced.

Control API, components and API servers are those of `mockkube up`; only the executor differs. Steps are taken only in
`settle`, `advance` and `advance_until`; operators act through a client meanwhile.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self

from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.request import WarningHandler
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.client.identity import AUTHENTICATED, MASTERS, ClientIdentity, user_agent
from mockkube.client.protocol import Key
from mockkube.cluster.api_servers.api_server import build_api_server
from mockkube.cluster.api_servers.credentials import Credentials
from mockkube.cluster.api_servers.listeners import NoListener
from mockkube.cluster.api_servers.store_templates import get_store_templates
from mockkube.cluster.components.component_flags import validate_flags
from mockkube.cluster.components.component_runner import ComponentFlags
from mockkube.cluster.configuration.cluster_configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.configuration.component_settings import validate_settings
from mockkube.cluster.configuration.values import VIRTUAL_CLOCK
from mockkube.cluster.control.component import ComponentSpec
from mockkube.cluster.control.reconciler import Reconciler
from mockkube.cluster.control.schemas import GROUP
from mockkube.cluster.control_plane import ControlPlane, ControlPlaneDependencies
from mockkube.cluster.execution.step_trace import StepTrace
from mockkube.cluster.execution.stepped_executor import SteppedExecutor, SteppedWorker
from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents
from mockkube.cluster.snapshots.snapshot_start import configure_from_snapshot, fill_store, find_stopped
from mockkube.cluster.snapshots.snapshot_store import MemorySnapshotStore
from mockkube.cluster.state.certificates import ADMIN
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, is_api_server
from mockkube.features.versions import DEFAULT
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.component import Component
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Chooser, InOrderChooser, LivelockError, Worker
from mockkube.runtime.virtual_time import EPOCH, VirtualClock, advance, next_moment

if TYPE_CHECKING:
    from mockkube.controllers.custom.custom_kind import CustomKind
    from mockkube.controllers.custom.manager import CustomController
    from mockkube.explain.explanation import PodExplanation

# Upstream's limits of the controllers' client, not the higher ones of a cluster in real time: no user waits for virtual
# time, and hot loops have the rate of real ones.
CONTROLLER_CLIENT_LIMITS: Final[ComponentFlags] = {"kube-api-qps": 20, "kube-api-burst": 30}
# Writes from outside that may wait for the next step to be traced: a client may create many objects at once.
_TRACED_WRITES_MAX: Final = 1_000_000
# Steps at one moment after which a livelock is reported.
STEPS_MAX: Final = 100_000
# Objects from which on further ones allow more steps: a new pod takes eight, and has four events.
_OBJECTS_MANY: Final = 5_000
_STEPS_PER_OBJECT_MAX: Final = 20
_NO_CREDENTIALS: Final = Credentials("", None)


@dataclass(frozen=True, slots=True)
class SimulatedClusterConfig:
    """Configuration of a simulated cluster."""

    # Versions, gates, nodes; settings of sockets, files and time are ignored.
    configuration: ClusterConfiguration = field(default_factory=ClusterConfiguration)
    # Flags of components, like `node-monitor-grace-period`: see `component_flags`.
    flags: Mapping[str, ComponentFlags] = field(default_factory=dict)
    seed: int | str = 0
    start: datetime = EPOCH
    steps_max: int = STEPS_MAX
    # Steps that the trace keeps at least, with the objects written in them; 0: all.
    trace_steps_max: int = 0
    # State that the cluster starts from, with its components; None: an empty cluster.
    contents: SnapshotContents | None = None

    def all_flags(self) -> Mapping[str, ComponentFlags]:
        """Return the flags with the default limits of the controllers' client."""
        return {
            **self.flags,
            CONTROLLER_MANAGER: {**CONTROLLER_CLIENT_LIMITS, **self.flags.get(CONTROLLER_MANAGER, {})},
        }


class SimulatedCluster:
    """One cluster: entering starts and settles it, leaving stops it."""

    def __init__(self, config: SimulatedClusterConfig | None = None, *, chooser: Chooser | None = None) -> None:
        """Let `chooser` pick the worker of each step, once the cluster has settled for the first time."""
        self.config = config or SimulatedClusterConfig()
        self.chooser: Chooser = chooser or InOrderChooser()
        self.clock = VirtualClock(self.config.start)
        self.store = MemoryStore()
        # Number of steps taken.
        self.steps = 0
        # Controllers of custom resources that users run, by name.
        self.custom_controllers: dict[str, CustomController] = {}
        self._control_store = MemoryStore()
        self._executor = SteppedExecutor(self.clock)
        self._reconcilers: list[Reconciler] = []
        self._stack = AsyncExitStack()
        self._trace: StepTrace | None = None
        self._control_plane = self._build_control_plane()

    def _build_control_plane(self) -> ControlPlane:
        # No socket means no TLS, and so no certificates to generate.
        configuration = replace(self.config.configuration, clock=VIRTUAL_CLOCK, db=MEMORY, tls=False)
        if self.config.contents is not None:
            configuration = configure_from_snapshot(configuration, self.config.contents.components)
        validate_settings(configuration)
        validate_flags(self.config.flags)
        random = Random.from_seed(self.config.seed, "cluster")
        dependencies = ControlPlaneDependencies(
            self.store,
            self._control_store,
            MemorySnapshotStore(),
            configuration,
            _NO_CREDENTIALS,
            self.clock,
            random,
            self.config.all_flags(),
        )
        return ControlPlane(dependencies, build_api_server, lambda faults: NoListener, self._executor)

    # Life

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await self._start(stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._stack.aclose()

    async def _start(self, stack: AsyncExitStack) -> None:
        for store in (self.store, self._control_store):
            await store.start()
            stack.push_async_callback(store.close)
        control_plane, component_controller = self._control_plane, self._control_plane.component_controller
        if self.config.contents is None:
            await get_store_templates().fill_store(self.store, control_plane.api_server_dependencies)
        else:
            await fill_store(self.store, self.config.contents)
        watch = await stack.enter_async_context(
            self.store.watch("", after=self.store.revision, events_max=_TRACED_WRITES_MAX)
        )
        self._trace = StepTrace(watch, steps_max=self.config.trace_steps_max)
        await control_plane.start(stack)
        if self.config.contents is not None:
            await control_plane.stop_components(find_stopped(self.config.contents.components))
        await control_plane.start_api_server()
        await component_controller.start_components()
        self._reconcilers = control_plane.make_reconcilers(restart_components=component_controller.restart_all_now)
        for reconciler in self._reconcilers:
            stack.enter_context(reconciler.subscribe())
        await self._settle(InOrderChooser())

    @property
    def trace(self) -> StepTrace:
        """All steps since the start, or the last ones if the configuration bounds them."""
        assert self._trace is not None, "the cluster is started"
        return self._trace

    # Time

    async def settle(self) -> int:
        """Take steps until the cluster is at rest; return their number. Raises LivelockError without an end."""
        return await self._settle(self.chooser)

    async def _settle(self, chooser: Chooser) -> int:
        taken, steps_max = 0, self.config.steps_max
        while taken < steps_max:
            await self._wait_for_delivery()
            worker = self._choose_worker(chooser)
            if worker is None:
                await self.trace.record_outside_writes(self.clock.monotonic())
                return taken
            await self.take_step(worker)
            taken += 1
            if taken == self.config.steps_max:  # counted once, or a livelock that creates objects would have no end
                steps_max += _STEPS_PER_OBJECT_MAX * max(0, await self._count_objects() - _OBJECTS_MANY)
        raise LivelockError(f"no rest after {taken} steps at one moment: components undo each other")

    async def list_ready_workers(self) -> list[SteppedWorker]:
        """Return the workers that can take a step now, once everything written has reached the watches."""
        await self._wait_for_delivery()
        return list(self._executor.list_ready_workers())

    async def take_step(self, worker: Worker) -> None:
        """Let one worker take a step, and record it in the trace."""
        await self.trace.record_outside_writes(self.clock.monotonic())
        await worker.step()
        self.steps += 1
        await self.trace.record_step(self.clock.monotonic(), worker.name)

    def find_next_moment(self) -> float | None:
        """Return the next moment of the clock at which something is due; None if nothing is."""
        return next_moment(self.clock, self._executor.get_workers())

    async def _count_objects(self) -> int:
        page = await self.store.list("", limit=1)
        return len(page.entries) + page.remaining

    def _choose_worker(self, chooser: Chooser) -> Worker | None:
        """Return the worker that takes the next step; None if the cluster is at rest."""
        ready_workers = self._executor.list_ready_workers()
        if isinstance(chooser, InOrderChooser):
            return next(ready_workers, None)  # what it would choose, without asking the others
        ready = list(ready_workers)
        return chooser.choose(ready) if ready else None

    async def _wait_for_delivery(self) -> None:
        """Return when only suspended steps are left and all control resources are reconciled."""
        while True:
            await self._executor.wait_until_halted()
            await self._control_plane.component_controller.wait_for_delivery()
            await self._control_plane.control_api.registry.dependencies.watch_cache.wait_until_at(
                self._control_store.revision
            )
            # Control resources are reconciled between steps, not as steps: an operator's command takes effect as a
            # whole.
            if self._control_plane.component_controller.is_ready():
                await self._control_plane.component_controller.step()
            elif (waiting := next((one for one in self._reconcilers if one.is_ready()), None)) is not None:
                await waiting.step()
            else:
                return

    async def advance(self, seconds: float) -> None:
        """Advance time; workers take their steps at the moments they wake."""
        await advance(self.clock, seconds, self._executor.get_workers, self.settle)

    async def advance_until(self, holds: Callable[[], Awaitable[bool]], seconds_max: float) -> bool:
        """Advance time until a condition holds, at most this long; return whether it does.

        It is evaluated whenever the cluster is at rest, so the clock stops at the first moment at which it holds.
        """
        deadline = self.clock.monotonic() + seconds_max
        await self.settle()
        while not await holds():
            moment = next_moment(self.clock, self._executor.get_workers())
            if moment is None or moment > deadline:
                await self.advance(deadline - self.clock.monotonic())
                return await holds()
            await self.advance(moment - self.clock.monotonic())
        return True

    # Users

    def client(
        self,
        user: ClientIdentity | None = None,
        server: str = API_SERVER,
        *,
        write_options: WriteOptions | None = None,
        handle_warnings: WarningHandler | None = None,
    ) -> LocalClient:
        """Return a client of an API server, by default the administrator's."""
        identity = user or ClientIdentity(ADMIN, (MASTERS, AUTHENTICATED), user_agent("kubectl", DEFAULT))
        endpoint = self._control_plane.component_controller.local_clients.get_endpoint(server)
        options = write_options or WriteOptions(field_manager="kubectl")
        return LocalClient(
            endpoint, identity, None, write_options=options, handle_warnings=handle_warnings or (lambda warnings: None)
        )

    # Components

    def get_component_specs(self) -> Mapping[str, ComponentSpec]:
        """Return the spec of every component."""
        return self._control_plane.control_api.load_component_specs()

    async def change_component(self, component: str, **changes: Any) -> Sequence[str]:
        """Create a component or change its spec; return warnings of the control API.

        `version`, `gates`, `running` and `server` are fields of the spec; others stay. A gate of None returns to its
        default. Raises Invalid, in the words of the real binary, if it would not start.
        """
        control = self._control_plane.control_api
        present = control.load_objects("components").get(component)
        spec = _change_spec({} if present is None else present["spec"], changes)
        await self.trace.record_outside_writes(self.clock.monotonic())
        warnings = await (control.create_object if present is None else control.update_spec)(
            "components", component, spec
        )
        await self._wait_for_delivery()
        await self.trace.record_note(self.clock.monotonic(), "component", f"{component} {_format_changes(changes)}")
        return warnings

    async def restart_component(self, component: str) -> None:
        """Restart a component, which loses all memory."""
        if component not in self.get_component_specs():
            raise NotFound.for_object(GROUP, "components", component)
        await self._wait_for_delivery()
        await self._control_plane.component_controller.restart_component(component)
        await self.trace.record_note(self.clock.monotonic(), "restart", component)

    async def remove_component(self, component: str) -> None:
        """Delete a replica, or the kubelet of one node."""
        await self._control_plane.control_api.delete_object("components", component)
        await self._wait_for_delivery()
        await self.trace.record_note(self.clock.monotonic(), "component", f"{component} is gone")

    def observe_requests(self, observe: Callable[[ObservedRequest], None]) -> None:
        """Call a function with each request of a component, before it is sent."""
        self._control_plane.faults.on_request = observe

    def divide_steps(self, divides: Callable[[str], bool] | None) -> None:
        """Halt the steps of workers before each request, if the function says so of their names; None: of no worker.

        A halted worker is ready, and goes on when it takes its next step.
        """
        self._executor.divides = divides or (lambda worker: False)
        self._control_plane.faults.before_request = None if divides is None else self._executor.halt_step

    async def start_custom_controller(self, name: str, kind: "CustomKind") -> None:
        """Start the controller of a custom resource; it runs until the cluster stops. Do nothing if it runs already."""
        # Most clusters have none.
        from mockkube.controllers.custom.manager import CustomController

        if name in self.custom_controllers:
            return
        user = ClientIdentity(f"system:serviceaccount:default:{name}", (MASTERS, AUTHENTICATED), f"{name}/v1")
        endpoint = self._control_plane.component_controller.local_clients.get_endpoint(API_SERVER)
        random = Random.from_seed(self.config.seed, name)
        controller = CustomController(name, kind, LocalClient(endpoint, user), self.clock, random)
        self.custom_controllers[name] = controller
        self._executor.add_workers(controller.workers)
        self._stack.push_async_callback(self._stop_custom_controller, controller)
        await self.trace.record_note(self.clock.monotonic(), "component", f"{name} starts")

    async def _stop_custom_controller(self, controller: "CustomController") -> None:
        await self._executor.remove_workers(controller.workers)
        await controller.stop()

    def get_component(self, component: str) -> Component | None:
        """Return the object of a running component; None for API servers and stopped components."""
        spec = self.get_component_specs().get(component)
        return (
            self._control_plane.component_controller.factory.get_component(component)
            if spec is not None and spec.should_run
            else None
        )

    async def explain_pod(self, pod: Key) -> "PodExplanation":
        """Explain a pod; NotFound if it never existed."""
        return await self._control_plane.pod_explanations.explain(pod)

    def find_failed_components(self) -> dict[str, str]:
        """Return components that stopped because of a bug, with the error."""
        states = {name: self._control_plane.component_controller.get_state(name) for name in self.get_component_specs()}
        return {name: state.message for name, state in states.items() if state.reason == "Failed"}

    def find_mutated_objects(self) -> list[str]:
        """Return keys of cached objects that were modified in place, which is a bug: caches share them."""
        clients = self._control_plane.component_controller.local_clients
        running = [name for name, spec in self.get_component_specs().items() if is_api_server(name) and spec.should_run]
        return [key for name in running for key in clients.get_endpoint(name).get_server().find_mutated_objects()]

    def render_metrics(self, component: str) -> bytes:
        """Return the metrics of a component in Prometheus' text format; NotFound if it does not exist."""
        self._control_plane.component_controller.get_state(component)
        return self._control_plane.component_controller.render_metrics(component)

    def get_log(self, component: str) -> ComponentLog:
        """Return the log of a component; NotFound if it does not exist."""
        self._control_plane.component_controller.get_state(component)
        return self._control_plane.component_controller.get_log(component)

    # Faults and snapshots

    async def set_fault(self, name: str, spec: Object) -> None:
        """Create or change a fault; Invalid if the control API rejects it."""
        known = name in self._control_plane.control_api.load_objects("faults")
        await (self._control_plane.control_api.update_spec if known else self._control_plane.control_api.create_object)(
            "faults", name, spec
        )
        await self._wait_for_delivery()

    async def remove_fault(self, name: str) -> None:
        """Delete a fault."""
        await self._control_plane.control_api.delete_object("faults", name)
        await self._wait_for_delivery()

    async def save_snapshot(self, name: str) -> ReadOnlyObject:
        """Save the state of the cluster under a new name; return the Snapshot."""
        await self._wait_for_delivery()
        await self._control_plane.control_api.create_object("snapshots", name, {})
        await self._wait_for_delivery()
        return self._control_plane.control_api.load_objects("snapshots")[name]

    async def restore_snapshot(self, name: str) -> ReadOnlyObject:
        """Restore the cluster from a snapshot, which restarts every component. NotFound if there is none."""
        await self._wait_for_delivery()
        present = self._control_plane.control_api.load_objects("snapshots").get(name)
        if present is None:
            raise NotFound.for_object(GROUP, "snapshots", name)
        restore_count = present["spec"].get("restore", 0) + 1
        await self._control_plane.control_api.update_spec("snapshots", name, {"restore": restore_count})
        await self._wait_for_delivery()
        await self.trace.record_note(self.clock.monotonic(), "restore", name)
        return self._control_plane.control_api.load_objects("snapshots")[name]


def _change_spec(spec: ReadOnlyObject, changes: Mapping[str, Any]) -> Object:
    """Return the spec of a component with these changes."""
    changed = {**spec}
    for name in ("version", "running", "server"):
        if (value := changes.get(name)) is not None:
            changed[name] = str(value) if name == "version" else value
    if gates := changes.get("gates"):
        gate_values = {**spec.get("featureGates", {}), **gates}
        changed["featureGates"] = {name: on for name, on in gate_values.items() if on is not None}
    return changed


def _format_changes(changes: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(changes.items()) if value is not None)
