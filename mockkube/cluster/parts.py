"""Run one component that is no API server: how it is built, its workers, its start and end."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mockkube.client.protocol import Client
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.control.component import Asked
from mockkube.cluster.credentials import Credentials
from mockkube.cluster.stage import Stage
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.runtime.part import Component, ComponentDependencies
from mockkube.runtime.steps import Signal, Worker

# Values of a component's own flags, by name.
Flags = Mapping[str, Any]
PartContext = ComponentDependencies[Client, Capabilities]
Build = Callable[[PartContext, Flags], Component]

_LOG: Final = logging.getLogger("mockkube.cluster")


def told(configuration: ClusterConfiguration, more: Mapping[str, Flags] | None = None) -> Mapping[str, Flags]:
    """Return the flags of each component, `more` over the configuration; ConfigurationError if one is invalid."""
    has_flags = configuration.controllers or configuration.controller_manager or more
    if configuration.scheduler_config is None and not has_flags:
        return {}
    # Imports the controllers' options, which a cluster without such flags does not need at its start.
    from mockkube.cluster.part_flags import flags_of

    return flags_of(configuration, more)


def signing(credentials: Credentials, flags: Mapping[str, Flags]) -> Mapping[str, Flags]:
    """Return the flags with the cluster's CA as signer of certificates, unless they name another."""
    certificates = credentials.certificates
    if certificates is None:
        return flags
    own = {
        "cluster-signing-cert-file": str(certificates.authority),
        "cluster-signing-key-file": str(certificates.authority_key),
    }
    return {**flags, CONTROLLER_MANAGER: {**own, **flags.get(CONTROLLER_MANAGER, {})}}


def _scheduler(context: PartContext, flags: Flags) -> Component:
    from mockkube.cluster.part_flags import scheduler_configuration
    from mockkube.scheduler.scheduler import build

    return build(context, scheduler_configuration(flags))


def _controllers(context: PartContext, flags: Flags) -> Component:
    from mockkube.cluster.part_flags import controller_options
    from mockkube.controllers.controller_manager import build

    return build(context, controller_options(flags, context.capabilities.version))


def _kubelets(context: PartContext, flags: Flags) -> Component:
    from mockkube.kubelet.kubelets import build

    return build(context)


# By name of the component. Each imports its package only when it builds the component.
BUILDERS: Final[Mapping[str, Build]] = {SCHEDULER: _scheduler, CONTROLLER_MANAGER: _controllers, KUBELET: _kubelets}


class Guarded:
    """Worker whose bugs end its component and nothing else."""

    def __init__(self, worker: Worker, failed: Callable[[Exception], None]) -> None:
        self._worker = worker
        self._failed: Callable[[Exception], None] | None = failed

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
        return self._failed is not None and self._worker.is_ready()

    def wake_at(self) -> float | None:
        """Return when the worker wakes, None after a failure."""
        return None if self._failed is None else self._worker.wake_at()

    async def step(self) -> None:
        """Take a step; after an exception the worker never runs again."""
        try:
            await self._worker.step()
        except Exception as error:  # a bug of one component leaves the others alone
            _LOG.exception("%s failed", self.name)
            failed, self._failed = self._failed, None
            if failed is not None:
                failed(error)


class Runner:
    """Runs one component; a change of its spec is a restart, which loses all memory."""

    def __init__(self, make: Callable[[Asked], Component], stage: Stage, *, failed: Callable[[], None]) -> None:
        # Spec that it runs with; None while it does not run.
        self.asked: Asked | None = None
        # Why it does not run although it should.
        self.failure = ""
        self._make = make
        self._stage = stage
        self._told = failed
        self._part: Component | None = None
        self._workers: Sequence[Worker] = ()

    async def become(self, asked: Asked) -> None:
        """Run with this spec; do nothing if it does already."""
        if self._part is not None and self.asked == asked and not self.failure:
            return
        await self.stop()
        if not asked.running:
            return
        try:
            part = self._part = self._make(asked)
            await part.start()
        # As a separate process that crashes at its start: the failure is in the component's status.
        except Exception as error:  # whatever it is, the other components go on
            _LOG.exception("%s does not start", asked.settings.component)
            await self.stop()
            self.failure = str(error) or type(error).__name__
            return
        self.asked = asked
        self._workers = [Guarded(worker, self._fail) for worker in part.workers]
        self._stage.enter(self._workers)

    def _fail(self, error: Exception) -> None:
        self.failure = str(error) or type(error).__name__
        self._told()

    async def stop(self) -> None:
        """Stop the component's workers, then the component."""
        workers, self._workers = self._workers, ()
        part, self._part = self._part, None
        self.asked, self.failure = None, ""
        await self._stage.leave(workers)
        if part is not None:
            await part.stop()
