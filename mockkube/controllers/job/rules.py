"""What a job asks for, and how jobs are treated at one version with one set of gates.

upstream 1.36: pkg/controller/job/job_controller.go
"""

from dataclasses import dataclass
from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.types import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

KIND: Final = "Job"
API_VERSION: Final = "batch/v1"
ITSELF: Final = "kubernetes.io/job-controller"
ENDS: Final = ("Complete", "Failed")
LIMITS_SECONDS: Final = 1.0
LIMITS_SECONDS_MAX: Final = 60.0
"""How long what failed waits to be tried again: at first, and after many times."""
_REPLACEMENT_FOR_ALL: Final = Version(1, 37)
"""Since then no gate is asked about podReplacementPolicy."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The gates of one component."""

    replacement_policy: bool
    """Pods on their way out are counted in the status, and may hold up those that replace them."""
    managed_by: bool
    """A job may be somebody else's."""
    resets_start: bool
    """A job that is suspended loses its start time."""

    @classmethod
    def of(cls, capabilities: Capabilities) -> "Rules":
        """Return the rules of a component."""
        replacement = capabilities.version >= _REPLACEMENT_FOR_ALL or capabilities.enabled("JobPodReplacementPolicy")
        resets = capabilities.enabled("MutableSchedulingDirectivesForSuspendedJobs")
        return cls(replacement, capabilities.enabled("JobManagedBy"), resets)

    @property
    def ends_late(self) -> bool:
        """Whether a job has ended only when none of its pods is left running."""
        return self.managed_by or self.replacement_policy

    def is_someone_elses(self, job: ReadOnlyObject) -> bool:
        """Whether another controller sees to a job."""
        return self.managed_by and job["spec"].get("managedBy", ITSELF) != ITSELF

    def replaces_terminated_only(self, job: ReadOnlyObject) -> bool:
        """Whether a pod is replaced, and counts as failed, only once it has terminated."""
        policy = job["spec"].get("podReplacementPolicy")
        return (self.replacement_policy and policy == "Failed") or "podFailurePolicy" in job["spec"]


def is_indexed(job: ReadOnlyObject) -> bool:
    """Whether each completion has a number."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def is_limited_per_index(job: ReadOnlyObject) -> bool:
    """Whether each index may fail so often by itself."""
    return "backoffLimitPerIndex" in job["spec"]


def completions_of(job: ReadOnlyObject) -> int:
    """Return how many completions an indexed job asks for."""
    completions: int = job["spec"].get("completions", 0)
    return completions


def is_suspended(job: ReadOnlyObject) -> bool:
    """Whether a job is to have no pods for now."""
    return bool(job["spec"].get("suspend"))


def end_of(job: ReadOnlyObject) -> str:
    """Return whether a job is Complete or Failed; empty while it is neither."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ENDS and condition["status"] == "True":
            kind: str = condition["type"]
            return kind
    return ""


def true_condition(status: ReadOnlyObject, kind: str) -> ReadOnlyObject | None:
    """Return the condition of a type if it is true."""
    condition = find_condition(status.get("conditions") or (), kind)
    return condition if condition is not None and condition.get("status") == "True" else None
