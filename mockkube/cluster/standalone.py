"""Run one component alone in this process, against the API server of a kubeconfig, of this project or any other."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field
from typing import Final

from aiohttp import web

from mockkube.api.errors import AlreadyExists, ApiError
from mockkube.api.json_objects import Object
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.http.handlers.non_resource_paths import METRICS_MEDIA
from mockkube.client.http import HttpClient
from mockkube.client.identity import user_agent
from mockkube.client.kubeconfig import RestConfig
from mockkube.client.leader_election import RETRY_SECONDS, LeaderElectionConfig
from mockkube.client.protocol import Client, key_of
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.cluster.api_servers.node_registration import register_nodes
from mockkube.cluster.components.component_factory import ComponentFactory
from mockkube.cluster.components.component_runner import ComponentFlags, ComponentRunner, TypedComponentDependencies
from mockkube.cluster.components.leader_elected_runner import LeaderElectedRunner
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.control.component import ComponentSpec
from mockkube.cluster.execution.executor import RealTimeExecutor
from mockkube.features.components import KUBELET
from mockkube.kubelet.nodes.node_status import make_node_labels
from mockkube.kubelet.sharded_kubelets import build_sharded_kubelets
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.component_extensions import make_schema
from mockkube.runtime.clock import Clock, RealClock
from mockkube.runtime.component import Component
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal
from mockkube.shell.containers.container_states import ContainerStates

_LOG: Final = logging.getLogger("mockkube.cluster")


@dataclass(frozen=True, slots=True)
class MetricsAddress:
    """Address at which a process answers for its health and metrics."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class StandaloneConfig:
    """One component, and the API server that it uses."""

    settings: ComponentSettings
    access: RestConfig
    flags: ComponentFlags = field(default_factory=dict)
    # Leader election of a scheduler or a controller manager; None without one.
    election: LeaderElectionConfig | None = None
    metrics_address: MetricsAddress | None = None
    # Number of nodes that kubelets register, besides the nodes of `node_names`.
    node_count: int = 0
    # The only nodes that kubelets simulate; empty for those that no other process names.
    node_names: tuple[str, ...] = ()


@asynccontextmanager
async def run_standalone(config: StandaloneConfig) -> AsyncIterator[None]:
    """Run the component until the context is left; StartError if it fails."""
    try:
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            process = _StandaloneProcess(config, RealClock())
            await process.start(stack)
            failing = group.create_task(process.wait_for_failure())
            try:
                yield
            finally:
                failing.cancel()
    except* StartError as errors:
        raise errors.exceptions[0] from None


class _StandaloneProcess:
    """Clients, executor and runner of one component."""

    def __init__(self, config: StandaloneConfig, clock: Clock) -> None:
        self._config, self._clock, self._random = config, clock, Random()
        self._name = config.settings.component
        self._clients: dict[bool, HttpClient] = {}
        self._executor = RealTimeExecutor(clock)
        self._factory = ComponentFactory(
            clock, self._random, self._get_client, {self._name: config.flags}, self._build_kubelets
        )
        self._failed = asyncio.Event()
        self._runner = self._create_runner()

    async def start(self, stack: AsyncExitStack) -> None:
        """Start the component, or its election; the stack stops it."""
        config = self._config
        clients = [self._create_client(is_of_elector=False)]
        if config.election is not None:
            clients.append(self._create_client(is_of_elector=True))
        for client in clients:
            await stack.enter_async_context(client)
        await stack.enter_async_context(self._executor)
        if config.metrics_address is not None:
            await stack.enter_async_context(_serve_metrics(config.metrics_address, self._render_metrics))
        if config.node_count or config.node_names:
            registration = _NodeRegistration(clients[0], self._clock, config)
            self._executor.add_workers([registration])
            stack.push_async_callback(self._executor.remove_workers, [registration])
        stack.push_async_callback(self._runner.stop)
        await self._runner.apply_spec(ComponentSpec(config.settings, should_run=True))
        if self._runner.failure:
            raise StartError(f"{self._name} does not start: {self._runner.failure}")

    async def wait_for_failure(self) -> None:
        """Raise StartError once the component has failed."""
        # As upstream's binary: a bug ends the process, and whoever started it starts it again.
        await self._failed.wait()
        raise StartError(f"{self._name} failed: {self._runner.failure}")

    def _create_client(self, *, is_of_elector: bool) -> HttpClient:
        config, agent = self._config, user_agent(self._name, self._config.settings.version)
        decoder = VersionedDecoder(make_schema(config.settings.version, config.settings.trains))
        if is_of_elector and config.election is not None:
            # A try must end before the deadline.
            # upstream 1.36: staging/src/k8s.io/client-go/tools/leaderelection/resourcelock/interface.go
            seconds = max(config.election.renew_deadline_seconds / 2, 1.0)
            client = HttpClient(
                config.access,
                f"{agent}/leader-election",
                decoder=decoder,
                clock=self._clock,
                request_seconds=seconds,
            )
        else:
            client = HttpClient(config.access, agent, decoder=decoder, clock=self._clock)
        self._clients[is_of_elector] = client
        return client

    def _get_client(self, spec: ComponentSpec, *, is_of_elector: bool = False) -> Client:
        return self._clients[is_of_elector]

    def _create_runner(self) -> ComponentRunner | LeaderElectedRunner:
        election = self._config.election
        if election is None:
            return ComponentRunner(
                lambda spec: self._factory.create_component(spec, _owns_any_node),
                self._executor,
                on_failed=self._failed.set,
            )
        return LeaderElectedRunner(
            lambda spec: self._factory.create_elector(spec, election),
            lambda spec, holds_lease: self._factory.create_component(spec, _owns_any_node, holds_lease),
            self._executor,
            on_failed=self._failed.set,
            on_changed=lambda: None,
            on_stopped=self._factory.reset_component,
        )

    def _build_kubelets(self, dependencies: TypedComponentDependencies, flags: ComponentFlags) -> Component:
        return build_sharded_kubelets(dependencies, ContainerStates(), nodes=self._config.node_names or None)

    def _render_metrics(self) -> bytes:
        return self._factory.render_metrics(self._name) or b""


def _owns_any_node(node: str) -> bool:
    """Return True: kubelets ask their shards besides, and other components have no nodes."""
    return True


@asynccontextmanager
async def _serve_metrics(address: MetricsAddress, render: Callable[[], bytes]) -> AsyncIterator[None]:
    """Answer for health and metrics, as upstream's components do on their own port."""

    async def metrics(request: web.Request) -> web.Response:
        return web.Response(body=render(), headers={"Content-Type": METRICS_MEDIA})

    async def health(request: web.Request) -> web.Response:
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    for path in ("/healthz", "/livez", "/readyz"):
        app.router.add_get(path, health)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, address.host, address.port).start()
    except OSError as error:
        await runner.cleanup()
        raise StartError(
            f"--metrics-bind-address: {address.host}:{address.port}: {error.strerror}: give one that is free"
        ) from None
    try:
        yield
    finally:
        await runner.cleanup()


class _NodeRegistration:
    """Worker that registers nodes, as soon as the API server answers."""

    name = f"{KUBELET}/registration"

    def __init__(self, client: Client, clock: Clock, config: StandaloneConfig) -> None:
        self.signal = Signal()
        self._client, self._clock, self._config = client, clock, config
        self._next_try_at: float | None = clock.monotonic()

    def is_ready(self) -> bool:
        """Return whether the next try is due."""
        return self._next_try_at is not None and self._clock.monotonic() >= self._next_try_at

    def wake_at(self) -> float | None:
        """Return when the next try is due; None once all nodes are registered."""
        return self._next_try_at

    async def step(self) -> None:
        """Register the nodes that do not exist."""
        config, now = self._config, self._clock.now()
        try:
            await register_nodes(_NodeWriter(self._client), config.node_count, version=config.settings.version, now=now)
            for name in config.node_names:
                # The kubelet describes the machine of a node that has no status.
                await _NodeWriter(self._client).create_object(
                    {"metadata": {"name": name, "labels": make_node_labels(name)}, "spec": {}}
                )
        except ApiError as error:
            _LOG.warning("nodes are not registered: %s; next try in %.0f s", error, RETRY_SECONDS)
            self._next_try_at = self._clock.monotonic() + RETRY_SECONDS
        else:
            self._next_try_at = None


class _NodeWriter:
    """Writer of Nodes through a client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create_object(self, obj: Object) -> Object | None:
        """Create a node; return None and change nothing if its name exists."""
        try:
            return dict(await self._client.create("Node", obj))
        except AlreadyExists:
            return None

    # Both patch what registration sets: the kubelet writes about the new node at the same time.

    async def update_object(self, obj: Object) -> Object:
        """Replace the taints of an existing node."""
        patch = {"spec": {"taints": obj["spec"].get("taints")}}
        return dict(await self._client.patch("Node", key_of(obj), patch, patch_type=PatchType.MERGE))

    async def update_status(self, obj: Object) -> Object:
        """Patch the status of an existing node."""
        return dict(await self._client.patch("Node", key_of(obj), {"status": obj["status"]}, subresource="status"))
