"""The components beside the API servers: which room builds each, and one of them between its start and its end."""

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
from mockkube.runtime.part import Context, Part
from mockkube.runtime.steps import Signal, Worker

Flags = Mapping[str, Any]
"""What a component is told by flags of its own, by their names."""
PartContext = Context[Client, Capabilities]
Build = Callable[[PartContext, Flags], Part]

_LOG: Final = logging.getLogger("mockkube.cluster")


def told(configuration: ClusterConfiguration, more: Mapping[str, Flags] | None = None) -> Mapping[str, Flags]:
    """Return what components are told by flags of their own, `more` first; ConfigurationError for what cannot be."""
    said = configuration.controllers or configuration.controller_manager or more
    if configuration.scheduler_config is None and not said:
        return {}
    from mockkube.cluster.part_flags import flags_of

    return flags_of(configuration, more)


def signing(credentials: Credentials, flags: Mapping[str, Flags]) -> Mapping[str, Flags]:
    """Return the flags with the authority of the cluster as that which signs, unless they name one."""
    certificates = credentials.certificates
    if certificates is None:
        return flags
    own = {
        "cluster-signing-cert-file": str(certificates.authority),
        "cluster-signing-key-file": str(certificates.authority_key),
    }
    return {**flags, CONTROLLER_MANAGER: {**own, **flags.get(CONTROLLER_MANAGER, {})}}


def _scheduler(context: PartContext, flags: Flags) -> Part:
    from mockkube.cluster.part_flags import scheduler_configuration
    from mockkube.scheduler.scheduler import build

    return build(context, scheduler_configuration(flags))


def _controllers(context: PartContext, flags: Flags) -> Part:
    from mockkube.cluster.part_flags import controller_options
    from mockkube.controllers.controller_manager import build

    return build(context, controller_options(flags, context.capabilities.version))


def _kubelets(context: PartContext, flags: Flags) -> Part:
    from mockkube.kubelet.kubelets import build

    return build(context)


BUILDERS: Final[Mapping[str, Build]] = {SCHEDULER: _scheduler, CONTROLLER_MANAGER: _controllers, KUBELET: _kubelets}
"""What builds a component, by its name or that of its fleet. A room is imported when it is first asked for."""


class Guarded:
    """A worker whose bugs end its part, and nothing else."""

    def __init__(self, worker: Worker, failed: Callable[[Exception], None]) -> None:
        self._worker = worker
        self._failed: Callable[[Exception], None] | None = failed

    @property
    def name(self) -> str:
        """That of the worker."""
        return self._worker.name

    @property
    def bell(self) -> Signal:
        """That of the worker."""
        return self._worker.bell

    def ready(self) -> bool:
        """Whether the worker is, and has not failed."""
        return self._failed is not None and self._worker.ready()

    def wake_at(self) -> float | None:
        """When the worker wakes, unless it has failed."""
        return None if self._failed is None else self._worker.wake_at()

    async def step(self) -> None:
        """Let the worker take a step; what it raises is its last."""
        try:
            await self._worker.step()
        except Exception as error:  # a bug of one component leaves the others alone
            _LOG.exception("%s failed", self.name)
            failed, self._failed = self._failed, None
            if failed is not None:
                failed(error)


class Runner:
    """One component. A change of what is asked of it is a restart: all that it had in memory is lost."""

    def __init__(self, make: Callable[[Asked], Part], stage: Stage, *, failed: Callable[[], None]) -> None:
        self.asked: Asked | None = None
        """What it follows; None when it does not run."""
        self.failure = ""
        """Why it does not run although it is to."""
        self._make = make
        self._stage = stage
        self._told = failed
        self._part: Part | None = None
        self._workers: Sequence[Worker] = ()

    async def become(self, asked: Asked) -> None:
        """Follow this; nothing happens if it does so already."""
        if self._part is not None and self.asked == asked and not self.failure:
            return
        await self.stop()
        if not asked.running:
            return
        try:
            part = self._part = self._make(asked)
            await part.start()
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
        """End it, and forget all it knew."""
        workers, self._workers = self._workers, ()
        part, self._part = self._part, None
        self.asked, self.failure = None, ""
        await self._stage.leave(workers)
        if part is not None:
            await part.stop()
