"""Completion of a job: finished conditions, and the steps that lead from them to the final status.

upstream 1.36: pkg/controller/job/job_controller.go
"""

from collections.abc import Iterable
from dataclasses import field
from datetime import datetime
from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import add_seconds, parse_time, render_time
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.job.job_properties import (
    JobFeatures,
    completions_of,
    has_backoff_limit_per_index,
    is_indexed,
    is_suspended,
    true_condition,
)
from mockkube.controllers.job.pod_counts import UNCOUNTED_MAX, JobPodCounts
from mockkube.controllers.job.pods import index_of, phase_of, valid_index_of
from mockkube.controllers.job.policies import match_pod_failure_policy, match_success_policy
from mockkube.lazy_dataclasses import dataclass

SUCCESS: Final = "SuccessCriteriaMet"
FAILURE: Final = "FailureTarget"


def new_condition(kind: str, status: str, reason: str, message: str, now: datetime) -> Object:
    """Return a new condition of a job."""
    moment = render_time(now)
    times = {"lastProbeTime": moment, "lastTransitionTime": moment}
    return {"type": kind, "status": status, **times, "reason": reason, "message": message}


def set_condition(status: Object, wanted: Object) -> bool:
    """Set a condition in a status and return whether that changed it; an absent one is not added as False."""
    known = find_condition(status["conditions"], wanted["type"])
    if known is None:
        if wanted["status"] != "False":
            status["conditions"] = [*status["conditions"], wanted]
        return bool(wanted["status"] != "False")
    if all(known.get(name) == wanted[name] for name in ("status", "reason", "message")):
        return False
    status["conditions"] = [wanted if one is known else one for one in status["conditions"]]
    return True


def find_finished_condition(pod_counts: JobPodCounts, now: datetime) -> ReadOnlyObject | None:
    """Return the condition with which a job is to finish; None while it goes on."""
    # A decision that is in the status already stands, whatever the pods look like now.
    if (met := true_condition(pod_counts.status, SUCCESS)) is not None:
        return met
    if (target := true_condition(pod_counts.status, FAILURE)) is not None:
        return new_condition("Failed", "True", target.get("reason", ""), target.get("message", ""), now)
    for pod in pod_counts.pods:
        if pod_counts.is_failed(pod) and (message := match_pod_failure_policy(pod_counts.job, pod).message):
            return new_condition(FAILURE, "True", "PodFailurePolicy", message, now)
    failure = _find_failure(pod_counts, now) or _find_index_failure(pod_counts)
    if failure is not None:
        # FailureTarget stands in until all pods have terminated; only then may the job become Failed.
        kind = FAILURE if pod_counts.features.delays_terminal_condition else "Failed"
        return new_condition(kind, "True", failure.reason, failure.message, now)
    if (
        is_indexed(pod_counts.job)
        and (rule := match_success_policy(pod_counts.job, pod_counts.succeeded_indexes)) is not None
    ):
        return new_condition(SUCCESS, "True", "SuccessPolicy", f"Matched rules at index {rule}", now)
    return None


@dataclass(frozen=True, slots=True)
class _JobFailure:
    reason: str
    message: str


def _find_failure(pod_counts: JobPodCounts, now: datetime) -> _JobFailure | None:
    spec = pod_counts.job["spec"]
    if pod_counts.failed > spec["backoffLimit"] or _is_past_backoff_limit(pod_counts):
        return _JobFailure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    left = seconds_to_deadline(pod_counts.job, pod_counts.status, now)
    if left is not None and left <= 0:
        return _JobFailure("DeadlineExceeded", "Job was active longer than specified deadline")
    return None


def _find_index_failure(pod_counts: JobPodCounts) -> _JobFailure | None:
    if not is_indexed(pod_counts.job) or not pod_counts.failed_indexes:
        return None
    failed_max = pod_counts.job["spec"].get("maxFailedIndexes")
    if failed_max is not None and len(pod_counts.failed_indexes) > failed_max:
        return _JobFailure(
            "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
        )
    if len(pod_counts.failed_indexes) + len(pod_counts.succeeded_indexes) >= completions_of(pod_counts.job):
        return _JobFailure("FailedIndexes", "Job has failed indexes")
    return None


def _is_past_backoff_limit(pod_counts: JobPodCounts) -> bool:
    spec = pod_counts.job["spec"]
    if spec["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(_count_restarts(pod) for pod in pod_counts.pods if phase_of(pod) in ("Running", "Pending"))
    return bool(restarts >= max(spec["backoffLimit"], 1))


def _count_restarts(pod: ReadOnlyObject) -> int:
    status = pod["status"]
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return sum(container.get("restartCount", 0) for container in containers)


def seconds_to_deadline(job: ReadOnlyObject, status: ReadOnlyObject, now: datetime) -> float | None:
    """Return how long a job may still be active; None without a deadline for now."""
    seconds, start = job["spec"].get("activeDeadlineSeconds"), status.get("startTime")
    if seconds is None or not start or is_suspended(job):
        return None
    return (add_seconds(parse_time(start), seconds) - now).total_seconds()


def is_complete(pod_counts: JobPodCounts) -> bool:
    """Return whether a job has enough successes and no active pods."""
    completions = pod_counts.job["spec"].get("completions")
    # Without completions any success ends a work queue job, once all its workers have finished.
    enough = pod_counts.succeeded > 0 if completions is None else pod_counts.succeeded >= completions
    return enough and pod_counts.active == 0


def completed_condition(rules: JobFeatures, now: datetime) -> Object:
    """Return the condition of a job that has reached its completions."""
    kind = SUCCESS if rules.delays_terminal_condition else "Complete"
    return new_condition(kind, "True", "CompletionsReached", "Reached expected number of succeeded pods", now)


@dataclass(slots=True)
class PodsToUntrack:
    """Pods to remove the tracking finalizer from, with the effects on the status."""

    pods: list[ReadOnlyObject] = field(default_factory=list)
    # The status changed and must be written before any finalizer is removed.
    changed: bool = False
    # Indexes that succeeded with these pods.
    indexes: list[int] = field(default_factory=list)
    # Actions of the failure policy for these pods.
    actions: list[str] = field(default_factory=list)
    # More pods have finished than fit into the uncounted pods of a status.
    partial: bool = False


def select_pods_to_untrack(pod_counts: JobPodCounts, end: ReadOnlyObject | None) -> PodsToUntrack:
    """Record finished pods in the status, and return those whose finalizer can be removed."""
    untrack = PodsToUntrack()
    for pod in _sort_by_index(pod_counts):
        if not pod_counts.is_pending(pod) or not _can_remove_finalizer(pod_counts, pod, end):
            continue
        untrack.pods.append(pod)
        if phase_of(pod) == "Succeeded" and not pod_counts.is_uncounted(pod, "failed"):
            _record_success(pod_counts, pod, untrack)
        # In a finished job every pod that did not succeed counts as failed, running ones too.
        elif pod_counts.is_failed(pod) or (end is not None and end["type"] != SUCCESS):
            _record_failure(pod_counts, pod, untrack)
        # The list of uids is bounded to keep the job's object small; the rest follows in the next sync.
        if (
            len(untrack.indexes)
            + len(pod_counts.uncounted_uids("succeeded"))
            + len(pod_counts.uncounted_uids("failed"))
            >= UNCOUNTED_MAX
        ):
            untrack.partial = True
            break
    if is_indexed(pod_counts.job):
        untrack.changed = _update_indexes(pod_counts) or untrack.changed
    return untrack


def _sort_by_index(pod_counts: JobPodCounts) -> Iterable[ReadOnlyObject]:
    if not is_indexed(pod_counts.job):
        return pod_counts.pods
    # Pods without an index come first, as upstream sorts them.
    unknown = -1
    return sorted(pod_counts.pods, key=lambda pod: unknown if (index := index_of(pod)) is None else index)


def _can_remove_finalizer(pod_counts: JobPodCounts, pod: ReadOnlyObject, end: ReadOnlyObject | None) -> bool:
    if has_deletion_timestamp(pod_counts.job) or end is not None or phase_of(pod) == "Succeeded":
        return True
    if not pod_counts.is_failed(pod):
        return False
    index = index_of(pod)
    # The last failed pod of an index carries the failure count for its replacement, so it must not disappear first.
    is_delayed = has_backoff_limit_per_index(pod_counts.job) and index in pod_counts.delayed_deletion_by_index
    return (
        not is_delayed or pod_counts.delayed_deletion_by_index[index or 0]["metadata"]["uid"] != pod["metadata"]["uid"]
    )


def _record_success(pod_counts: JobPodCounts, pod: ReadOnlyObject, untrack: PodsToUntrack) -> None:
    if not is_indexed(pod_counts.job):
        if not pod_counts.is_uncounted(pod, "succeeded"):
            pod_counts.uncounted_uids("succeeded").append(pod["metadata"]["uid"])
            untrack.changed = True
        return
    index = valid_index_of(pod, pod_counts.job)
    if index is not None and index not in pod_counts.prev_succeeded_indexes:
        untrack.indexes.append(index)
        untrack.changed = True


def _record_failure(pod_counts: JobPodCounts, pod: ReadOnlyObject, untrack: PodsToUntrack) -> None:
    if pod_counts.is_uncounted(pod, "failed") or not pod_counts.counts_for_job(pod):
        return
    policy_result = match_pod_failure_policy(pod_counts.job, pod)
    untrack.actions += [policy_result.action] if policy_result.action else []
    # A failure that the policy ignores lets the pod go without counting it.
    if policy_result.is_counted:
        pod_counts.uncounted_uids("failed").append(pod["metadata"]["uid"])
        untrack.changed = True


def _update_indexes(pod_counts: JobPodCounts) -> bool:
    status, completed = pod_counts.status, str(pod_counts.succeeded_indexes)
    failed = None if pod_counts.failed_indexes is None else str(pod_counts.failed_indexes)
    changed = completed != status.get("completedIndexes", "") or failed != status.get("failedIndexes")
    status.update(succeeded=len(pod_counts.succeeded_indexes), completedIndexes=completed, failedIndexes=failed)
    return changed


def add_interim_condition(pod_counts: JobPodCounts, end: ReadOnlyObject) -> bool:
    """Add an interim condition before pods are deleted for it; return whether it is new."""
    kind = end["type"]
    new = kind == FAILURE or (kind == SUCCESS and true_condition(pod_counts.status, SUCCESS) is None)
    if new:
        pod_counts.status["conditions"] = [*pod_counts.status["conditions"], end]
    return new


def final_condition(end: ReadOnlyObject, now: datetime) -> ReadOnlyObject:
    """Return the final condition that an interim one leads to."""
    kind = {SUCCESS: "Complete", FAILURE: "Failed"}.get(end["type"])
    return end if kind is None else new_condition(kind, "True", end.get("reason", ""), end.get("message", ""), now)


def enact_job_finished(pod_counts: JobPodCounts, end: ReadOnlyObject, now: datetime) -> bool:
    """Set the final condition once all pods are counted and gone; return whether it was set."""
    if pod_counts.uncounted_uids("succeeded") or pod_counts.uncounted_uids("failed"):
        return False
    # A finished job must not have running pods any more: others may start to use what they hold.
    if pod_counts.features.delays_terminal_condition and pod_counts.terminating > 0:
        return False
    set_condition(
        pod_counts.status, new_condition(end["type"], "True", end.get("reason", ""), end.get("message", ""), now)
    )
    if end["type"] == "Complete":
        pod_counts.status["completionTime"] = end["lastTransitionTime"]
    return True
