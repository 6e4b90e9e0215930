"""horizontal-pod-autoscaler-controller: syncs each autoscaler every 15 seconds; see `workload_scaler` for how.

upstream 1.36: pkg/controller/podautoscaler/horizontal.go
"""

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, ClassVar, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.podautoscaling.metrics import AutoscalerMetrics
from mockkube.features.versions import Version
from mockkube.runtime.rate_limiters import RateLimiter

if TYPE_CHECKING:
    from mockkube.controllers.podautoscaling.workload_scaler import WorkloadScaler

KIND: Final = "HorizontalPodAutoscaler"
# Versions from which on metrics count autoscalers, and a new autoscaler is synced at once.
_COUNTS_OBJECTS: Final = Version(1, 35)
_STARTS_AT_ONCE: Final = Version(1, 37)


class _FixedInterval:
    """Rate limiter by which every key waits equally long."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def when(self, item: Hashable) -> float:
        return self._seconds

    def forget(self, item: Hashable) -> None:
        pass

    def num_requeues(self, item: Hashable) -> int:
        return 0


class HorizontalPodAutoscalerController(Controller):
    """Controller of HorizontalPodAutoscalers; keys are autoscalers."""

    name: ClassVar[str] = "horizontal-pod-autoscaler-controller"
    event_source: ClassVar[str] = "horizontal-pod-autoscaler"
    queue_name: ClassVar[str] = "horizontalpodautoscaler"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        self._options = dependencies.options.autoscaling
        super().__init__(dependencies)
        self._version = dependencies.capabilities.version
        self._has_generation = dependencies.capabilities.enabled("HPAGeneration")
        self._metrics = AutoscalerMetrics(dependencies.metrics, counts_objects=self._version >= _COUNTS_OBJECTS)
        self._scaler: WorkloadScaler | None = None
        self.autoscalers = self.watched_informer(KIND, self._on_autoscaler_change)
        self.pods = self.informer("Pod")

    def rate_limiter(self) -> RateLimiter:
        """Return a limiter by which every key waits for the sync period."""
        return _FixedInterval(self._options.sync_seconds)

    def _on_autoscaler_change(self, change: ObjectChange) -> None:
        """Queue an autoscaler for the next sync, or at once if the version does so."""
        key = key_of(change.object)
        if change.type is WatchEventType.DELETED:
            if self._scaler is not None:
                self._scaler.forget(key)
            self._metrics.record_autoscalers(-1)
            return
        is_new = change.type is WatchEventType.ADDED
        if is_new:
            self._metrics.record_autoscalers(1)
        changed = change.old is not None and _generation_of(change.old) != _generation_of(change.object)
        if (is_new and self._version >= _STARTS_AT_ONCE) or (changed and self._has_generation):
            self.work_queue.add(key)
        else:
            self.work_queue.add_rate_limited(key)

    def list_memory(self) -> Iterable[tuple[Hashable, float]]:
        """Return the recommendations and changes from which windows and policies follow."""
        return () if self._scaler is None else self._scaler.list_memory()

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Scale the workload of an autoscaler; whatever happens, sync again after the sync period."""
        autoscaler = self.autoscalers.get(key)
        if autoscaler is None:
            return DONE
        if self._scaler is None:
            self._scaler = self._make_scaler()
        await self._scaler.sync(key, autoscaler)
        return Requeue(after=self._options.sync_seconds)

    def _make_scaler(self) -> "WorkloadScaler":
        # A cluster without autoscalers starts faster without the modules that only they need.
        from mockkube.controllers.podautoscaling.workload_scaler import WorkloadScaler

        return WorkloadScaler(self.dependencies, self.client, self.events, self.pods, self._metrics)


def _generation_of(obj: ReadOnlyObject) -> int:
    generation: int = obj["metadata"].get("generation", 0)
    return generation
