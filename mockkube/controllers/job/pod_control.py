"""Pod control of jobs: creates missing pods and deletes surplus ones.

upstream 1.36: pkg/controller/job/job_controller.go (manageJob)
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key, key_of
from mockkube.controllers.framework.consistency_store import ConsistencyStore
from mockkube.controllers.framework.expectations import Expectations
from mockkube.controllers.framework.slow_start import slow_start_batch
from mockkube.controllers.job.backoff import BackoffRecord, index_remaining_backoff_seconds
from mockkube.controllers.job.job_properties import has_backoff_limit_per_index, is_indexed, is_suspended
from mockkube.controllers.job.metrics import JobMetrics
from mockkube.controllers.job.pod_counts import JobPodCounts
from mockkube.controllers.job.pods import (
    REMOVE_FINALIZER_PATCH,
    active_pods_for_removal,
    build_pod_template,
    failure_annotations,
    is_tracked,
    new_pod,
)
from mockkube.controllers.job.policies import match_pod_failure_policy
from mockkube.controllers.pods.pod_control import PodControl, is_namespace_terminating
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_ready
from mockkube.runtime.clock import Clock
from mockkube.runtime.work_queue import WorkQueue

# Delay before changes of pods are processed, so that one sync handles many (upstream: SyncJobBatchPeriod).
BATCH_SECONDS: Final = 1.0
# Most pods that one reconciliation creates or deletes (upstream: MaxPodCreateDeletePerSync).
BURST_MAX: Final = 500


@dataclass(slots=True)
class JobSyncContext:
    """State of one reconciliation of a job."""

    key: Key
    pod_counts: JobPodCounts
    backoff: BackoffRecord
    # All expected creations and deletions of pods were observed.
    expectations_satisfied: bool
    finished_condition: ReadOnlyObject | None = None
    error: ApiError | None = None
    # The status changed and must be written.
    needs_status_update: bool = False
    # Action label of the sync metrics.
    action: str = "reconciling"

    @property
    def job(self) -> ReadOnlyObject:
        """The job, with the resourceVersion of the last write."""
        return self.pod_counts.job


@dataclass(frozen=True, slots=True)
class JobPodControl:
    """Creates and deletes pods of jobs, with backoff and batching."""

    pod_control: PodControl
    expectations: Expectations
    consistency_store: ConsistencyStore
    work_queue: WorkQueue[Key]
    clock: Clock
    metrics: JobMetrics

    async def manage(self, sync: JobSyncContext) -> None:
        """Create or delete pods until the wanted number is active."""
        job, pod_counts = sync.job, sync.pod_counts
        wanted = 0 if is_suspended(job) else _wanted_pods(pod_counts)
        surplus_pods = active_pods_for_removal(job, pod_counts.active_pods, max(pod_counts.active - wanted, 0))
        sync.action = "tracking"
        if surplus_pods or is_suspended(job):
            sync.action = "pods_deleted"
            # Suspending deletes all pods in one sync, without the limit, as upstream.
            surplus_pods = surplus_pods if is_suspended(job) else surplus_pods[:BURST_MAX]
            self.expectations.expect_deletions(sync.key, [pod["metadata"]["uid"] for pod in surplus_pods])
            await self.delete(sync, surplus_pods, untrack=True)
            return
        leaving = pod_counts.terminating if pod_counts.features.only_replaces_failed_pods(job) else 0
        missing = wanted - leaving - pod_counts.active
        if missing > 0:
            sync.action = "pods_created"
            await self._create_missing(sync, min(missing, BURST_MAX))

    async def _create_missing(self, sync: JobSyncContext, count: int) -> None:
        """Create pods, or requeue the job if its backoff is not over."""
        pod_counts, now = sync.pod_counts, self.clock.now()
        # With backoffLimitPerIndex every index has a backoff of its own.
        left = 0.0 if has_backoff_limit_per_index(sync.job) else sync.backoff.remaining_seconds(now)
        if left > 0:
            self.work_queue.add_after(sync.key, max(left, BATCH_SECONDS))
            return
        indexes: list[int | None] = [None] * count
        if is_indexed(sync.job):
            free = pod_counts.first_pending_indexes(count)
            delays = {
                index: index_remaining_backoff_seconds(pod_counts.delayed_deletion_by_index.get(index), now)
                for index in free
            }
            indexes = [index for index in free if delays[index] <= 0]
            if free and not indexes:
                self.work_queue.add_after(sync.key, max(min(delays.values()), BATCH_SECONDS))
                return
        await self._create_pods(sync, indexes)

    async def _create_pods(self, sync: JobSyncContext, indexes: Sequence[int | None]) -> None:
        """Create pods with these indexes in growing batches."""
        job, pod_counts, count = sync.job, sync.pod_counts, len(indexes)
        self.expectations.expect_creations(sync.key, count)
        template = build_pod_template(job)

        async def create(position: int) -> None:
            index = indexes[position]
            pod = new_pod(job, template, index, self._failure_annotations(pod_counts, index))
            try:
                self.consistency_store.wrote_at(sync.key, "Pod", await self.pod_control.create(pod, job))
            except ApiError as error:
                # In a terminating namespace no retry can succeed.
                if is_namespace_terminating(error):
                    return
                self.metrics.record_pod_creation(pod_counts, failed=True)
                raise
            self.metrics.record_pod_creation(pod_counts, failed=False)

        done = await slow_start_batch(count, create)
        if done.successes < count:
            self.expectations.creation_observed(sync.key, count - done.successes)
        pod_counts.active += done.successes
        sync.error = done.error

    def _failure_annotations(self, pod_counts: JobPodCounts, index: int | None) -> dict[str, str]:
        """Return the annotations with which a new pod continues the failure count of its index."""
        if index is None or not has_backoff_limit_per_index(pod_counts.job):
            return {}
        replaced = pod_counts.delayed_deletion_by_index.get(index)
        counts = replaced is not None and match_pod_failure_policy(pod_counts.job, replaced).is_counted
        return failure_annotations(replaced, counts=counts)

    async def delete(self, sync: JobSyncContext, pods: Sequence[ReadOnlyObject], *, untrack: bool) -> None:
        """Delete pods; with `untrack` remove their finalizer first, so that they are not counted."""
        pod_counts = sync.pod_counts
        for pod in pods:
            try:
                if untrack and is_tracked(pod):
                    patched = await self.pod_control.client.patch("Pod", key_of(pod), REMOVE_FINALIZER_PATCH)
                    self.consistency_store.wrote_at(sync.key, "Pod", patched)
                await self.pod_control.delete(key_of(pod), sync.job)
            except ApiError as error:
                self.expectations.deletion_observed(sync.key, pod["metadata"]["uid"])
                if not isinstance(error, NotFound):
                    sync.error = sync.error or error
                    continue
            # The counts go into the status of this same sync, before any event arrives.
            pod_counts.active -= 1
            pod_counts.terminating += 1
            pod_counts.ready -= is_ready(pod)


def _wanted_pods(pod_counts: JobPodCounts) -> int:
    """Return the number of pods that should be active."""
    spec = pod_counts.job["spec"]
    completions, parallelism = spec.get("completions"), spec["parallelism"]
    if completions is None:
        # A work queue job that has a success starts no more pods and lets the running ones finish.
        return pod_counts.active if pod_counts.succeeded > 0 else int(parallelism)
    return int(max(min(completions - pod_counts.succeeded, parallelism), 0))
