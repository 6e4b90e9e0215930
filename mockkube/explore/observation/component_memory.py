"""Read the memory of components that decides what happens next: queues, timers, numbers of failures, backoffs.

A state is identified by this as much as by stored objects. Times are relative, generated names do not count, and
timers of workers on which the fate of pods does not depend are left out. Retries never are: a failed key may be the
write that a pod waits for.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer
from mockkube.client.protocol import Key, key_of
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.controllers.framework.informer_worker import InformerWorker
from mockkube.controllers.framework.worker import ControllerWorker
from mockkube.explore.observation.stored_objects import PODS, StoredObjects
from mockkube.features.components import CONTROLLER_MANAGER
from mockkube.kubelet.pod_workers import PodWorkers
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.component import Component
from mockkube.runtime.steps import Worker
from mockkube.scheduler.scheduler import Scheduler

# After this many attempts the backoff of a pod has reached its maximum.
ATTEMPTS_MAX: Final = 5
# After this many failures, doubling from 5 ms, the delay of a key has reached its maximum.
FAILURES_MAX: Final = 18
# After this many failures, doubling from 0.8 s, the delay of an informer has reached its maximum.
INFORMER_FAILURES_MAX: Final = 7
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
    components += [controller for _, controller in sorted(cluster.custom_controllers.items())]
    return sorted(
        (one for component in components if component is not None for one in reader.read_component(component)), key=repr
    )


def find_failing_objects(cluster: SimulatedCluster, stored: StoredObjects) -> list[ReadOnlyObject]:
    """Return the objects that controllers keep failing on."""
    reader = _MemoryReader(cluster, stored, 1.0)
    components = [cluster.get_component(CONTROLLER_MANAGER), *cluster.custom_controllers.values()]
    workers = [
        worker
        for component in components
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
                yield from self._read_delays(worker)
                for item, seconds in worker.controller.list_memory():
                    yield (worker.name, "memory", item, self._to_steps(seconds))
                yield from self._read_backoffs(worker)
        if isinstance(component, Scheduler):
            yield from self._read_queue(component)

    def _read_worker(self, worker: Worker) -> Iterator[MemoryItem]:
        """Yield when the timers of a worker fire, and how often an informer has failed."""
        at = worker.wake_at()
        if at is not None and not _is_ignored(worker):
            yield (worker.name, self._to_steps(at - self.cluster.clock.monotonic()))
        informer = worker.informer if isinstance(worker, InformerWorker) else worker
        if isinstance(informer, Informer) and informer.failures:
            yield (worker.name, "failures", min(informer.failures, INFORMER_FAILURES_MAX))
        if isinstance(worker, PodWorkers):
            for key, seconds in worker.list_delays():
                yield (worker.name, "delayed", self._describe_key(key), self._to_steps(seconds))

    def read_failures(self, worker: ControllerWorker) -> Iterator[MemoryItem]:
        """Yield the keys that a controller failed on, with the number of failures."""
        for resource, obj, failures in self.list_failed_objects(worker):
            yield (worker.name, resource, _stable_name(obj), min(failures, FAILURES_MAX))

    def _read_delays(self, worker: ControllerWorker) -> Iterator[MemoryItem]:
        """Yield the delayed keys of a controller: not only the first of them becomes ready one day."""
        queue = worker.controller.work_queue
        for key, seconds in queue.list_delays():
            if queue.num_requeues(key) or not _is_ignored(worker):
                yield (worker.name, "delayed", self._describe_key(key), self._to_steps(seconds))

    def _read_backoffs(self, worker: ControllerWorker) -> Iterator[MemoryItem]:
        """Yield backoffs that last longer than a step: within one, they change the number of retries only."""
        for item, left, following in worker.controller.list_backoffs():
            steps = self._to_steps(left), self._to_steps(following)
            if max(steps) > 1:
                yield (worker.name, "backoff", item, max(1, steps[0]), max(1, steps[1]))

    def _describe_key(self, key: Key) -> str:
        """Return the key without generated parts; that of a pod with its node."""
        pod = self.stored.list_objects(PODS).get(str(key))
        return str(key) if pod is None else f"{_stable_name(pod)} {pod['spec'].get('nodeName', '')}"

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
                # Left out is when the next flush retries an unschedulable pod: a pod that the scheduler would place is
                # no harm while it waits, so an earlier retry changes no verdict.
                yield ("queue", _stable_name(pod), tries, sorted(queued.rejector_plugins), waits)

    def _to_steps(self, seconds: float) -> int:
        return ceil(max(seconds, 0.0) / self.step_seconds)


def _is_ignored(worker: Worker) -> bool:
    return worker.name.endswith((*_IGNORED_WORKERS, *_PERIODIC_WORKERS))


def _stable_name(obj: ReadOnlyObject) -> str:
    """Return the name of an object, or its generateName."""
    metadata = obj["metadata"]
    return str(metadata.get("generateName") or metadata["name"])
