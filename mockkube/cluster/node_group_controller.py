"""Controller of NodeGroups: runs the autoscaler of nodes as long as there are groups, and reports their sizes."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object
from mockkube.client.identity import cluster_autoscaler
from mockkube.cluster.components.component_controller import ComponentController
from mockkube.cluster.components.component_runner import ComponentFlags, GuardedWorker
from mockkube.cluster.control.control_api import ControlApi
from mockkube.cluster.control.reconciler import Reconciler
from mockkube.cluster.execution.executor import Executor
from mockkube.features.components import SCHEDULER
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Worker

if TYPE_CHECKING:
    from mockkube.nodegroups.autoscaler import NodeAutoscaler
    from mockkube.nodegroups.group_status import GroupStatus
    from mockkube.nodegroups.node_group import NodeGroup

NAME: Final = "cluster-autoscaler"
_PLURAL: Final = "nodegroups"


class NodeGroupController:
    """Reconciles the node groups of a cluster."""

    def __init__(
        self,
        control_api: ControlApi,
        component_controller: ComponentController,
        executor: Executor,
        scheduler_flags: ComponentFlags,
        *,
        clock: Clock,
        random: Random,
    ) -> None:
        self._control_api, self._component_controller = control_api, component_controller
        self._executor, self._scheduler_flags = executor, scheduler_flags
        self._clock, self._random = clock, random
        self._autoscaler: NodeAutoscaler | None = None
        self._workers: Sequence[Worker] = ()
        self.reconciler = Reconciler(control_api.get_collection(_PLURAL), clock, self._reconcile)

    @property
    def autoscaler(self) -> "NodeAutoscaler | None":
        """Autoscaler that runs; None without node groups."""
        return self._autoscaler

    async def _reconcile(self, names: Iterable[str]) -> None:
        objects = self._control_api.load_objects(_PLURAL)
        if not objects:
            await self.stop()
            return
        # A cluster without node groups starts faster without these modules.
        from mockkube.nodegroups.node_group import NodeGroup

        groups = [NodeGroup.from_object(obj) for _, obj in sorted(objects.items())]
        if self._autoscaler is not None:
            self._autoscaler.set_groups(groups)
            return
        autoscaler = self._autoscaler = self._build(groups)
        await autoscaler.start()
        self._workers = [GuardedWorker(worker, lambda _: None) for worker in autoscaler.workers]
        self._executor.add_workers(self._workers)

    def _build(self, groups: "Iterable[NodeGroup]") -> "NodeAutoscaler":
        """Return an autoscaler that decides as the scheduler of the cluster with its present version and gates."""
        from mockkube.cluster.components.component_flags import get_scheduler_configuration
        from mockkube.nodegroups.autoscaler import AutoscalerDependencies, NodeAutoscaler

        spec = self._component_controller.get_spec(SCHEDULER)
        settings = spec.settings
        client = self._component_controller.local_clients.create_client_as(spec, cluster_autoscaler(settings.version))
        return NodeAutoscaler(
            AutoscalerDependencies(
                client,
                self._clock,
                Random.from_seed(self._random.generator.getrandbits(64), NAME),
                settings.capabilities(),
                self._report,
                get_scheduler_configuration(self._scheduler_flags),
            ),
            groups,
        )

    async def stop(self) -> None:
        """Stop the autoscaler if it runs."""
        autoscaler, self._autoscaler = self._autoscaler, None
        workers, self._workers = self._workers, ()
        if autoscaler is not None:
            await self._executor.remove_workers(workers)
            await autoscaler.stop()

    async def _report(self, statuses: "Mapping[str, GroupStatus]") -> None:
        objects = self._control_api.load_objects(_PLURAL)
        for name, status in statuses.items():
            if (obj := objects.get(name)) is not None:
                new: Object = {"observedGeneration": obj["metadata"]["generation"], **status.as_json()}
                with suppress(NotFound):
                    await self._control_api.update_status(_PLURAL, obj, new)
