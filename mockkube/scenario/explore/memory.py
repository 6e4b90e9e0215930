"""What components hold in memory that decides what happens next: who waits, how long, after how many failures.

A state is known by this as much as by what is stored. Times count from now, names that were drawn do not count, and
work that no pod's fate depends on is left out.
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
from mockkube.runtime.part import Part
from mockkube.runtime.steps import Worker
from mockkube.scenario.explore.mirror import PODS, Mirror
from mockkube.scheduler.scheduler import Scheduler

REFUSALS_MAX: Final = 5
"""After so many a pod waits as long as it ever will."""
FAILURES_MAX: Final = 18
"""After so many, doubling from 5 ms, a key waits as long as it ever will."""
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
"""Workers whose timers no pod's fate depends on; failures of theirs count all the same."""
_SWEEPING: Final = ("/node-lifecycle-controller/monitor", "/pod-garbage-collector-controller")
"""Workers that come round several times in a step: when exactly shifts what they see by seconds, not by a step."""

Remembered = Sequence[Any]


def remembered(laboratory: Laboratory, mirror: Mirror, step_seconds: float) -> list[Remembered]:
    """Return what is in memory, in an order that does not depend on how it came about.

    Of a time it is told how many steps away it is: within a step, who is due first makes no difference to its end.
    """
    looking = _Looking(laboratory, mirror, step_seconds)
    parts = [laboratory.part(component) for component in sorted(laboratory.components())]
    return sorted((one for part in parts if part is not None for one in looking.part(part)), key=repr)


def failing(laboratory: Laboratory, mirror: Mirror) -> list[ReadOnlyObject]:
    """Return the objects that controllers fail on again and again."""
    looking, part = _Looking(laboratory, mirror, 1.0), laboratory.part(CONTROLLER_MANAGER)
    workers = [worker for worker in (part.workers if part is not None else ()) if isinstance(worker, ControllerWorker)]
    return [obj for worker in workers for _, obj, _ in looking.failed_on(worker)]


@dataclass(frozen=True, slots=True)
class _Looking:
    laboratory: Laboratory
    mirror: Mirror
    step_seconds: float

    def part(self, part: Part) -> Iterator[Remembered]:
        """Yield what a component holds."""
        for worker in part.workers:
            yield from self._worker(worker)
            if isinstance(worker, ControllerWorker):
                yield from self.failures(worker)
        if isinstance(part, Scheduler):
            yield from self._queue(part)

    def _worker(self, worker: Worker) -> Iterator[Remembered]:
        """Yield when a worker has something to do by itself."""
        at = worker.wake_at()
        if at is not None and not worker.name.endswith((*_REPORTING, *_SWEEPING)):
            yield (worker.name, self._steps(at - self.laboratory.clock.monotonic()))

    def failures(self, worker: ControllerWorker) -> Iterator[Remembered]:
        """Yield what a controller has failed on, and how often."""
        for resource, obj, failures in self.failed_on(worker):
            yield (worker.name, resource, _known_as(obj), min(failures, FAILURES_MAX))

    def failed_on(self, worker: ControllerWorker) -> Iterator[tuple[str, ReadOnlyObject, int]]:
        """Yield the objects that a controller has failed on, with their resource, and how often."""
        for resource in self.mirror.kinds():
            for obj in self.mirror.all(resource).values():
                if failures := worker.controller.keys.num_requeues(key_of(obj)):
                    yield resource, obj, failures

    def _queue(self, scheduler: Scheduler) -> Iterator[Remembered]:
        """Yield the pods that wait for a node: what refused them, and how long they have to wait at least."""
        now = self.laboratory.clock.now().timestamp()
        for pod in self.mirror.all(PODS).values():
            queued = scheduler.queue.find(pod["metadata"].get("uid", ""))
            if queued is not None:
                waits = self._steps(scheduler.configuration.backoff.ends_at(queued) - now)
                tries = (min(queued.refusals, REFUSALS_MAX), min(queued.errors, REFUSALS_MAX))
                yield ("queue", _known_as(pod), tries, sorted(queued.rejectors), waits)

    def _steps(self, seconds: float) -> int:
        return ceil(max(seconds, 0.0) / self.step_seconds)


def _known_as(obj: ReadOnlyObject) -> str:
    """Return the name of an object, without what was drawn of it."""
    metadata = obj["metadata"]
    return str(metadata.get("generateName") or metadata["name"])
