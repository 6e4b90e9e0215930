"""Read the memory of components that decides what happens next: queues, timers, numbers of failures.

A state is identified by this as much as by stored objects. Times are relative, generated names do not count, and
workers on which the fate of pods does not depend are left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import key_of
from mockkube.cluster.laboratory import Laboratory
from mockkube.controllers.framework.worker import ControllerWorker
from mockkube.features.components import CONTROLLER_MANAGER
from mockkube.runtime.part import Component
from mockkube.runtime.steps import Worker
from mockkube.scenario.explore.mirror import PODS, Mirror
from mockkube.scheduler.scheduler import Scheduler

# After this many attempts the backoff of a pod has reached its maximum.
REFUSALS_MAX: Final = 5
# After this many failures, doubling from 5 ms, the delay of a key has reached its maximum.
FAILURES_MAX: Final = 18
# Workers whose timers do not affect pods; their failures count all the same.
_REPORTING: Final = (
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
_SWEEPING: Final = ("/node-lifecycle-controller/monitor", "/pod-garbage-collector-controller")

Remembered = Sequence[Any]


def remembered(laboratory: Laboratory, mirror: Mirror, step_seconds: float) -> list[Remembered]:
    """Return the memory of all components, in an order that does not depend on the past.

    Times are given as steps from now: within a step, which worker is due first does not change its end.
    """
    looking = _Looking(laboratory, mirror, step_seconds)
    parts = [laboratory.part(component) for component in sorted(laboratory.components())]
    return sorted((one for part in parts if part is not None for one in looking.part(part)), key=repr)


def failing(laboratory: Laboratory, mirror: Mirror) -> list[ReadOnlyObject]:
    """Return the objects that controllers keep failing on."""
    looking, part = _Looking(laboratory, mirror, 1.0), laboratory.part(CONTROLLER_MANAGER)
    workers = [worker for worker in (part.workers if part is not None else ()) if isinstance(worker, ControllerWorker)]
    return [obj for worker in workers for _, obj, _ in looking.failed_on(worker)]


@dataclass(frozen=True, slots=True)
class _Looking:
    """Reads the memory of components."""

    laboratory: Laboratory
    mirror: Mirror
    step_seconds: float

    def part(self, part: Component) -> Iterator[Remembered]:
        """Yield what a component holds."""
        for worker in part.workers:
            yield from self._worker(worker)
            if isinstance(worker, ControllerWorker):
                yield from self.failures(worker)
        if isinstance(part, Scheduler):
            yield from self._queue(part)

    def _worker(self, worker: Worker) -> Iterator[Remembered]:
        """Yield when a worker's timer fires."""
        at = worker.wake_at()
        if at is not None and not worker.name.endswith((*_REPORTING, *_SWEEPING)):
            yield (worker.name, self._steps(at - self.laboratory.clock.monotonic()))

    def failures(self, worker: ControllerWorker) -> Iterator[Remembered]:
        """Yield the keys that a controller failed on, with the number of failures."""
        for resource, obj, failures in self.failed_on(worker):
            yield (worker.name, resource, _known_as(obj), min(failures, FAILURES_MAX))

    def failed_on(self, worker: ControllerWorker) -> Iterator[tuple[str, ReadOnlyObject, int]]:
        """Yield resource, object and number of failures of each object that a controller failed on."""
        for resource in self.mirror.kinds():
            for obj in self.mirror.all(resource).values():
                if failures := worker.controller.work_queue.num_requeues(key_of(obj)):
                    yield resource, obj, failures

    def _queue(self, scheduler: Scheduler) -> Iterator[Remembered]:
        """Yield the pods in the scheduling queue: attempts, rejecting plugins and remaining backoff."""
        now = self.laboratory.clock.now().timestamp()
        for pod in self.mirror.all(PODS).values():
            queued = scheduler.queue.get(pod["metadata"].get("uid", ""))
            if queued is not None:
                waits = self._steps(scheduler.configuration.backoff.ends_at(queued) - now)
                tries = (
                    min(queued.unschedulable_count, REFUSALS_MAX),
                    min(queued.consecutive_errors_count, REFUSALS_MAX),
                )
                yield ("queue", _known_as(pod), tries, sorted(queued.rejector_plugins), waits)

    def _steps(self, seconds: float) -> int:
        return ceil(max(seconds, 0.0) / self.step_seconds)


def _known_as(obj: ReadOnlyObject) -> str:
    """Return the name of an object, or its generateName."""
    metadata = obj["metadata"]
    return str(metadata.get("generateName") or metadata["name"])
