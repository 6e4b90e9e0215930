"""A cluster in real or virtual time: lock, socket, stores and control plane, started in order.

What can fail for reasons of the machine (lock, port) comes before anything is written, so a failed start changes
nothing. Everything started is stopped in reverse order, within a second. Modules that a mode does not need are imported
late.
"""

import asyncio
import json
import logging
import os
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockkube_storage.engines.catalogue import is_shared_store, open_store
from mockkube_storage.errors import FormatTooNew, Locked, Unavailable, UnknownEngine
from mockkube_storage.store import Store

from mockkube.api.errors import ApiError, Invalid
from mockkube.api.times import parse_time
from mockkube.cluster.api_servers.api_server import ApiServerDependencies, Server, build_api_server
from mockkube.cluster.api_servers.credentials import Credentials
from mockkube.cluster.api_servers.tcp_listener import bind, get_url
from mockkube.cluster.components.component_runner import resolve_flags
from mockkube.cluster.configuration.cluster_configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.configuration.component_settings import validate_settings
from mockkube.cluster.configuration.errors import ConfigurationError, StartError
from mockkube.cluster.configuration.values import REAL_CLOCK, VIRTUAL_CLOCK
from mockkube.cluster.snapshots.snapshot_start import (
    configure_from_snapshot,
    fill_store,
    find_stopped,
    load_snapshot,
)
from mockkube.cluster.snapshots.snapshot_store import FileSnapshotStore, MemorySnapshotStore
from mockkube.cluster.state.atomic_files import write_atomically
from mockkube.cluster.state.cluster_store import start_cluster_store
from mockkube.cluster.state.kubeconfig import KubeconfigEntries, render_kubeconfig
from mockkube.cluster.state.kubeconfig_contexts import KubeconfigContexts
from mockkube.cluster.state.server_names import find_advertised_address
from mockkube.cluster.state.state_directory import (
    AlreadyRunningError,
    RunningRecord,
    StateDirectory,
    StateLock,
    make_unwritable_error,
    redact_url,
)
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock, RealClock
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock

if TYPE_CHECKING:
    from mockkube.cluster.api_servers.store_templates import StoreTemplates
    from mockkube.cluster.components.component_controller import ComponentController
    from mockkube.cluster.control_plane import ControlPlane
    from mockkube.cluster.faults.faults import Faults
    from mockkube.cluster.replication.process_leases import ProcessLeases
    from mockkube.cluster.state.certificate_process import CertificateProcess
    from mockkube.runtime.tracing import MakeTracer

# Ephemeral clusters without a name that may run at the same time.
UNNAMED_MAX: Final = 1000
_LOG: Final = logging.getLogger("mockkube.cluster")


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """Addresses and credentials of a running cluster."""

    name: str
    url: str
    token: str
    kubeconfig: Path
    ca_file: Path | None = None
    # Link to the page that logs in once; empty without `--ui`.
    ui_link: str = ""

    def render_ready_file(self) -> str:
        """Return the content of the file given by `--ready-file`."""
        fields = {
            "url": self.url,
            "token": self.token,
            "caFile": str(self.ca_file or ""),
            "kubeconfig": str(self.kubeconfig),
            "pid": os.getpid(),
        }
        return json.dumps(fields) + "\n"


class Cluster:
    """One cluster: entering starts it and returns its address, leaving stops it.

    Entering raises ConfigurationError or StartError; then nothing of it runs, and no file of the user has changed.
    """

    def __init__(
        self,
        configuration: ClusterConfiguration,
        directory: StateDirectory,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        make_api_server: Callable[[ApiServerDependencies], Server] | None = None,
        store_templates: "StoreTemplates | None" = None,
        certificate_process: "CertificateProcess | None" = None,
    ) -> None:
        """Fill an ephemeral store from `store_templates`, which is faster from the second cluster of a process on.

        If the state directory has no CA, take the certificates that `certificate_process` creates.
        Raises StartError if the configuration names a snapshot that cannot be read.
        """
        self._snapshot = None if configuration.snapshot is None else load_snapshot(configuration.snapshot)
        if self._snapshot is not None:
            configuration = configure_from_snapshot(configuration, self._snapshot.components)
        self._directory = directory
        # Real time, for certificates and files, also when the cluster runs in virtual time.
        self._real_clock = clock or RealClock()
        self._clock = clock or (
            self._make_virtual_clock() if configuration.clock == VIRTUAL_CLOCK else self._real_clock
        )
        virtual = isinstance(self._clock, VirtualClock)
        self._configuration = replace(configuration, clock=VIRTUAL_CLOCK if virtual else REAL_CLOCK)
        self._random = random or Random()
        self._make_api_server = make_api_server or build_api_server
        self._store_templates = store_templates
        self._certificate_process = certificate_process
        self._control_plane: ControlPlane | None = None
        self._process_leases: ProcessLeases | None = None
        self._stack = AsyncExitStack()

    def _make_virtual_clock(self) -> VirtualClock:
        """Return a virtual clock, at the time of the snapshot if there is one."""
        snapshot = self._snapshot
        return VirtualClock(parse_time(snapshot.time)) if snapshot is not None and snapshot.time else VirtualClock()

    @property
    def control_plane(self) -> "ControlPlane":
        """Control plane of the running cluster."""
        assert self._control_plane is not None, "the cluster has been entered"
        return self._control_plane

    async def __aenter__(self) -> RunningCluster:
        async with AsyncExitStack() as stack:
            try:
                running = await self._start(stack)
            except Unavailable as error:  # once open, too: the disk is full, the file or the database is gone
                raise StartError(f"{error}: make it available, or give another --db") from None
            self._stack = stack.pop_all()
        return running

    async def __aexit__(self, *exc_info: object) -> None:
        await self._stack.aclose()

    async def _start(self, stack: AsyncExitStack) -> RunningCluster:
        for notice, components in validate_settings(self._configuration).items():
            level = logging.getLevelNamesMapping()[notice.severity.upper()]
            _LOG.log(level, "%s: %s", ", ".join(components), notice.text)
        resolve_flags(self._configuration)
        lock = self._lock_directory(stack)
        configuration = self._configuration
        if configuration.ephemeral and not self._directory.is_durable():
            # Its files are deleted when the cluster stops: whether they survive a crash of the machine does not matter.
            self._directory = replace(self._directory, durable=False)
        directory = self._directory
        listening = bind(configuration.bind, configuration.port)
        stack.callback(listening.close)
        store = await self._open_store(stack)
        self._process_leases = await self._acquire_lease(stack, store, listening)
        credentials = await self._load_credentials(store)
        control_plane = await self._start_control_plane(stack, store, credentials, listening)
        try:
            if self._snapshot is not None:
                await fill_store(store, self._snapshot)
                await control_plane.stop_components(find_stopped(self._snapshot.components))
            elif self._store_templates is not None and configuration.ephemeral:
                await self._store_templates.fill_store(store, control_plane.api_server_dependencies)
            server = await control_plane.start_api_server()
        except Invalid as error:
            raise StartError(f"the API server refuses an object that it creates itself: {error}") from None
        await control_plane.run(stack)
        running = _describe_running(get_url(listening, tls=configuration.tls), credentials, directory)
        await self._publish(stack, running, credentials, control_plane.component_controller)
        # In the background: the CRD costs a part of the start that most users need not wait for.
        if "kubelets" not in configuration.without:
            group = await stack.enter_async_context(asyncio.TaskGroup())
            stack.callback(group.create_task(_create_stage_crd(server), name="stages").cancel)
        lock.keep_files()
        if configuration.ui:
            return replace(running, ui_link=await control_plane.user_interface.make_administrator_link())
        return running

    def _lock_directory(self, stack: AsyncExitStack) -> StateLock:
        """Lock the state directory; unnamed ephemeral clusters are `default`, `default-2`, and so on."""
        free = self._configuration.ephemeral and "name" not in self._configuration.given_settings
        first = self._directory
        for number in range(2, UNNAMED_MAX + 1):
            try:
                return stack.enter_context(StateLock(self._directory))
            except AlreadyRunningError:
                if not free:
                    raise
            self._directory = replace(first, path=first.path.with_name(f"{first.name}-{number}"))
            self._configuration = replace(self._configuration, name=self._directory.name)
        return stack.enter_context(StateLock(self._directory))

    async def _open_store(self, stack: AsyncExitStack) -> Store:
        """Return the started store; it is closed after everything that uses it."""
        url = self._configuration.db or f"sqlite:///{self._directory.database}"
        try:
            return await start_cluster_store(url, stack, self._real_clock)
        except UnknownEngine as error:
            raise ConfigurationError(f"--db: {error}") from None
        except (FormatTooNew, Locked) as error:
            raise StartError(f"{error}; or give another --db") from None

    async def _acquire_lease(
        self, stack: AsyncExitStack, store: Store, listening: socket.socket
    ) -> "ProcessLeases | None":
        """Return the acquired lease on a store that other processes may use; None for other stores."""
        configuration = self._configuration
        if not is_shared_store(configuration.db or ""):
            return None
        from mockkube.cluster.replication.process_leases import ProcessLeases, ProcessRecord

        address = configuration.advertise_address or find_advertised_address(configuration.bind)
        url = get_url(listening, tls=configuration.tls, advertised=address)
        record = ProcessRecord.for_this_process(configuration.name, url, joins=configuration.join)
        leases = ProcessLeases(store, self._real_clock, record, self._random.new_uid())
        return await stack.enter_async_context(leases)

    async def _load_credentials(self, store: Store) -> Credentials:
        """Return the credentials: the cluster's own, or those of the control plane that it joins."""
        configuration, directory, clock = self._configuration, self._directory, self._real_clock
        if configuration.join:
            return await Credentials.join(configuration, directory, store, clock=clock, random=self._random)
        process = self._certificate_process
        created = None if process is None else await process.read()
        return Credentials.load_or_create(configuration, directory, clock=clock, random=self._random, created=created)

    async def _open_control_store(self, stack: AsyncExitStack) -> Store:
        """Return the started store of the control resources."""
        try:
            url = MEMORY if self._configuration.ephemeral else f"sqlite:///{self._directory.control}"
            return await stack.enter_async_context(open_store(url))
        except Unavailable as error:
            remedy = "make it available, or move it away to begin without the settings kept there"
            raise StartError(f"{error}: {remedy}") from None

    async def _start_control_plane(
        self, stack: AsyncExitStack, store: Store, credentials: Credentials, listening: socket.socket
    ) -> "ControlPlane":
        """Return the control plane with the control API started, the components not."""
        from mockkube.cluster.api_servers.listeners import ListenerFactory, MakeListener
        from mockkube.cluster.control_plane import ControlPlane, ControlPlaneDependencies

        configuration, directory = self._configuration, self._directory
        control = await self._open_control_store(stack)
        snapshot_store = MemorySnapshotStore() if configuration.ephemeral else FileSnapshotStore(directory.snapshots)
        dependencies = ControlPlaneDependencies(
            store,
            control,
            snapshot_store,
            configuration,
            credentials,
            self._clock,
            self._random,
            process_leases=self._process_leases,
            make_tracer=await self._start_tracing(stack),
        )

        def fronts(faults: "Faults") -> MakeListener:
            hosts = configuration.allowed_hosts
            return ListenerFactory(
                listening,
                configuration.bind,
                credentials.make_tls_context,
                faults,
                self._clock,
                self._real_clock,
                hosts,
                http2=not configuration.disable_http2_serving,
            ).make_listener

        control_plane = self._control_plane = ControlPlane(dependencies, self._make_api_server, fronts)
        await control_plane.start(stack)
        return control_plane

    async def _start_tracing(self, stack: AsyncExitStack) -> "MakeTracer | None":
        """Return the function that makes tracers, whose spans are exported until the stack is left."""
        options = self._configuration.tracing_config_file
        if options is None:
            return None
        from mockkube.cluster.otlp_exporter import OtlpExporter

        exporter = OtlpExporter(options, {"k8s.cluster.name": self._configuration.name})
        return (await stack.enter_async_context(exporter)).make_tracer

    async def _publish(
        self,
        stack: AsyncExitStack,
        running: RunningCluster,
        credentials: Credentials,
        component_controller: "ComponentController",
    ) -> None:
        """Write kubeconfig, user's kubeconfig, record for other commands, and ready file."""
        configuration, directory = self._configuration, self._directory
        own = render_kubeconfig(
            KubeconfigEntries(configuration.name, running.url, credentials.certificates, running.token)
        )
        record = RunningRecord(
            pid=os.getpid(),
            url=running.url,
            version=str(configuration.version),
            database=redact_url(configuration.db or f"sqlite:///{directory.database}"),
            kubeconfig=str(running.kubeconfig),
            ca_file=str(running.ca_file or ""),
        )
        try:
            write_atomically(directory.kubeconfig, own, durable=directory.durable)
            record.with_components(component_controller.summarize()).write(directory)
        except OSError as error:
            raise make_unwritable_error(directory.path, error) from None
        component_controller.on_reported = lambda: record.with_components(component_controller.summarize()).write(
            directory
        )
        contexts = KubeconfigContexts(directory, self._clock)
        stack.push_async_callback(contexts.remove_all)
        if configuration.kubeconfig is not None:
            await contexts.add(configuration.kubeconfig, set_context=configuration.set_context)
        # Last: programs that wait for this file expect everything else to be in place.
        if configuration.ready_file is not None:
            _write_ready_file(stack, configuration.ready_file, running.render_ready_file())


async def _create_stage_crd(server: Server) -> None:
    """Create the CRD of KWOK stages."""
    from mockkube.kubelet.stages.crd import STAGE_CRD

    try:
        await server.create_object(STAGE_CRD)
    except (ApiError, Unavailable) as error:
        _LOG.warning("stages cannot be defined: %s", error)


def _describe_running(url: str, credentials: Credentials, directory: StateDirectory) -> RunningCluster:
    authority = None if credentials.certificates is None else credentials.certificates.authority
    return RunningCluster(directory.name, url, credentials.token, directory.kubeconfig, authority)


def _write_ready_file(stack: AsyncExitStack, path: Path, content: str) -> None:
    try:
        write_atomically(path, content, durable=False)  # after a crash of the machine, nothing is ready
    except OSError as error:
        raise StartError(f"ready file {path}: {error.strerror}: give one that can be written, --ready-file") from None
    stack.callback(path.unlink, missing_ok=True)
