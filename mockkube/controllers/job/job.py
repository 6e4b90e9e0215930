"""job-controller: runs pods of a job until enough of them have succeeded.

upstream 1.36: pkg/controller/job
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_time, render_time
from mockkube.client.events import NORMAL, WARNING
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.consistency_store import ConsistencyStore, TrackedInformer
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.controller_ref_manager import ControllerRefManager, has_deletion_timestamp
from mockkube.controllers.framework.expectations import Expectations
from mockkube.controllers.framework.owner_index import (
    OwnedObjectHandler,
    find_claimable,
    resolve_controller_ref,
    selector_of,
)
from mockkube.controllers.job.completion import (
    add_interim_condition,
    completed_condition,
    enact_job_finished,
    final_condition,
    find_finished_condition,
    is_complete,
    new_condition,
    seconds_to_deadline,
    select_pods_to_untrack,
    set_condition,
)
from mockkube.controllers.job.job_properties import (
    API_VERSION,
    BACKOFF_SECONDS,
    BACKOFF_SECONDS_MAX,
    KIND,
    JobFeatures,
    finished_type,
    is_suspended,
)
from mockkube.controllers.job.metrics import JobMetrics
from mockkube.controllers.job.orphan_pods import JobOrphanPodController
from mockkube.controllers.job.pod_control import BATCH_SECONDS, JobPodControl, JobSyncContext
from mockkube.controllers.job.pod_counts import count_job_pods
from mockkube.controllers.job.pods import REMOVE_FINALIZER_PATCH, TRACKING_FINALIZER, is_tracked
from mockkube.controllers.job.state import JobState
from mockkube.controllers.pods.pod_control import PodControl
from mockkube.runtime.rate_limiters import ItemExponentialFailureRateLimiter, RateLimiter


class JobController(Controller):
    """Controller of Jobs; keys are Jobs."""

    name: ClassVar[str] = "job-controller"
    queue_name: ClassVar[str] = "job"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self._features = JobFeatures.from_capabilities(dependencies.capabilities)
        self._state = JobState()
        self._metrics = JobMetrics(dependencies.metrics)
        self._expectations = Expectations(self.clock)
        self.jobs = self.watched_informer(KIND, self._on_job_change)
        self._pod_handler = OwnedObjectHandler(
            self.jobs,
            KIND,
            on_add=self._on_pod_add,
            on_update=self._on_pod_update,
            on_delete=self._on_pod_delete,
        )
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        tracked = (TrackedInformer(self.pods, "", "pods"), TrackedInformer(self.jobs, "batch", "jobs"))
        checks_consistency = dependencies.capabilities.enabled("StaleControllerConsistencyJob")
        self._consistency_store = ConsistencyStore(
            "job_controller", dependencies.metrics, tracked if checks_consistency else ()
        )
        self._pod_control = JobPodControl(
            pod_control=PodControl(self.client, self.events),
            expectations=self._expectations,
            consistency_store=self._consistency_store,
            work_queue=self.work_queue,
            clock=self.clock,
            metrics=self._metrics,
        )

    def rate_limiter(self) -> RateLimiter:
        """Return the rate limiter for failed jobs."""
        return ItemExponentialFailureRateLimiter(BACKOFF_SECONDS, BACKOFF_SECONDS_MAX)

    def _on_pod_change(self, change: ObjectChange) -> None:
        pod = change.object
        self._metrics.record_pod_change(change.old, None if change.type is WatchEventType.DELETED else pod)
        if change.type is WatchEventType.DELETED or not is_tracked(pod):
            # The finalizer is gone, whichever job the pod belongs to by now.
            for one in (pod, change.old):
                if one is not None and (job := resolve_controller_ref(self.jobs, KIND, one)) is not None:
                    self._state.finalizer_removal_observed(key_of(job), pod["metadata"]["uid"])
        self._pod_handler.handle(change)

    def _on_pod_add(self, key: Key, pod: ReadOnlyObject) -> None:
        self._expectations.creation_observed(key)
        # Pods come and finish in bursts: one sync a second suffices for all of them.
        self.work_queue.add_after(key, BATCH_SECONDS)

    def _on_pod_update(self, key: Key, pod: ReadOnlyObject, old: ReadOnlyObject | None) -> None:
        self.work_queue.add_after(key, BATCH_SECONDS)

    def _on_pod_delete(self, key: Key, pod: ReadOnlyObject) -> None:
        self._expectations.deletion_observed(key, pod["metadata"]["uid"])
        self.work_queue.add_after(key, BATCH_SECONDS)

    def _on_job_change(self, change: ObjectChange) -> None:
        job, key = change.object, key_of(change.object)
        if change.type is not WatchEventType.MODIFIED:
            self.work_queue.add(key)
        if change.type is WatchEventType.ADDED and self._features.managed_by:
            self._metrics.record_new_job(job)
        if change.type is WatchEventType.DELETED:
            self._state.finished_observed(key)
            self._state.remove_backoff(key)
        if change.old is not None and change.type is WatchEventType.MODIFIED and not finished_type(job):
            self._on_job_update(key, job, change.old)

    def _on_job_update(self, key: Key, job: ReadOnlyObject, old: ReadOnlyObject) -> None:
        same = job["metadata"].get("generation") == old["metadata"].get("generation")
        # A status update can wait and be batched with changes of pods; a new spec is synced immediately.
        self.work_queue.add_after(key, BATCH_SECONDS if same else 0.0)
        start, seconds = (job.get("status") or {}).get("startTime"), job["spec"].get("activeDeadlineSeconds")
        if start and seconds is not None and old["spec"].get("activeDeadlineSeconds") != seconds:
            self.work_queue.add_after(key, seconds - (self.clock.now() - parse_time(start)).total_seconds())

    def list_backoffs(self) -> Iterable[tuple[Hashable, float, float]]:
        """Yield the backoff of each job whose pods have failed."""
        now = self.clock.now()
        for key, record in self._state.list_backoff():
            yield key, record.remaining_seconds(now), record.next_seconds

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Create and delete pods, count finished ones, and finish the job."""
        # Decisions from a stale cache could create pods twice or count them twice.
        if self._consistency_store.is_stale(key):
            return Requeue()
        job = self.jobs.get(key)
        if job is None:
            self._consistency_store.forget(key)
            self._expectations.forget(key)
            self._state.forget(key)
            return DONE
        uid = job["metadata"]["uid"]
        if self._features.is_managed_externally(job):
            return DONE
        if finished_type(job):
            self._state.remove_backoff(key)
            self._state.finished_observed(key)
            return DONE
        # The informer may still show a job as running that this controller has just finished.
        if not self._state.has_finished(key, uid):
            await self._sync_job(key, job)
        return DONE

    async def _sync_job(self, key: Key, job: ReadOnlyObject) -> None:
        """Count the pods of a job, process it and record metrics."""
        begun, settled = self.clock.monotonic(), self._expectations.is_satisfied(key)
        pod_counts = count_job_pods(
            job, await self._claim_pods(job), self._features, self._state.pending_finalizer_removals(key)
        )
        if not pod_counts.status.get("startTime") and not is_suspended(job):
            pod_counts.status["startTime"] = render_time(self.clock.now())
        streak = self._state.get_backoff(key).with_finished_pods(pod_counts.new_succeeded, pod_counts.new_failed)
        sync = JobSyncContext(key, pod_counts, streak, settled)
        failed = True
        try:
            await self._process_job(sync)
            failed = False
        finally:
            self._metrics.record_sync(job, sync.action, self.clock.monotonic() - begun, failed=failed)

    async def _process_job(self, sync: JobSyncContext) -> None:
        """Finish a job or manage its pods, then track finished pods."""
        now = self.clock.now()
        sync.finished_condition = find_finished_condition(sync.pod_counts, now)
        left = seconds_to_deadline(sync.job, sync.pod_counts.status, now)
        if left is not None and left > 0:
            self.work_queue.add_after(sync.key, left)
        if sync.finished_condition is not None:
            await self._delete_active_pods(sync)
        else:
            await self._manage_pods(sync)
        self._update_counts(sync)
        await self._track_status_and_remove_finalizers(sync)
        if sync.error is not None:
            raise sync.error

    async def _claim_pods(self, job: ReadOnlyObject) -> list[ReadOnlyObject]:
        selector, uid = selector_of(job), job["metadata"]["uid"]
        claims = ControllerRefManager(self.client, "Pod", job, KIND, API_VERSION, finalizers=(TRACKING_FINALIZER,))
        pods = await claims.claim(
            find_claimable(self.pods, job), lambda pod: selector.matches(pod["metadata"].get("labels") or {})
        )
        return [pod if _is_owned(pod, uid) else _with_finalizer(pod) for pod in pods]

    async def _delete_active_pods(self, sync: JobSyncContext) -> None:
        """Delete the active pods of a job that is to finish; it finishes once all are terminating."""
        pod_counts = sync.pod_counts
        await self._pod_control.delete(sync, pod_counts.active_pods, untrack=False)
        if pod_counts.active > 0 or not sync.expectations_satisfied:
            sync.finished_condition = None

    async def _manage_pods(self, sync: JobSyncContext) -> None:
        managed = sync.expectations_satisfied and not has_deletion_timestamp(sync.job)
        if managed:
            await self._pod_control.manage(sync)
        if is_complete(sync.pod_counts):
            sync.finished_condition = completed_condition(self._features, self.clock.now())
        elif managed:
            sync.needs_status_update = self._update_suspended_condition(sync)

    def _update_suspended_condition(self, sync: JobSyncContext) -> bool:
        """Set condition Suspended and return whether it changed."""
        now, status = self.clock.now(), sync.pod_counts.status
        if is_suspended(sync.job):
            new = set_condition(status, new_condition("Suspended", "True", "JobSuspended", "Job suspended", now))
            if new:
                self.events.record(sync.job, NORMAL, "Suspended", "Job suspended")
                if self._features.clears_start_time:
                    status.pop("startTime", None)
            return new
        new = set_condition(status, new_condition("Suspended", "False", "JobResumed", "Job resumed", now))
        if new:
            self.events.record(sync.job, NORMAL, "Resumed", "Job resumed")
            status["startTime"] = render_time(now)
        return new

    def _update_counts(self, sync: JobSyncContext) -> None:
        pod_counts, status = sync.pod_counts, sync.pod_counts.status
        counts: Object = {"active": pod_counts.active, "ready": pod_counts.ready}
        if self._features.replacement_policy:
            counts["terminating"] = pod_counts.terminating
        known = {"active": status.get("active", 0), **{name: status.get(name) for name in ("ready", "terminating")}}
        # Compared with the old counts: an unchanged status is not written.
        sync.needs_status_update = sync.needs_status_update or {"terminating": None, **counts} != known
        status.pop("terminating", None)
        status.update(counts)

    async def _track_status_and_remove_finalizers(self, sync: JobSyncContext) -> None:
        """Write finished pods to the status, remove their finalizers, count them, finish the job."""
        pod_counts, now = sync.pod_counts, self.clock.now()
        pending = {pod["metadata"]["uid"]: None for pod in pod_counts.pods if pod_counts.is_pending(pod)}
        sync.needs_status_update = pod_counts.clean_uncounted_pods(pending) or sync.needs_status_update
        # The order makes counting exact: uids are stored before finalizers go, and counted only after that. A crash in
        # between repeats a step without effect.
        released = select_pods_to_untrack(pod_counts, sync.finished_condition)
        for action in released.actions:
            self._metrics.record_failure_policy(action)
        sync.needs_status_update = released.changed or sync.needs_status_update
        end = sync.finished_condition
        if end is not None:
            sync.needs_status_update = add_interim_condition(pod_counts, end) or sync.needs_status_update
            end = final_condition(end, now)
        if sync.needs_status_update:
            await self._update_status(sync)
            self._state.store_backoff(sync.key, sync.backoff)
        error = await self._remove_finalizers(sync, released.pods, pending)
        sync.needs_status_update = pod_counts.clean_uncounted_pods(pending)
        if error is not None:
            if sync.needs_status_update:
                await self._update_status(sync)
            raise error
        ended = end is not None and not released.partial and enact_job_finished(pod_counts, end, now)
        if ended or sync.needs_status_update:
            await self._update_status(sync)
        if ended and end is not None:
            self._record_job_finished(sync.job, end)
            self._metrics.record_finished(sync.job, end)
            self._state.expect_finished(sync.key, sync.job["metadata"]["uid"])

    async def _remove_finalizers(
        self, sync: JobSyncContext, pods: Sequence[ReadOnlyObject], pending: dict[str, None]
    ) -> ApiError | None:
        """Remove the finalizer of pods; those without it are removed from `pending`."""
        first: ApiError | None = None
        # Until the informer shows the removal, these pods must not be treated as still having the finalizer.
        self._state.expect_finalizer_removals(sync.key, [pod["metadata"]["uid"] for pod in pods])
        for pod in pods:
            uid = pod["metadata"]["uid"]
            try:
                self._consistency_store.wrote_at(
                    sync.key, "Pod", await self.client.patch("Pod", key_of(pod), REMOVE_FINALIZER_PATCH)
                )
            except ApiError as error:
                self._state.finalizer_removal_observed(sync.key, uid)
                if not isinstance(error, NotFound):
                    first = first or error
                    continue
            pending.pop(uid, None)
        return first

    async def _update_status(self, sync: JobSyncContext) -> None:
        before = sync.job.get("status") or {}
        changed = {**sync.job, "status": sync.pod_counts.status}
        sync.pod_counts.job = await self.client.update(KIND, changed, subresource="status")
        self._consistency_store.wrote_at(sync.key, KIND, sync.job)
        self._metrics.record_status_change(sync.job, before, sync.pod_counts.status)

    def _record_job_finished(self, job: ReadOnlyObject, end: ReadOnlyObject) -> None:
        if end["type"] != "Complete":
            self.events.record(job, WARNING, end["reason"], end["message"])
            return
        completions = job["spec"].get("completions")
        if completions is not None and (job.get("status") or {}).get("succeeded", 0) > completions:
            message = "Too many succeeded pods running after completion count reached"
            self.events.record(job, WARNING, "TooManySucceededPods", message)
        self.events.record(job, NORMAL, "Completed", "Job completed")


def _is_owned(pod: ReadOnlyObject, uid: str) -> bool:
    return any(reference["uid"] == uid for reference in pod["metadata"].get("ownerReferences") or ())


def _with_finalizer(pod: ReadOnlyObject) -> ReadOnlyObject:
    """Return a pod that was adopted just now with the finalizer that it got."""
    if is_tracked(pod):
        return pod
    metadata = pod["metadata"]
    return {**pod, "metadata": {**metadata, "finalizers": [*(metadata.get("finalizers") or ()), TRACKING_FINALIZER]}}


def build(dependencies: ControllerDependencies) -> Iterable[Controller]:
    """Return the queue of jobs and the queue of orphaned pods."""
    yield JobController(dependencies)
    yield JobOrphanPodController(dependencies)
