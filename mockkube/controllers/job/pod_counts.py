"""Pod counts of a job, with finished pods that its status does not count yet.

A finished pod is counted in three steps, so that none is lost or counted twice: its uid is written to the status, its
finalizer is removed, its uid is replaced by an increment of the count.
upstream 1.36: pkg/controller/job/job_controller.go (syncJob, trackJobStatusAndRemoveFinalizers)
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.controllers.job.backoff import finished_at
from mockkube.controllers.job.indexes import OrderedIntervals
from mockkube.controllers.job.job_properties import JobFeatures, completions_of, has_backoff_limit_per_index, is_indexed
from mockkube.controllers.job.pods import (
    all_index_failures,
    index_failures,
    indexes_of,
    is_failed,
    is_tracked,
    phase_of,
    valid_index_of,
)
from mockkube.controllers.job.policies import match_pod_failure_policy
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_active, is_ready, is_terminating

# Most uids of uncounted pods in a status (upstream: MaxUncountedPods).
UNCOUNTED_MAX: Final = 500


@dataclass(slots=True)
class JobPodCounts:
    """Pods of a job by state, and the status in the making."""

    job: ReadOnlyObject
    pods: Sequence[ReadOnlyObject]
    features: JobFeatures
    # Uids of pods whose finalizer was removed, which the informer does not show yet.
    untracked_uids: Collection[str]
    status: Object
    active_pods: Sequence[ReadOnlyObject]
    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    new_succeeded: Sequence[ReadOnlyObject] = ()
    new_failed: Sequence[ReadOnlyObject] = ()
    prev_succeeded_indexes: OrderedIntervals = field(default_factory=OrderedIntervals)
    # Succeeded indexes: those of the status, and those of finished pods.
    succeeded_indexes: OrderedIntervals = field(default_factory=OrderedIntervals)
    # Failed indexes; None without backoffLimitPerIndex.
    failed_indexes: OrderedIntervals | None = None
    # Failed pods by index, kept until their replacement has taken over the failure count.
    delayed_deletion_by_index: dict[int, ReadOnlyObject] = field(default_factory=dict)

    def is_failed(self, pod: ReadOnlyObject) -> bool:
        """Return whether a pod counts as failed."""
        return is_failed(pod, terminated_only=self.features.only_replaces_failed_pods(self.job))

    def is_pending(self, pod: ReadOnlyObject) -> bool:
        """Return whether a pod's finalizer is still to be removed."""
        return is_tracked(pod) and pod["metadata"]["uid"] not in self.untracked_uids

    def is_uncounted(self, pod: ReadOnlyObject, kind: str) -> bool:
        """Return whether a pod is among the uncounted ones in the status."""
        return pod["metadata"]["uid"] in self.uncounted_uids(kind)

    def uncounted_uids(self, kind: str) -> list[str]:
        """Return the uids of uncounted pods, `succeeded` or `failed`."""
        uids: list[str] = self.status["uncountedTerminatedPods"].setdefault(kind, [])
        return uids

    def counts_for_job(self, pod: ReadOnlyObject) -> bool:
        """Return whether a pod counts for the job: if indexed, its index must be below completions."""
        return not is_indexed(self.job) or valid_index_of(pod, self.job) is not None

    def _find_newly_finished(self, kind: str, ended: Callable[[ReadOnlyObject], bool]) -> list[ReadOnlyObject]:
        pending = (pod for pod in self.pods if self.is_pending(pod) and not self.is_uncounted(pod, kind))
        return [pod for pod in pending if self.counts_for_job(pod) and ended(pod)]

    def recalculate(self) -> None:
        """Compute all counts."""
        self.active, self.ready = len(self.active_pods), sum(is_ready(pod) for pod in self.active_pods)
        self.terminating = sum(is_terminating(pod) for pod in self.pods)
        self.new_succeeded = self._find_newly_finished("succeeded", lambda pod: phase_of(pod) == "Succeeded")
        self.new_failed = self._find_newly_finished("failed", self.is_failed)
        counting = sum(match_pod_failure_policy(self.job, pod).is_counted for pod in self.new_failed)
        self.succeeded = _total(self.status, "succeeded", self.uncounted_uids("succeeded"), len(self.new_succeeded))
        self.failed = _total(self.status, "failed", self.uncounted_uids("failed"), counting)
        if is_indexed(self.job):
            self._count_indexes()

    def _count_indexes(self) -> None:
        completions = completions_of(self.job)
        self.prev_succeeded_indexes = OrderedIntervals.parse(self.status.get("completedIndexes", ""), completions)
        self.succeeded_indexes = self.prev_succeeded_indexes | self._tracked_indexes(
            lambda pod: phase_of(pod) == "Succeeded"
        )
        self.succeeded = len(self.succeeded_indexes)
        if has_backoff_limit_per_index(self.job):
            before = OrderedIntervals.parse(self.status.get("failedIndexes") or "", completions)
            self.failed_indexes = before | self._tracked_indexes(self._exceeds_index_limit)
            self.delayed_deletion_by_index = self._find_delayed_deletions(self.failed_indexes)

    def _tracked_indexes(self, holds: Callable[[ReadOnlyObject], bool]) -> OrderedIntervals:
        tracked = (pod for pod in self.pods if is_tracked(pod) and holds(pod))
        return OrderedIntervals.from_indexes(
            {index for pod in tracked if (index := valid_index_of(pod, self.job)) is not None}
        )

    def _exceeds_index_limit(self, pod: ReadOnlyObject) -> bool:
        if not self.is_failed(pod):
            return False
        policy_result = match_pod_failure_policy(self.job, pod)
        limit = self.job["spec"]["backoffLimitPerIndex"]
        return policy_result.action == "FailIndex" or (policy_result.is_counted and index_failures(pod) >= limit)

    def _find_delayed_deletions(self, lost: OrderedIntervals) -> dict[int, ReadOnlyObject]:
        """Return, by index, the last failed pod of indexes that wait for a replacement."""
        taken, waiting = indexes_of(self.active_pods), dict[int, ReadOnlyObject]()
        for pod in self.pods:
            index = valid_index_of(pod, self.job)
            if index is None or not self.is_pending(pod) or not self.is_failed(pod):
                continue
            if index in self.succeeded_indexes or index in lost or index in taken:
                continue
            # Of several failed pods the one with the highest failure count is inherited from.
            if index not in waiting or _is_later_failure(pod, waiting[index]):
                waiting[index] = pod
        return waiting

    def first_pending_indexes(self, count: int) -> list[int]:
        """Return the first `count` indexes without a pod that still need one."""
        busy = (
            self.succeeded_indexes
            | OrderedIntervals.from_indexes(indexes_of(self.active_pods))
            | (self.failed_indexes or OrderedIntervals())
        )
        # With podReplacementPolicy Failed an index waits until its terminating pod is gone.
        if self.features.only_replaces_failed_pods(self.job):
            busy |= OrderedIntervals.from_indexes(indexes_of(pod for pod in self.pods if is_terminating(pod)))
        return busy.first_missing(completions_of(self.job), count)

    def clean_uncounted_pods(self, pending: Collection[str]) -> bool:
        """Count uncounted pods that are not `pending` any more; return whether there were any."""
        exchanged = False
        for kind in ("succeeded", "failed"):
            uids = self.uncounted_uids(kind)
            left = [uid for uid in uids if uid in pending]
            if len(left) < len(uids):
                self.status[kind] = self.status.get(kind, 0) + len(uids) - len(left)
                self.status["uncountedTerminatedPods"][kind] = left
                exchanged = True
        return exchanged


def _total(status: ReadOnlyObject, name: str, uncounted: Sequence[str], new: int) -> int:
    return int(status.get(name, 0)) + len(uncounted) + new


def _is_later_failure(pod: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    fails_more = all_index_failures(other) <= all_index_failures(pod)
    return fails_more and finished_at(pod) >= finished_at(other)


def count_job_pods(
    job: ReadOnlyObject, pods: Iterable[ReadOnlyObject], rules: JobFeatures, released: Collection[str]
) -> JobPodCounts:
    """Return the pod counts of a job."""
    status = dict(job.get("status") or {})
    uncounted = status.get("uncountedTerminatedPods") or {}
    # Lists are copied because counting changes them, and the informer's object is shared.
    status["uncountedTerminatedPods"] = {kind: list(uids) for kind, uids in uncounted.items()}
    status["conditions"] = list(status.get("conditions") or ())
    all_pods = list(pods)
    pod_counts = JobPodCounts(job, all_pods, rules, released, status, [pod for pod in all_pods if is_active(pod)])
    pod_counts.recalculate()
    return pod_counts
