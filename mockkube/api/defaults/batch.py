"""Defaults of Jobs and CronJobs."""

from typing import Final

from mockkube.api.defaults.pod_specs import default_template
from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

# upstream 1.36: pkg/apis/batch/v1/defaults.go

_ENDLESS: Final = 2**31 - 1
_REPLACEMENT_FOR_ALL: Final = Version(1, 37)
"""First version without a gate for podReplacementPolicy."""


def default_job(job: Object, caps: Capabilities) -> None:
    """Default to one completion and a backoff limit of six."""
    spec = job.setdefault("spec", {})
    if "parallelism" not in spec:
        spec["parallelism"] = 1
        spec.setdefault("completions", 1)
    spec.setdefault("backoffLimit", _ENDLESS if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    if caps.version >= _REPLACEMENT_FOR_ALL or caps.enabled("JobPodReplacementPolicy"):
        spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    template = spec.setdefault("template", {})
    labels = template.get("metadata", {}).get("labels")
    if labels:
        # one map, as upstream: the labels that the strategy adds to the pods are those of the job too
        job["metadata"].setdefault("labels", labels)
    default_failure_policy(spec)
    default_template(template, caps)


def default_cron_job(cron_job: Object, caps: Capabilities) -> None:
    """Allow concurrent jobs; the defaults of the jobs themselves apply when they are created."""
    spec = cron_job.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    job = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
    default_failure_policy(job)
    default_template(job.setdefault("template", {}), caps)


def default_failure_policy(spec: Object) -> None:
    """Default the status of onPodConditions patterns to True."""
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"
