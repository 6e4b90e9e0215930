"""Metrics of the job controller, under upstream's names.

upstream 1.36: pkg/controller/job/metrics/metrics.go
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.controllers.job.indexes import OrderedIntervals
from mockkube.controllers.job.job_properties import (
    JOB_CONTROLLER_NAME,
    completions_of,
    has_backoff_limit_per_index,
    is_indexed,
)
from mockkube.controllers.job.pod_counts import JobPodCounts
from mockkube.controllers.job.pods import is_tracked, phase_of
from mockkube.matching.pods import FINISHED

_SUBSYSTEM: Final = "job_controller"
_RESULTS: Final = ("succeeded", "failed")


def _completion_mode(job: ReadOnlyObject) -> str:
    return "Indexed" if is_indexed(job) else "NonIndexed"


class JobMetrics:
    """Metrics of one component's job controller."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, subsystem=_SUBSYSTEM, registry=registry)

        sync_labels = ("completion_mode", "result", "action")
        self._duration = Histogram(
            "job_sync_duration_seconds",
            "The time it took to sync a job",
            sync_labels,
            subsystem=_SUBSYSTEM,
            buckets=tuple(0.004 * 2**power for power in range(15)),
            registry=registry,
        )
        self._syncs = counter("job_syncs", "The number of job syncs", *sync_labels)
        self._ended = counter("jobs_finished", "The number of finished jobs", "completion_mode", "result", "reason")
        self._managed_externally = counter(
            "jobs_by_external_controller", "The number of Jobs managed by an external controller", "controller_name"
        )
        self._pods = counter(
            "job_pods_finished", "The number of finished Pods that are fully tracked", "completion_mode", "result"
        )
        self._indexes = counter("job_finished_indexes", "The number of finished indexes", "status", "backoffLimit")
        self._failure_policy = counter(
            "pod_failures_handled_by_failure_policy", "The number of failed Pods handled by failure policy", "action"
        )
        self._tracking = counter(
            "terminated_pods_tracking_finalizer",
            "The number of terminated pods that have the finalizer batch.kubernetes.io/job-tracking",
            "event",
        )
        self._created = counter(
            "job_pods_creation", "The number of Pods created by the Job controller", "reason", "status"
        )

    def record_sync(self, job: ReadOnlyObject, action: str, seconds: float, *, failed: bool) -> None:
        """Record the duration and result of a sync."""
        labels = (_completion_mode(job), "error" if failed else "success", action)
        self._duration.labels(*labels).observe(seconds)
        self._syncs.labels(*labels).inc()

    def record_finished(self, job: ReadOnlyObject, end: ReadOnlyObject) -> None:
        """Count a finished job."""
        result = "succeeded" if end["type"] == "Complete" else "failed"
        self._ended.labels(_completion_mode(job), result, end.get("reason", "")).inc()

    def record_new_job(self, job: ReadOnlyObject) -> None:
        """Count a new job if another controller manages it."""
        controller = job["spec"].get("managedBy", JOB_CONTROLLER_NAME)
        if controller != JOB_CONTROLLER_NAME:
            self._managed_externally.labels(controller).inc()

    def record_status_change(self, job: ReadOnlyObject, before: ReadOnlyObject, after: ReadOnlyObject) -> None:
        """Count the pods and indexes that a new status counts and the old one did not."""
        grown = {result: after.get(result, 0) - before.get(result, 0) for result in _RESULTS}
        if is_indexed(job):
            grown["succeeded"] = self._count_indexes(job, before, after)
        for result, number in grown.items():
            self._pods.labels(_completion_mode(job), result).inc(max(number, 0))

    def _count_indexes(self, job: ReadOnlyObject, before: ReadOnlyObject, after: ReadOnlyObject) -> int:
        limit = "perIndex" if has_backoff_limit_per_index(job) else "global"
        grown = {}
        for result, name in zip(_RESULTS, ("completedIndexes", "failedIndexes"), strict=True):
            was, now = (
                len(OrderedIntervals.parse(one.get(name) or "", completions_of(job))) for one in (before, after)
            )
            grown[result] = max(now - was, 0)
            # Upstream creates the series for succeeded indexes even with zero.
            if result == "succeeded" or grown[result]:
                self._indexes.labels(result, limit).inc(grown[result])
        return grown["succeeded"]

    def record_failure_policy(self, action: str) -> None:
        """Count a failed pod that the failure policy handled."""
        self._failure_policy.labels(action).inc()

    def record_pod_creation(self, pod_counts: JobPodCounts, *, failed: bool) -> None:
        """Count the creation of a pod."""
        reason = "new"
        if pod_counts.features.replacement_policy:
            terminated_only = pod_counts.job["spec"].get("podReplacementPolicy") == "Failed"
            if terminated_only and pod_counts.failed > 0:
                reason = "recreate_failed"
            elif pod_counts.failed > 0 or pod_counts.terminating > 0:
                reason = "recreate_terminating_or_failed"
        if failed:
            self._created.labels(reason, "failed").inc()
        self._created.labels(reason, "succeeded").inc()  # as upstream: failed ones are counted here as well

    def record_pod_change(self, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> None:
        """Count pods that finished and still have the tracking finalizer, and those that lost it."""
        was, now = (pod is not None and is_tracked(pod) and phase_of(pod) in FINISHED for pod in (old, new))
        if was != now:
            self._tracking.labels("add" if now else "delete").inc()
