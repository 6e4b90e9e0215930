"""ttl-after-finished-controller: deletes finished jobs after their ttlSecondsAfterFinished.

upstream 1.36: pkg/controller/ttlafterfinished/ttlafterfinished_controller.go
"""

from datetime import datetime
from typing import ClassVar

from prometheus_client import Histogram

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import add_seconds, parse_time
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import DeleteOptions, Key, Propagation, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp


def finished_at(job: ReadOnlyObject) -> datetime | None:
    """Return when a job finished; None while it runs. ApiError for a condition without time."""
    for condition in job.get("status", {}).get("conditions", ()):
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            if not condition.get("lastTransitionTime"):
                raise ApiError(f"unable to find the time when the Job {key_of(job)} finished")
            return parse_time(condition["lastTransitionTime"])
    return None


def expires_at(job: ReadOnlyObject) -> datetime | None:
    """Return when a job expires; None if it runs, has no TTL or is being deleted."""
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    if seconds is None or has_deletion_timestamp(job) or (end := finished_at(job)) is None:
        return None
    return add_seconds(end, seconds)


class TTLAfterFinishedController(Controller):
    """Controller of jobs with a TTL; keys are jobs."""

    name: ClassVar[str] = "ttl-after-finished-controller"
    queue_name: ClassVar[str] = "ttl_jobs_to_delete"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.jobs = self.watched_informer("Job", self._on_job_change)
        self._duration = Histogram(
            "ttl_after_finished_controller_job_deletion_duration_seconds",
            "The time it took to delete the job since it became eligible for deletion",
            buckets=tuple(0.1 * 2**power for power in range(14)),
            registry=dependencies.metrics,
        )

    def _on_job_change(self, change: ObjectChange) -> None:
        if (
            change.type is not WatchEventType.DELETED
            and change.object["spec"].get("ttlSecondsAfterFinished") is not None
        ):
            self.work_queue.add(key_of(change.object))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Delete the job if it has expired, else come back when it does."""
        job = self.jobs.get(key)
        if job is None:
            return DONE
        if (left := self._seconds_left(job)) is None or left > 0:
            return DONE if left is None else Requeue(after=left)
        try:
            # Upstream checks again on the stored object: the TTL may have been raised since the cached one.
            job = await self.client.get("Job", key)
            if (left := self._seconds_left(job)) is None or left > 0:
                return DONE if left is None else Requeue(after=left)
            await self.client.delete(
                "Job", key, DeleteOptions(uid=job["metadata"]["uid"], propagation=Propagation.FOREGROUND)
            )
        except NotFound:
            return DONE
        # `left` is negative by the time that passed since the job expired.
        self._duration.observe(-left)
        return DONE

    def _seconds_left(self, job: ReadOnlyObject) -> float | None:
        expires = expires_at(job)
        return None if expires is None else (expires - self.clock.now()).total_seconds()
