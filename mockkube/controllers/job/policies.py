"""Pod failure policy and success policy of jobs.

upstream 1.36: pkg/controller/job/pod_failure_policy.go, success_policy.go
"""

from collections.abc import Iterable

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import key_of
from mockkube.controllers.job.indexes import OrderedIntervals
from mockkube.controllers.job.job_properties import completions_of
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FailurePolicyResult:
    """Result of the pod failure policy for a failed pod."""

    # Action of the rule that matched; empty if none did.
    action: str = ""
    # Message of the job's failure, for action FailJob.
    message: str = ""

    @property
    def is_counted(self) -> bool:
        """True if the failure counts towards the limits."""
        return self.action != "Ignore"


def match_pod_failure_policy(job: ReadOnlyObject, pod: ReadOnlyObject) -> FailurePolicyResult:
    """Return the result of the first rule of the failure policy that matches a pod."""
    for index, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or ()):
        if (description := _match_rule(rule, pod)) is not None:
            message = f"{description} matching {rule['action']} rule at index {index}"
            return FailurePolicyResult(rule["action"], message if rule["action"] == "FailJob" else "")
    return FailurePolicyResult()


def _match_rule(rule: ReadOnlyObject, pod: ReadOnlyObject) -> str | None:
    """Return a description of what a rule matches in a pod; None if nothing."""
    status = pod.get("status") or {}
    if "onExitCodes" in rule:
        for name in ("containerStatuses", "initContainerStatuses"):
            if (found := _find_failed_container(rule["onExitCodes"], status.get(name) or ())) is not None:
                code = found["state"]["terminated"]["exitCode"]
                return f"Container {found['name']} for pod {key_of(pod)} failed with exit code {code}"
        return None
    for condition in status.get("conditions") or ():
        if any(_matches_condition(pattern, condition) for pattern in rule.get("onPodConditions") or ()):
            return f"Pod {key_of(pod)} has condition {condition['type']}"
    return None


def _matches_condition(pattern: ReadOnlyObject, condition: ReadOnlyObject) -> bool:
    return bool(pattern.get("type") == condition["type"] and pattern.get("status", "True") == condition.get("status"))


def _find_failed_container(codes: ReadOnlyObject, statuses: Iterable[ReadOnlyObject]) -> ReadOnlyObject | None:
    for status in statuses:
        terminated = (status.get("state") or {}).get("terminated")
        if terminated is None or codes.get("containerName", status["name"]) != status["name"]:
            continue
        code = terminated.get("exitCode", 0)
        # Exit code 0 never matches, not even operator NotIn: the container did not fail.
        if code != 0 and (code in codes.get("values", ())) == (codes.get("operator") == "In"):
            return status
    return None


def match_success_policy(job: ReadOnlyObject, succeeded: OrderedIntervals) -> int | None:
    """Return the index of the first rule of the success policy that is met."""
    rules = (job["spec"].get("successPolicy") or {}).get("rules") or ()
    return next((index for index, rule in enumerate(rules) if succeeded and _is_rule_met(rule, job, succeeded)), None)


def _is_rule_met(rule: ReadOnlyObject, job: ReadOnlyObject, succeeded: OrderedIntervals) -> bool:
    count = rule.get("succeededCount")
    if "succeededIndexes" not in rule:
        return count is not None and len(succeeded) >= count
    required = OrderedIntervals.parse(rule["succeededIndexes"], completions_of(job))
    shared = required.count_shared(succeeded)
    return bool(required) and (shared == len(required) or (count is not None and shared >= count))
