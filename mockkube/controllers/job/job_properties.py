"""Properties of jobs, and the job features of one version and set of gates.

upstream 1.36: pkg/controller/job/job_controller.go
"""

from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

KIND: Final = "Job"
API_VERSION: Final = "batch/v1"
JOB_CONTROLLER_NAME: Final = "kubernetes.io/job-controller"
FINISHED_CONDITIONS: Final = ("Complete", "Failed")
BACKOFF_SECONDS: Final = 1.0
# Backoff of failed syncs: 1 s at first, 1 minute at most.
BACKOFF_SECONDS_MAX: Final = 60.0
# The gate of podReplacementPolicy is locked from this version on.
_REPLACEMENT_POLICY_LOCKED: Final = Version(1, 37)


@dataclass(frozen=True, slots=True)
class JobFeatures:
    """Job features of one component."""

    # Terminating pods are counted in the status, and may delay their replacements.
    replacement_policy: bool
    # Another controller may manage a job.
    managed_by: bool
    # Suspending a job clears its start time.
    clears_start_time: bool

    @classmethod
    def from_capabilities(cls, capabilities: Capabilities) -> "JobFeatures":
        """Return the features that a component's capabilities enable."""
        replacement = capabilities.version >= _REPLACEMENT_POLICY_LOCKED or capabilities.enabled(
            "JobPodReplacementPolicy"
        )
        resets = capabilities.enabled("MutableSchedulingDirectivesForSuspendedJobs")
        return cls(replacement, capabilities.enabled("JobManagedBy"), resets)

    @property
    def delays_terminal_condition(self) -> bool:
        """True if jobs finish only once none of their pods is running (upstream: delayTerminalCondition)."""
        return self.managed_by or self.replacement_policy

    def is_managed_externally(self, job: ReadOnlyObject) -> bool:
        """Return whether another controller manages a job."""
        return self.managed_by and job["spec"].get("managedBy", JOB_CONTROLLER_NAME) != JOB_CONTROLLER_NAME

    def only_replaces_failed_pods(self, job: ReadOnlyObject) -> bool:
        """Return whether pods are replaced, and count as failed, only after they have terminated."""
        # A failure policy needs the final state of the pod, so it implies the same behavior.
        policy = job["spec"].get("podReplacementPolicy")
        return (self.replacement_policy and policy == "Failed") or "podFailurePolicy" in job["spec"]


def is_indexed(job: ReadOnlyObject) -> bool:
    """Return whether each completion of a job has an index."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def has_backoff_limit_per_index(job: ReadOnlyObject) -> bool:
    """Return whether a job limits failures per index."""
    return "backoffLimitPerIndex" in job["spec"]


def completions_of(job: ReadOnlyObject) -> int:
    """Return the completions of an indexed job."""
    completions: int = job["spec"].get("completions", 0)
    return completions


def is_suspended(job: ReadOnlyObject) -> bool:
    """Return whether a job is suspended."""
    return bool(job["spec"].get("suspend"))


def finished_type(job: ReadOnlyObject) -> str:
    """Return `Complete` or `Failed` for a finished job, else an empty string."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in FINISHED_CONDITIONS and condition["status"] == "True":
            kind: str = condition["type"]
            return kind
    return ""


def true_condition(status: ReadOnlyObject, kind: str) -> ReadOnlyObject | None:
    """Return the condition of a type if its status is True."""
    condition = find_condition(status.get("conditions") or (), kind)
    return condition if condition is not None and condition.get("status") == "True" else None
