"""A cluster in real or virtual time: lock, socket, stores and control plane, started in an order that leaves no traces.

What can fail for reasons of the machine (lock, port) comes before anything is written; everything started is stopped in
reverse order, within a second. Modules that a mode does not need are imported late.
"""

import asyncio
import json
import logging
import os
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.errors import FormatTooNew, Locked, Unavailable, UnknownEngine
from mockkube_storage.store import Store

from mockkube.api.errors import ApiError, Invalid
from mockkube.cluster.components import judge
from mockkube.cluster.configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.contexts import Contexts
from mockkube.cluster.credentials import Credentials
from mockkube.cluster.errors import ConfigurationError, StartError
from mockkube.cluster.files import write_atomically
from mockkube.cluster.kubeconfig import Access, render
from mockkube.cluster.listener import bind, url_of
from mockkube.cluster.nodes import register
from mockkube.cluster.parts import told
from mockkube.cluster.readings import REAL, VIRTUAL
from mockkube.cluster.servers import Server, Surroundings, build_api_server
from mockkube.cluster.state import (
    AlreadyRunning,
    RunningRecord,
    StateDirectory,
    StateLock,
    unwritable,
    without_password,
)
from mockkube.cluster.vault import FileVault, MemoryVault
from mockkube.features.components import KUBELET
from mockkube.runtime.chance import Random
from mockkube.runtime.clock import Clock, RealClock
from mockkube.runtime.virtual import VirtualClock

if TYPE_CHECKING:
    from mockkube.cluster.faults import Faults
    from mockkube.cluster.fleet import Fleet
    from mockkube.cluster.interior import Interior

# Ephemeral clusters without a name that may run at the same time.
UNNAMED_MAX: Final = 1000
_LOG: Final = logging.getLogger("mockkube.cluster")


@dataclass(frozen=True, slots=True)
class Running:
    """Addresses and credentials of a running cluster."""

    name: str
    url: str
    token: str
    kubeconfig: Path
    ca_file: Path | None = None

    def as_ready_file(self) -> str:
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
        chance: Random | None = None,
        build: Callable[[Surroundings], Server] | None = None,
    ) -> None:
        self._directory = directory
        # Real time, for certificates and files, also when the cluster runs in virtual time.
        self._machine = clock or RealClock()
        self._clock = clock or (VirtualClock() if configuration.clock == VIRTUAL else self._machine)
        virtual = isinstance(self._clock, VirtualClock)
        self._configuration = replace(configuration, clock=VIRTUAL if virtual else REAL)
        self._chance = chance or Random()
        self._build = build or build_api_server
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Running:
        async with AsyncExitStack() as stack:
            try:
                running = await self._start(stack)
            except Unavailable as error:  # once open, too: the disk is full, the file or the database is gone
                raise StartError(f"{error}: make it available, or give another --db") from None
            self._stack = stack.pop_all()
        return running

    async def __aexit__(self, *exc_info: object) -> None:
        await self._stack.aclose()

    async def _start(self, stack: AsyncExitStack) -> Running:
        for notice, components in judge(self._configuration).items():
            level = logging.getLevelNamesMapping()[notice.severity.upper()]
            _LOG.log(level, "%s: %s", ", ".join(components), notice.text)
        told(self._configuration)
        lock = self._lock(stack)
        configuration, directory = self._configuration, self._directory
        listening = bind(configuration.bind, configuration.port)
        stack.callback(listening.close)
        credentials = Credentials.keep(configuration, directory, clock=self._machine, chance=self._chance)
        store = await self._open_store(stack)
        interior = await self._interior(stack, store, credentials, listening)
        fleet = interior.fleet
        try:
            server = await fleet.start()
        except Invalid as error:
            raise StartError(f"the API server refuses an object that it creates itself: {error}") from None
        version = fleet.settings(KUBELET).version
        await register(server, configuration.nodes, version=version, now=self._clock.now())
        stack.callback(fleet.refuse)
        await fleet.listen()
        fleet.run()
        await interior.follow(stack)
        running = _running(url_of(listening, tls=configuration.tls), credentials, directory)
        await self._announce(stack, running, credentials, fleet)
        # In the background: the CRD costs a part of the start that most users need not wait for.
        if "kubelets" not in configuration.without:
            group = await stack.enter_async_context(asyncio.TaskGroup())
            stack.callback(group.create_task(_define_stages(server), name="stages").cancel)
        lock.keep()
        return running

    def _lock(self, stack: AsyncExitStack) -> StateLock:
        """Lock the state directory; unnamed ephemeral clusters are `default`, `default-2`, and so on."""
        free = self._configuration.ephemeral and "name" not in self._configuration.given
        first = self._directory
        for number in range(2, UNNAMED_MAX + 1):
            try:
                return stack.enter_context(StateLock(self._directory))
            except AlreadyRunning:
                if not free:
                    raise
            self._directory = StateDirectory(first.path.with_name(f"{first.name}-{number}"))
            self._configuration = replace(self._configuration, name=self._directory.name)
        return stack.enter_context(StateLock(self._directory))

    async def _open_store(self, stack: AsyncExitStack) -> Store:
        """Return the started store; it is closed after everything that uses it."""
        url = self._configuration.db or f"sqlite:///{self._directory.database}"
        try:
            return await stack.enter_async_context(open_store(url))
        except UnknownEngine as error:
            raise ConfigurationError(f"--db: {error}") from None
        except (FormatTooNew, Locked) as error:
            raise StartError(f"{error}; or give another --db") from None

    async def _open_control(self, stack: AsyncExitStack) -> Store:
        """Return the started store of the control resources."""
        try:
            url = MEMORY if self._configuration.ephemeral else f"sqlite:///{self._directory.control}"
            return await stack.enter_async_context(open_store(url))
        except Unavailable as error:
            remedy = "make it available, or move it away to begin without the settings kept there"
            raise StartError(f"{error}: {remedy}") from None

    async def _interior(
        self, stack: AsyncExitStack, store: Store, credentials: Credentials, listening: socket.socket
    ) -> "Interior":
        """Return the control plane with the control API started, the components not."""
        from mockkube.cluster.front import Fronts, Street
        from mockkube.cluster.interior import Basis, Interior

        configuration, directory = self._configuration, self._directory
        control = await self._open_control(stack)
        vault = MemoryVault() if configuration.ephemeral else FileVault(directory.snapshots)
        basis = Basis(store, control, vault, configuration, credentials, self._clock, self._chance)

        def fronts(faults: "Faults") -> Fronts:
            hosts = configuration.allowed_hosts
            return Street(
                listening, configuration.bind, credentials.tls, faults, self._clock, self._machine, hosts
            ).front

        interior = Interior(basis, self._build, fronts)
        await interior.enter(stack)
        return interior

    async def _announce(
        self, stack: AsyncExitStack, running: Running, credentials: Credentials, fleet: "Fleet"
    ) -> None:
        """Write kubeconfig, user's kubeconfig, record for other commands, and ready file."""
        configuration, directory = self._configuration, self._directory
        own = render(Access(configuration.name, running.url, credentials.certificates, running.token))
        record = RunningRecord(
            pid=os.getpid(),
            url=running.url,
            version=str(configuration.version),
            database=without_password(configuration.db or f"sqlite:///{directory.database}"),
            kubeconfig=str(running.kubeconfig),
            ca_file=str(running.ca_file or ""),
        )
        try:
            write_atomically(directory.kubeconfig, own)
            record.showing(fleet.summaries()).write(directory)
        except OSError as error:
            raise unwritable(directory.path, error) from None
        fleet.told = lambda: record.showing(fleet.summaries()).write(directory)
        contexts = Contexts(directory, self._clock)
        stack.push_async_callback(contexts.remove_all)
        if configuration.kubeconfig is not None:
            await contexts.add(configuration.kubeconfig, set_context=configuration.set_context)
        # Last: programs that wait for this file expect everything else to be in place.
        if configuration.ready_file is not None:
            _write_ready_file(stack, configuration.ready_file, running.as_ready_file())


async def _define_stages(server: Server) -> None:
    """Create the CRD of KWOK stages."""
    from mockkube.kubelet.stages.definition import DEFINITION

    try:
        await server.create_object(DEFINITION)
    except (ApiError, Unavailable) as error:
        _LOG.warning("stages cannot be defined: %s", error)


def _running(url: str, credentials: Credentials, directory: StateDirectory) -> Running:
    authority = None if credentials.certificates is None else credentials.certificates.authority
    return Running(directory.name, url, credentials.token, directory.kubeconfig, authority)


def _write_ready_file(stack: AsyncExitStack, path: Path, content: str) -> None:
    try:
        write_atomically(path, content)
    except OSError as error:
        raise StartError(f"ready file {path}: {error.strerror}: give one that can be written, --ready-file") from None
    stack.callback(path.unlink, missing_ok=True)
