"""Component with the custom controller of one custom resource."""

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry

from mockkube.client.informer import InformerFactory
from mockkube.client.protocol import Client
from mockkube.controllers.custom.custom_kind import CustomKind
from mockkube.controllers.custom.pod_set import PodSetController
from mockkube.controllers.framework.controller import ControllerDependencies, EventRecorders
from mockkube.controllers.framework.hot_loops import HotLoopDetector
from mockkube.controllers.framework.informer_worker import InformerWorker
from mockkube.controllers.framework.options import Options
from mockkube.controllers.framework.queue_metrics import QueueMetrics
from mockkube.controllers.framework.resource_monitors import ResourceMonitors
from mockkube.controllers.framework.worker import ControllerWorker
from mockkube.features.capabilities import Capabilities
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Worker

# Default limits of the client in controller-runtime, which most custom controllers use.
_OPTIONS: Final = Options(requests_per_second=20.0, requests_burst=30)


class CustomController:
    """Controller of one custom resource. It has no version: a rollout of the cluster does not change it."""

    def __init__(self, name: str, kind: CustomKind, client: Client, clock: Clock, random: Random) -> None:
        self._informers = InformerFactory(client, clock, owner=name)
        metrics = CollectorRegistry()
        dependencies = ControllerDependencies(
            component=name,
            client=client,
            informers=self._informers,
            clock=clock,
            random=random,
            capabilities=Capabilities(),
            options=_OPTIONS,
            metrics=metrics,
            queue_metrics=QueueMetrics(metrics),
            hot_loops=HotLoopDetector(clock),
            recorders=EventRecorders(clock, random, name),
            resource_monitors=ResourceMonitors(client, clock, self._informers, name),
        )
        controller = ControllerWorker(name, PodSetController(dependencies, kind))
        self._workers: Sequence[Worker] = (
            *(InformerWorker(cache, [controller.signal]) for cache in self._informers.workers),
            controller,
            *dependencies.recorders.workers,
        )

    @property
    def workers(self) -> Sequence[Worker]:
        """Informers, the controller, the recorder of events."""
        return self._workers

    async def start(self) -> None:
        """Do nothing: informers list and watch in their steps."""

    async def stop(self) -> None:
        """Close all watches."""
        await self._informers.close()
