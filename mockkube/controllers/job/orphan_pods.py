"""Orphaned pods of jobs: removes the tracking finalizer where no job will count the pod any more.

upstream 1.36: pkg/controller/job/job_controller.go (syncOrphanPod)
"""

from contextlib import suppress
from typing import ClassVar

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.framework.controller_ref_manager import controller_of, has_deletion_timestamp
from mockkube.controllers.framework.owner_index import resolve_controller_ref, selector_of
from mockkube.controllers.job.job_properties import (
    API_VERSION,
    BACKOFF_SECONDS,
    BACKOFF_SECONDS_MAX,
    KIND,
    JobFeatures,
    finished_type,
)
from mockkube.controllers.job.pods import REMOVE_FINALIZER_PATCH, is_tracked
from mockkube.runtime.rate_limiters import ItemExponentialFailureRateLimiter, RateLimiter


class JobOrphanPodController(Controller):
    """Controller of orphaned pods of jobs; keys are pods."""

    name: ClassVar[str] = "job-controller/orphans"
    event_source: ClassVar[str] = "job-controller"
    queue_name: ClassVar[str] = "job_orphan_pod"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self._features = JobFeatures.from_capabilities(dependencies.capabilities)
        self.jobs = self.informer(KIND)
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        self.watched_informer(KIND, self._on_job_change)

    def rate_limiter(self) -> RateLimiter:
        """Return the rate limiter for failed pods."""
        return ItemExponentialFailureRateLimiter(BACKOFF_SECONDS, BACKOFF_SECONDS_MAX)

    def _on_pod_change(self, change: ObjectChange) -> None:
        pod = change.object
        if not is_tracked(pod):
            return
        is_leaving = change.type is WatchEventType.DELETED or has_deletion_timestamp(pod)
        # A pod that the job still owns is left to the job's own sync, which counts it first.
        if controller_of(pod) is None or (is_leaving and self._has_no_unfinished_job(pod)):
            self.work_queue.add(key_of(pod))

    def _has_no_unfinished_job(self, pod: ReadOnlyObject) -> bool:
        job = resolve_controller_ref(self.jobs, KIND, pod)
        return job is None or bool(finished_type(job))

    def _on_job_change(self, change: ObjectChange) -> None:
        job = change.object
        # Also on ADDED: jobs may have been deleted or finished while the controller was down.
        if change.type is not WatchEventType.DELETED and (
            change.type is WatchEventType.ADDED or not finished_type(job)
        ):
            return
        selector = selector_of(job)
        for pod in self.pods.list(job["metadata"]["namespace"]):
            if is_tracked(pod) and selector.matches(pod["metadata"].get("labels") or {}):
                self.work_queue.add(key_of(pod))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Remove the finalizer of a pod unless a job or another controller will."""
        pod = self.pods.get(key)
        if pod is None or not is_tracked(pod):
            return DONE
        reference = controller_of(pod)
        if reference is not None:
            if (reference["kind"], reference["apiVersion"]) != (KIND, API_VERSION):
                return DONE
            job = resolve_controller_ref(self.jobs, KIND, pod)
            if job is not None and (self._features.is_managed_externally(job) or not finished_type(job)):
                return DONE
        with suppress(NotFound):
            await self.client.patch("Pod", key, REMOVE_FINALIZER_PATCH)
        return DONE
