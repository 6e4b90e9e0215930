"""Controller of Components: runs what their specs ask for, and reports their status.

It reconciles like any controller: a changed component wakes it, it reads the present specs, acts and reports.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from mockkube_storage import errors as store_errors

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.cluster.api_servers.api_server import ApiServerDependencies, Server
from mockkube.cluster.api_servers.listeners import Listener, MakeListener
from mockkube.cluster.api_servers.replica import ApiServerReplica
from mockkube.cluster.components.component_factory import ComponentFactory
from mockkube.cluster.components.component_manager import ComponentManager
from mockkube.cluster.components.component_runner import ComponentFlags, make_kubelets_builder
from mockkube.cluster.components.hot_loop_reporter import HotLoopReporter
from mockkube.cluster.components.local_clients import LocalClients
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.control.component import ComponentSpec
from mockkube.cluster.control.component_status import ComponentState, build_component_status
from mockkube.cluster.control.control_api import ControlApi
from mockkube.cluster.control.reconciler import Reconciler
from mockkube.cluster.control.schemas import GROUP
from mockkube.cluster.execution.executor import Executor
from mockkube.cluster.faults.faults import Faults
from mockkube.cluster.state.state_directory import ComponentSummary
from mockkube.features.components import API_SERVER, is_api_server
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.component_log import ComponentLog

if TYPE_CHECKING:
    from mockkube.apiserver.server import ApiServer
    from mockkube.client.leader_election import LeaderElectionConfig

# Delay before a component that failed is started again.
RETRY_SECONDS: Final = 1.0
_STOPPED_STATE: Final = ComponentState(is_running=False, reason="Stopped", message="spec.running is false")

_LOG: Final = logging.getLogger("mockkube.cluster")


@dataclass(frozen=True, slots=True)
class ComponentControllerDependencies:
    """Dependencies of the component controller, besides those of API servers."""

    build_api_server: Callable[[ApiServerDependencies], Server]
    make_listener: MakeListener
    executor: Executor
    faults: Faults
    # Flags of components other than API servers, by name: see `component_flags`.
    flags: Mapping[str, ComponentFlags] = field(default_factory=dict)
    # Leader election of the components that have one.
    elections: "Mapping[str, LeaderElectionConfig]" = field(default_factory=dict)
    # Whether kubelets share the nodes with those of other processes.
    shards_nodes: bool = False


class ComponentController:
    """Controller of all components of one cluster."""

    def __init__(
        self,
        api_server_dependencies: ApiServerDependencies,
        control_api: ControlApi,
        dependencies: ComponentControllerDependencies,
    ) -> None:
        # Called after each report.
        self.on_reported: Callable[[], None] = lambda: None
        self._api_server_dependencies = api_server_dependencies
        self._control_api = control_api
        self._dependencies = dependencies
        self.local_clients = LocalClients(
            dependencies.faults, dependencies.executor, shards_nodes=dependencies.shards_nodes
        )
        self.factory = ComponentFactory(
            api_server_dependencies.clock,
            api_server_dependencies.random,
            self.local_clients.create_client,
            dependencies.flags,
            make_kubelets_builder(
                api_server_dependencies.simulated_kubelets.container_states, shards_nodes=dependencies.shards_nodes
            ),
            api_server_dependencies.make_tracer,
        )
        self._manager = ComponentManager(
            self.factory,
            dependencies.executor,
            control_api,
            on_failed=self._schedule_retry,
            on_changed=self._report_soon,
            on_removed=self.local_clients.remove_client,
            elections=dependencies.elections,
        )
        self._replicas: dict[str, ApiServerReplica] = {}
        self._failures: dict[str, str] = {}
        self._pending_restarts: deque[tuple[Callable[[], Awaitable[None]], asyncio.Future[None]]] = deque()
        self._reconciler = Reconciler(
            control_api.get_collection("components"), api_server_dependencies.clock, self._reconcile_changed
        )
        self._subscription = ExitStack()
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []
        self._listening = False

    async def start_api_servers(self) -> Server:
        """Start every API server; return the first one."""
        components = self._control_api.load_component_specs()
        first = await self._get_replica(API_SERVER).apply_spec(components[API_SERVER])
        for name, spec in components.items():
            if is_api_server(name):
                await self._get_replica(name).apply_spec(spec)
        return first

    async def start_components(self) -> None:
        """Accept connections, start the other components, receive changes; `step` or `run` acts on them."""
        for replica in self._replicas.values():
            await replica.listener.listen()
        self._listening = True
        await self._dependencies.executor.__aenter__()
        await self._group.__aenter__()
        for name, spec in self._control_api.load_component_specs().items():
            if not is_api_server(name):
                await self._manager.apply_spec(name, spec)
        await self._report()
        # What exists has just been started.
        self._subscription.enter_context(self._reconciler.subscribe(existing=False))

    def run(self) -> None:
        """Reconcile in a task of its own until stopped."""
        loops = HotLoopReporter(
            self._api_server_dependencies.clock,
            self.factory.hot_loop_signal,
            self._has_hot_loops,
            self._reconciler.enqueue,
        )
        self._tasks += [self._group.create_task(one) for one in (self._reconciler.run(), loops.run())]

    def stop_accepting(self) -> None:
        """Accept no further connections."""
        for replica in self._replicas.values():
            replica.listener.stop_accepting()

    async def stop(self) -> None:
        """Stop reconciling, then every component; also after a start that failed."""
        # What fails keeps nothing else from being stopped, and is raised then.
        async with AsyncExitStack() as stack:
            # API servers last, so that the other components can end their requests.
            for server in self._replicas.values():
                stack.push_async_callback(server.stop)
            if self._listening:
                self._listening = False
                self._subscription.close()
                stack.push_async_callback(self._dependencies.executor.__aexit__, None, None, None)
                stack.push_async_callback(self._manager.stop)
                for _, done in self._pending_restarts:
                    stack.callback(done.cancel)
                stack.push_async_callback(self._group.__aexit__, None, None, None)
                for task in self._tasks:
                    task.cancel()

    def summarize(self) -> list[ComponentSummary]:
        """Return name, version and state of every component."""
        return [
            ComponentSummary(
                name, str(spec.settings.version), self._get_state(name, spec).is_running, self.get_url(name)
            )
            for name, spec in sorted(self._control_api.load_component_specs().items())
        ]

    async def wait_for_delivery(self) -> None:
        """Return when every API server has all stored changes and has delivered them to its watchers."""
        clock, store = self._api_server_dependencies.clock, self._api_server_dependencies.store
        await clock.sleep(0)
        # A loop: delivering to one server's watchers may cause writes that another has to read.
        while busy := [server for server in self.get_api_servers() if server.busy]:
            for server in busy:
                await server.registry.dependencies.watch_cache.wait_until_at(store.revision)
            await clock.sleep(0)

    def get_api_servers(self) -> list["ApiServer"]:
        """Return all API servers in this process."""
        servers = (replica.server for replica in self._replicas.values())
        return [server.api_server for server in servers if server is not None and server.api_server is not None]

    async def restart_component(self, name: str) -> None:
        """Restart a component, which loses all memory."""
        spec = self._control_api.load_component_specs()[name]
        if is_api_server(name):
            await self._replicas[name].stop_server()
        else:
            await self._manager.apply_spec(name, replace(spec, should_run=False))
        await self._reconcile(name, spec)
        await self._report()

    def get_listener(self, name: str) -> Listener:
        """Return the listener of an API server, which stays while the server restarts."""
        return self._get_replica(name).listener

    def get_url(self, name: str) -> str:
        """Return the URL of an API server; empty for other components."""
        return self._replicas[name].listener.url if name in self._replicas else ""

    def get_state(self, name: str) -> ComponentState:
        """Return the state of a component; NotFound if it does not exist."""
        spec = self._control_api.load_component_specs().get(name)
        if spec is None:
            raise NotFound.for_object(GROUP, "components", name)
        return self._get_state(name, spec)

    def get_started_at(self, name: str) -> datetime:
        """Return when a running component was started."""
        since = self._replicas[name].started_at if is_api_server(name) else self.factory.get_created_at(name)
        return since or self._api_server_dependencies.clock.now()

    def get_spec(self, name: str) -> ComponentSpec:
        """Return the spec of a component."""
        return self._control_api.load_component_specs()[name]

    def get_settings(self, name: str) -> ComponentSettings:
        """Return version and gates of a component."""
        return self.get_spec(name).settings

    def render_metrics(self, name: str) -> bytes:
        """Return the metrics of a running component."""
        server = self._replicas[name].server if is_api_server(name) else None
        if server is None or server.api_server is None:
            return self.factory.render_metrics(name) or b""
        return server.api_server.metrics.render()

    def get_log(self, name: str) -> ComponentLog:
        """Return the log of a component."""
        return self.local_clients.get_endpoint(name).log if is_api_server(name) else self.factory.get_log(name)

    def cut_watches(self, faults: list[str]) -> None:
        """Cut open watches that match these new faults."""
        for replica in self._replicas.values():
            replica.listener.cut_watches(faults)
        self.local_clients.cut_watches(faults)

    async def restart_all(self, between: Callable[[], Awaitable[None]]) -> None:
        """Stop every component, await `between`, start all again; raise the error of `between` after that."""
        done = asyncio.get_running_loop().create_future()
        self._pending_restarts.append((between, done))
        self._reconciler.enqueue()
        await done

    def _get_replica(self, name: str) -> ApiServerReplica:
        """Return the API server of a name; create it if it is new."""
        if name not in self._replicas:
            dependencies = self._api_server_dependencies

            def build(spec: ComponentSpec) -> Server:
                server = self._dependencies.build_api_server(
                    replace(dependencies, settings=spec.settings, hot_loops=self.factory.reset_hot_loops(name))
                )
                self._inject_faults_into_webhooks(name, server)
                return server

            self._replicas[name] = ApiServerReplica(
                self._dependencies.make_listener(name), self.local_clients.get_endpoint(name), build, dependencies.clock
            )
        return self._replicas[name]

    def _inject_faults_into_webhooks(self, name: str, server: Server) -> None:
        """Let the faults of the cluster apply to the admission webhooks that a server calls."""
        if server.api_server is None:
            return
        dependencies, own = server.api_server.registry.dependencies, self._dependencies
        call = dependencies.call_webhook

        async def call_webhook(client: ReadOnlyObject, review: ReadOnlyObject, seconds: float, webhook: str) -> Any:
            # Most clusters have no webhooks.
            from mockkube.cluster.faults.fault_injecting_webhooks import FaultInjectingWebhooks

            webhooks = FaultInjectingWebhooks(name, call, own.faults, pause_step=own.executor.pause_step)
            return await webhooks.post(client, review, seconds, webhook)

        dependencies.call_webhook = call_webhook

    def is_ready(self) -> bool:
        """Return whether some change is not reconciled yet."""
        return self._reconciler.is_ready()

    async def step(self) -> None:
        """Reconcile every changed component, then report the status of all."""
        await self._reconciler.step()

    async def _retry(self, name: str) -> None:
        # Not a delay of the queue: in a stepped simulation only sleepers and workers move the clock.
        await self._api_server_dependencies.clock.sleep(RETRY_SECONDS)
        self._reconciler.enqueue(name)

    async def _reconcile_changed(self, changed: Iterable[str]) -> None:
        while self._pending_restarts:
            await self._restart_all_for(*self._pending_restarts.popleft())
        await self._manager.stop_failed()
        components = self._control_api.load_component_specs()
        # API servers first: other components may need a new one.
        for name in sorted(changed, key=lambda name: not is_api_server(name)):
            await self._reconcile(name, components.get(name))
        await self._report()

    async def _restart_all_for(self, between: Callable[[], Awaitable[None]], done: "asyncio.Future[None]") -> None:
        """Restart all components, and pass the result to the waiting caller."""
        try:
            await self.restart_all_now(between)
        except Exception as error:  # passed to the caller of `restart_all`
            if not done.done():
                # The components run again at this point; the error belongs to the caller's function.
                done.set_exception(error)
        except BaseException:
            done.cancel()
            raise
        if not done.done():
            done.set_result(None)

    async def restart_all_now(self, between: Callable[[], Awaitable[None]]) -> None:
        """Do the same as `restart_all`, for callers that take the steps of this controller themselves."""
        await self._manager.stop()
        for replica in self._replicas.values():
            await replica.stop_server()
        try:
            await between()
        finally:
            components = self._control_api.load_component_specs()
            for name in sorted({**components, **self._replicas}, key=lambda name: not is_api_server(name)):
                await self._reconcile(name, components.get(name))

    async def _reconcile(self, name: str, spec: ComponentSpec | None) -> None:
        if not is_api_server(name):
            await self._manager.apply_spec(name, spec)
        elif spec is None:
            self._failures.pop(name, None)
            if (gone := self._replicas.pop(name, None)) is not None:
                gone.listener.stop_accepting()
                await gone.stop()
        else:
            await self._reconcile_api_server(name, spec)

    async def _reconcile_api_server(self, name: str, spec: ComponentSpec) -> None:
        fresh = name not in self._replicas
        try:
            await self._get_replica(name).apply_spec(spec)
            # A new replica listens only after its server has started; the socket of an existing one stays open.
            if fresh:
                await self._replicas[name].listener.listen()
        except (store_errors.Unavailable, OSError) as error:
            self._failures[name] = str(error)
            self._schedule_retry(name)
        else:
            self._failures.pop(name, None)

    def _schedule_retry(self, name: str) -> None:
        """Schedule another attempt for a component that failed."""
        _LOG.warning("%s failed: next try in %.0f s", name, RETRY_SECONDS)
        self._reconciler.enqueue()
        self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks.append(self._group.create_task(self._retry(name)))

    def _report_soon(self) -> None:
        """Report when nothing else is to be reconciled."""
        self._reconciler.enqueue()

    async def _report(self) -> None:
        """Report the status of every component."""
        components = self._control_api.load_component_specs()
        states = {name: self._get_state(name, spec) for name, spec in components.items()}
        now = self._api_server_dependencies.clock.now()
        for obj in self._control_api.load_objects("components").values():
            status = build_component_status(obj, components, states, now=now)
            try:
                await self._control_api.update_status("components", obj, status)
            except NotFound:
                continue  # deleted meanwhile, which wakes us
        self.on_reported()

    def _has_hot_loops(self) -> bool:
        return any(self.factory.find_hot_loops(name) for name in self._control_api.load_component_specs())

    def _get_state(self, name: str, spec: ComponentSpec) -> ComponentState:
        if not spec.should_run:
            return replace(_STOPPED_STATE, url=self.get_url(name))
        if not is_api_server(name):
            return self._manager.get_state(name, spec)
        if name in self._failures:
            return ComponentState(
                is_running=False, reason="Failed", message=self._failures[name], url=self.get_url(name)
            )
        loops = tuple(self.factory.find_hot_loops(name))
        return ComponentState(
            is_running=True, reason="Running", message="answers requests", url=self.get_url(name), hot_loops=loops
        )
