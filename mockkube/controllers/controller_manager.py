"""Controller manager: informers, one worker per queue, and the event recorders."""

from collections.abc import Sequence

from mockkube.client.informer import InformerFactory
from mockkube.client.protocol import Client
from mockkube.controllers import catalogue
from mockkube.controllers.framework.controller import Controller, ControllerDependencies, EventRecorders
from mockkube.controllers.framework.hot_loops import HotLoopDetector
from mockkube.controllers.framework.informer_worker import InformerWorker
from mockkube.controllers.framework.options import Options
from mockkube.controllers.framework.pod_recreation import PodRecreationCounter
from mockkube.controllers.framework.queue_metrics import QueueMetrics
from mockkube.controllers.framework.resource_monitors import ResourceMonitors
from mockkube.controllers.framework.worker import ControllerWorker
from mockkube.features.capabilities import Capabilities
from mockkube.runtime.component import ComponentDependencies
from mockkube.runtime.steps import Worker


class ControllerManager:
    """All controllers of one version with one set of gates; their memory is lost when it stops."""

    def __init__(self, context: ComponentDependencies[Client, Capabilities], options: Options) -> None:
        self._informers = InformerFactory(
            context.client, context.clock, owner=context.component, hot_loops=context.hot_loops
        )
        self.hot_loops = HotLoopDetector(context.clock, context.hot_loops.signal)
        context.hot_loops.add_source(self.hot_loops.current)
        context.metrics.register(self.hot_loops)
        PodRecreationCounter(self._informers.informer_for("Pod"), self.hot_loops, context.clock)
        self._resource_monitors = ResourceMonitors(context.client, context.clock, self._informers, context.component)
        dependencies = ControllerDependencies(
            component=context.component,
            client=context.client,
            informers=self._informers,
            clock=context.clock,
            random=context.random,
            capabilities=context.capabilities,
            options=options,
            metrics=context.metrics,
            queue_metrics=QueueMetrics(context.metrics),
            hot_loops=self.hot_loops,
            recorders=EventRecorders(context.clock, context.random, context.component),
            resource_monitors=self._resource_monitors,
            log=context.log,
        )
        # Last: constructors of controllers create the informers, recorders and monitors that become workers.
        self._workers = _build_workers(dependencies, catalogue.build_controllers(dependencies))

    @property
    def workers(self) -> Sequence[Worker]:
        """Informers, controllers, monitors of all kinds (if used), event recorders."""
        return self._workers

    async def start(self) -> None:
        """Do nothing: informers list and watch in their steps."""

    async def stop(self) -> None:
        """Close all watches."""
        await self._resource_monitors.close()
        await self._informers.close()


def _build_workers(dependencies: ControllerDependencies, controllers: Sequence[Controller]) -> list[Worker]:
    """Return all workers; informers come first in the list."""
    working = [ControllerWorker(dependencies.component, controller) for controller in controllers]
    for cache in dependencies.informers.workers:
        cache.add_event_handler(dependencies.recorders.deleted_objects.handle_change)
    return [
        *(
            # Controllers wait only for their own informers, so one slow list does not delay all controllers.
            InformerWorker(cache, [worker.signal for worker in working if cache in worker.controller.informers])
            for cache in dependencies.informers.workers
        ),
        *working,
        # Monitors watch every served kind, which only the garbage collector and the quota controller need.
        *([dependencies.resource_monitors] if dependencies.resource_monitors.is_used else []),
        *dependencies.recorders.workers,
    ]


def build(context: ComponentDependencies[Client, Capabilities], options: Options | None = None) -> ControllerManager:
    """Return the controller manager of a component, by default with the options of its version."""
    return ControllerManager(context, options or Options.for_version(context.capabilities.version))
