"""Read the memory of components that decides what happens next: queues, timers, numbers of failures.

A state is identified by this as much as by stored objects. Times are relative, generated names do not count, and
workers on which the fate of pods does not depend are left out.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import key_of
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.controllers.framework.worker import ControllerWorker
from mockkube.explore.observation.stored_objects import PODS, StoredObjects
from mockkube.features.components import CONTROLLER_MANAGER
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.component import Component
from mockkube.runtime.steps import Worker
from mockkube.scheduler.scheduler import Scheduler

# After this many attempts the backoff of a pod has reached its maximum.
ATTEMPTS_MAX: Final = 5
# After this many failures, doubling from 5 ms, the delay of a key has reached its maximum.
FAILURES_MAX: Final = 18
# Workers whose timers do not affect pods; their failures count all the same.
_IGNORED_WORKERS: Final = (
    "/events",
    "/leases",
    "kubelet/nodes",
    "/deployment-controller",  # its only timer is that of a deadline it reports
    "/resourcequota-controller",
    "/persistentvolume-binder-controller",
    "/root-ca-certificate-publisher-controller",
    "/clusterrole-aggregation-controller",
    "/ttl-controller",
    "/stale-pods",
)
# Workers that run several times in a step: their exact time shifts what they observe by seconds, not by a step.
_PERIODIC_WORKERS: Final = ("/node-lifecycle-controller/monitor", "/pod-garbage-collector-controller")

MemoryItem = Sequence[Any]


def read_memory(cluster: SimulatedCluster, stored: StoredObjects, step_seconds: float) -> list[MemoryItem]:
    """Return the memory of all components, in an order that does not depend on the past.

    Times are given as steps from now: within a step, which worker is due first does not change its end.
    """
    reader = _MemoryReader(cluster, stored, step_seconds)
    components = [cluster.get_component(name) for name in sorted(cluster.get_component_specs())]
    return sorted(
        (one for component in components if component is not None for one in reader.read_component(component)), key=repr
    )


def find_failing_objects(cluster: SimulatedCluster, stored: StoredObjects) -> list[ReadOnlyObject]:
    """Return the objects that controllers keep failing on."""
    reader, component = _MemoryReader(cluster, stored, 1.0), cluster.get_component(CONTROLLER_MANAGER)
    workers = [
        worker
        for worker in (component.workers if component is not None else ())
        if isinstance(worker, ControllerWorker)
    ]
    return [obj for worker in workers for _, obj, _ in reader.list_failed_objects(worker)]


@dataclass(frozen=True, slots=True)
class _MemoryReader:
    """Reads the memory of components."""

    cluster: SimulatedCluster
    stored: StoredObjects
    step_seconds: float

    def read_component(self, component: Component) -> Iterator[MemoryItem]:
        """Yield what a component holds."""
        for worker in component.workers:
            yield from self._read_worker(worker)
            if isinstance(worker, ControllerWorker):
                yield from self.read_failures(worker)
                for item, seconds in worker.controller.list_memory():
                    yield (worker.name, item, self._to_steps(seconds))
        if isinstance(component, Scheduler):
            yield from self._read_queue(component)

    def _read_worker(self, worker: Worker) -> Iterator[MemoryItem]:
        """Yield when a worker's timer fires."""
        at = worker.wake_at()
        if at is not None and not worker.name.endswith((*_IGNORED_WORKERS, *_PERIODIC_WORKERS)):
            yield (worker.name, self._to_steps(at - self.cluster.clock.monotonic()))

    def read_failures(self, worker: ControllerWorker) -> Iterator[MemoryItem]:
        """Yield the keys that a controller failed on, with the number of failures."""
        for resource, obj, failures in self.list_failed_objects(worker):
            yield (worker.name, resource, _stable_name(obj), min(failures, FAILURES_MAX))

    def list_failed_objects(self, worker: ControllerWorker) -> Iterator[tuple[str, ReadOnlyObject, int]]:
        """Yield resource, object and number of failures of each object that a controller failed on."""
        for resource in self.stored.list_resources():
            for obj in self.stored.list_objects(resource).values():
                if failures := worker.controller.work_queue.num_requeues(key_of(obj)):
                    yield resource, obj, failures

    def _read_queue(self, scheduler: Scheduler) -> Iterator[MemoryItem]:
        """Yield the pods in the scheduling queue: attempts, rejecting plugins and remaining backoff."""
        now = self.cluster.clock.now().timestamp()
        for pod in self.stored.list_objects(PODS).values():
            queued = scheduler.queue.get(pod["metadata"].get("uid", ""))
            if queued is not None:
                waits = self._to_steps(scheduler.configuration.backoff.ends_at(queued) - now)
                tries = (
                    min(queued.unschedulable_count, ATTEMPTS_MAX),
                    min(queued.consecutive_errors_count, ATTEMPTS_MAX),
                )
                yield ("queue", _stable_name(pod), tries, sorted(queued.rejector_plugins), waits)

    def _to_steps(self, seconds: float) -> int:
        return ceil(max(seconds, 0.0) / self.step_seconds)


def _stable_name(obj: ReadOnlyObject) -> str:
    """Return the name of an object, or its generateName."""
    metadata = obj["metadata"]
    return str(metadata.get("generateName") or metadata["name"])
