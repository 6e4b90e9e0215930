"""Validate updates of a job's status."""

from typing import Final

from mockkube.api.fields import FieldError, duplicate, invalid, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.batch.indexes import count_indexes, find_common_index
from mockkube.api.kinds.batch.job_spec import INDEXED
from mockkube.api.strategy import StrategyContext
from mockkube.api.times import parse_time
from mockkube.api.validation.conditions import is_condition_false, is_condition_true
from mockkube.api.validation.numbers import validate_nonnegative_fields

_CONDITIONS: Final = "status.conditions"


class _JobState:
    """Conditions and status of one state of a job, read once."""

    __slots__ = ("active", "complete", "failed", "failure_target", "spec", "status", "success_criteria_met")

    def __init__(self, obj: ReadOnlyObject) -> None:
        self.spec, self.status = obj["spec"], obj.get("status") or {}
        conditions = self.status.get("conditions")
        self.complete = is_condition_true(conditions, "Complete")
        self.failed = is_condition_true(conditions, "Failed")
        self.failure_target = is_condition_true(conditions, "FailureTarget")
        self.success_criteria_met = is_condition_true(conditions, "SuccessCriteriaMet")
        self.active = self.status.get("active", 0)

    @property
    def finished(self) -> bool:
        return self.complete or self.failed


def validate_job_status(new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    """Validate a change of the status."""
    # upstream 1.36: pkg/registry/batch/job/strategy.go, getStatusValidationOptions
    now, was = _JobState(new), _JobState(old)
    errors = validate_nonnegative_fields(now.status, "status", "active", "succeeded", "failed", "ready", "terminating")
    errors += _validate_uncounted_pods(now)
    # With JobManagedBy other controllers write the status, too, so transitions are checked that only the built-in
    # controller made before.
    strict = context.caps.enabled("JobManagedBy")
    if strict:
        errors += _validate_completion_time(now, was) + _validate_finished(now, was)
        errors += _validate_indexes(now, was) + _validate_pod_counts(now, was)
    # Since JobPodReplacementPolicy and JobManagedBy the controller sets SuccessCriteriaMet for every job, not only for
    # indexed jobs with a success policy.
    extended = strict or context.caps.enabled("JobPodReplacementPolicy") or was.success_criteria_met
    errors += _validate_success_criteria(now, extended=extended)
    if strict:
        errors += _validate_terminal_and_counters(now, was)
    if was.success_criteria_met and not now.success_criteria_met:
        errors.append(_condition_error("cannot disable the SuccessCriteriaMet=True condition"))
    if was.complete and not was.success_criteria_met and now.success_criteria_met:
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(_condition_error(detail))
    return errors


def _condition_error(detail: str) -> FieldError:
    return FieldError(_CONDITIONS, detail)


def _status_changed(now: _JobState, was: _JobState, *fields: str) -> bool:
    return any(now.status.get(name) != was.status.get(name) for name in fields)


def _validate_uncounted_pods(now: _JobState) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for kind in ("succeeded", "failed"):
        for index, uid in enumerate((now.status.get("uncountedTerminatedPods") or {}).get(kind) or []):
            at = f"status.uncountedTerminatedPods.{kind}[{index}]"
            if not uid:
                errors.append(invalid(at, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(at, uid))
            seen.add(uid)
    return errors


def _validate_completion_time(now: _JobState, was: _JobState) -> list[FieldError]:
    done, started = now.status.get("completionTime"), now.status.get("startTime")
    # Each rule is checked only if one of its inputs changed, so that a stored status that violates it stays writable.
    completing = now.complete != was.complete
    errors = []
    if (completing or now.failed != was.failed) and now.complete and now.failed:
        errors.append(_condition_error("cannot set Complete=True and Failed=true conditions"))
    if (completing or now.failure_target != was.failure_target) and now.complete and now.failure_target:
        errors.append(_condition_error("cannot set Complete=True and FailureTarget=true conditions"))
    if completing or _status_changed(now, was, "completionTime"):
        if done is not None and not now.complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid("status.completionTime", done, detail))
        if done is None and now.complete:
            errors.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    ordered = done is None or started is None or parse_time(done) >= parse_time(started)
    if _status_changed(now, was, "startTime", "completionTime") and not ordered:
        errors.append(invalid("status.completionTime", done, "must be equal to or after `startTime`"))
    return errors


def _validate_finished(now: _JobState, was: _JobState) -> list[FieldError]:
    ending = now.finished != was.finished
    errors = []
    if (
        (now.failed != was.failed or _status_changed(now, was, "failedIndexes"))
        and now.failed
        and not now.failure_target
    ):
        errors.append(_condition_error("cannot set Failed=True condition without the FailureTarget=true condition"))
    completing = now.complete != was.complete or now.success_criteria_met != was.success_criteria_met
    if completing and now.complete and not now.success_criteria_met:
        errors.append(
            _condition_error("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
        )
    if (ending or _status_changed(now, was, "active")) and now.active > 0 and now.finished:
        errors.append(invalid("status.active", now.active, "active>0 is invalid for finished job"))
    # A suspended job with nothing to complete finishes without ever having started.
    nothing_to_do = now.spec.get("suspend") is True and now.spec.get("completions") == 0
    starting = (ending or _status_changed(now, was, "startTime")) and not nothing_to_do
    if starting and now.finished and "startTime" not in now.status:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    uncounted = now.status.get("uncountedTerminatedPods") or {}
    if (ending or _status_changed(now, was, "uncountedTerminatedPods")) and now.finished and any(uncounted.values()):
        shown = {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
        errors.append(invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job"))
    return errors


def _validate_indexes(now: _JobState, was: _JobState) -> list[FieldError]:
    done, lost = now.status.get("completedIndexes", ""), now.status.get("failedIndexes")
    completions, per_index = now.spec.get("completions"), now.spec.get("backoffLimitPerIndex") is not None
    progressed, regressed = _status_changed(now, was, "completedIndexes"), _status_changed(now, was, "failedIndexes")
    errors: list[FieldError] = []
    if progressed and completions is not None:
        errors += _validate_index_format("completedIndexes", done, completions)
    if regressed and completions is not None and per_index and lost is not None:
        errors += _validate_index_format("failedIndexes", lost, completions)
    if progressed and done and now.spec.get("completionMode") != INDEXED:
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid("status.completedIndexes", done, detail))
    if regressed and not per_index and lost is not None:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid("status.failedIndexes", lost, detail))
    if (progressed or regressed) and completions is not None and lost is not None:
        common = find_common_index(done, lost, completions)
        if common is not None:
            detail = f"failedIndexes and completedIndexes overlap at index: {common}"
            errors.append(invalid("status.failedIndexes", lost, detail))
    return errors


def _validate_index_format(name: str, text: str, completions: int) -> list[FieldError]:
    try:
        count_indexes(text, completions)
    except ValueError as error:
        return [invalid(f"status.{name}", text, f"error parsing {name}: {error}")]
    return []


def _validate_pod_counts(now: _JobState, was: _JobState) -> list[FieldError]:
    terminating, ready = now.status.get("terminating") or 0, now.status.get("ready")
    ending = now.finished != was.finished or _status_changed(now, was, "terminating")
    errors = []
    if ending and terminating > 0 and now.finished:
        errors.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    if _status_changed(now, was, "ready", "active") and ready is not None and ready > now.active:
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return errors


def _validate_success_criteria(now: _JobState, *, extended: bool) -> list[FieldError]:
    policy, indexed = now.spec.get("successPolicy"), now.spec.get("completionMode") == INDEXED
    details = []
    if now.success_criteria_met:
        if not extended and not indexed:
            details.append("cannot set SuccessCriteriaMet to NonIndexed Job")
        if now.failed:
            details.append("cannot set SuccessCriteriaMet=True and Failed=true conditions")
        if now.failure_target:
            details.append("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
        if not extended and policy is None:
            details.append("cannot set SuccessCriteriaMet=True for Job without SuccessPolicy")
    elif policy is not None and now.complete:
        details.append("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
    return [_condition_error(detail) for detail in details]


def _validate_terminal_and_counters(now: _JobState, was: _JobState) -> list[FieldError]:
    ended = (
        ("Failed", was.failed, now.failed),
        ("Complete", was.complete, now.complete),
        ("FailureTarget", was.failure_target, now.failure_target),
    )
    errors = [
        _condition_error(f"cannot disable the terminal {name}=True condition") for name, had, has in ended if had > has
    ]
    spec = now.spec
    # Scaling an elastic indexed job down removes completed indexes, which lowers `succeeded`.
    elastic = spec.get("completionMode") == INDEXED and spec.get("completions") == spec.get("parallelism")
    counters = ("failed",) if elastic else ("failed", "succeeded")
    fallen = ((name, now.status.get(name, 0)) for name in counters if now.status.get(name, 0) < was.status.get(name, 0))
    errors += [invalid(f"status.{name}", count, f"cannot decrease the {name} counter") for name, count in fallen]
    done, before = now.status.get("completionTime"), was.status.get("completionTime")
    if done is not None and before is not None and done != before:
        errors.append(invalid("status.completionTime", done, "field is immutable"))
    # The controller resets startTime when a suspended job resumes.
    resuming = is_condition_true(was.status.get("conditions"), "Suspended") and is_condition_false(
        now.status.get("conditions"), "Suspended"
    )
    restarted = "startTime" in was.status and _status_changed(now, was, "startTime") and not resuming
    if restarted and not spec.get("suspend"):
        detail = "field is immutable for unsuspended job once set"
        errors.append(invalid("status.startTime", now.status.get("startTime"), detail))
    return errors
