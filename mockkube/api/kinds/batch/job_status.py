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
    new_state, old_state = _JobState(new), _JobState(old)
    errors = validate_nonnegative_fields(
        new_state.status, "status", "active", "succeeded", "failed", "ready", "terminating"
    )
    errors += _validate_uncounted_pods(new_state)
    # With JobManagedBy other controllers write the status, too, so transitions are checked that only the built-in
    # controller made before.
    strict = context.caps.enabled("JobManagedBy")
    if strict:
        errors += _validate_completion_time(new_state, old_state) + _validate_finished(new_state, old_state)
        errors += _validate_indexes(new_state, old_state) + _validate_pod_counts(new_state, old_state)
    # Since JobPodReplacementPolicy and JobManagedBy the controller sets SuccessCriteriaMet for every job, not only for
    # indexed jobs with a success policy.
    extended = strict or context.caps.enabled("JobPodReplacementPolicy") or old_state.success_criteria_met
    errors += _validate_success_criteria(new_state, extended=extended)
    if strict:
        errors += _validate_terminal_and_counters(new_state, old_state)
    if old_state.success_criteria_met and not new_state.success_criteria_met:
        errors.append(_condition_error("cannot disable the SuccessCriteriaMet=True condition"))
    if old_state.complete and not old_state.success_criteria_met and new_state.success_criteria_met:
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(_condition_error(detail))
    return errors


def _condition_error(detail: str) -> FieldError:
    return FieldError(_CONDITIONS, detail)


def _status_changed(new: _JobState, old: _JobState, *fields: str) -> bool:
    return any(new.status.get(name) != old.status.get(name) for name in fields)


def _validate_uncounted_pods(new: _JobState) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for kind in ("succeeded", "failed"):
        for index, uid in enumerate((new.status.get("uncountedTerminatedPods") or {}).get(kind) or []):
            at = f"status.uncountedTerminatedPods.{kind}[{index}]"
            if not uid:
                errors.append(invalid(at, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(at, uid))
            seen.add(uid)
    return errors


def _validate_completion_time(new: _JobState, old: _JobState) -> list[FieldError]:
    done, started = new.status.get("completionTime"), new.status.get("startTime")
    # Each rule is checked only if one of its inputs changed, so that a stored status that violates it stays writable.
    completing = new.complete != old.complete
    errors = []
    if (completing or new.failed != old.failed) and new.complete and new.failed:
        errors.append(_condition_error("cannot set Complete=True and Failed=true conditions"))
    if (completing or new.failure_target != old.failure_target) and new.complete and new.failure_target:
        errors.append(_condition_error("cannot set Complete=True and FailureTarget=true conditions"))
    if completing or _status_changed(new, old, "completionTime"):
        if done is not None and not new.complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid("status.completionTime", done, detail))
        if done is None and new.complete:
            errors.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    ordered = done is None or started is None or parse_time(done) >= parse_time(started)
    if _status_changed(new, old, "startTime", "completionTime") and not ordered:
        errors.append(invalid("status.completionTime", done, "must be equal to or after `startTime`"))
    return errors


def _validate_finished(new: _JobState, old: _JobState) -> list[FieldError]:
    ending = new.finished != old.finished
    errors = []
    if (
        (new.failed != old.failed or _status_changed(new, old, "failedIndexes"))
        and new.failed
        and not new.failure_target
    ):
        errors.append(_condition_error("cannot set Failed=True condition without the FailureTarget=true condition"))
    completing = new.complete != old.complete or new.success_criteria_met != old.success_criteria_met
    if completing and new.complete and not new.success_criteria_met:
        errors.append(
            _condition_error("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
        )
    if (ending or _status_changed(new, old, "active")) and new.active > 0 and new.finished:
        errors.append(invalid("status.active", new.active, "active>0 is invalid for finished job"))
    # A suspended job with nothing to complete finishes without ever having started.
    nothing_to_do = new.spec.get("suspend") is True and new.spec.get("completions") == 0
    starting = (ending or _status_changed(new, old, "startTime")) and not nothing_to_do
    if starting and new.finished and "startTime" not in new.status:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    uncounted = new.status.get("uncountedTerminatedPods") or {}
    if (ending or _status_changed(new, old, "uncountedTerminatedPods")) and new.finished and any(uncounted.values()):
        shown = {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
        errors.append(invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job"))
    return errors


def _validate_indexes(new: _JobState, old: _JobState) -> list[FieldError]:
    done, lost = new.status.get("completedIndexes", ""), new.status.get("failedIndexes")
    completions, per_index = new.spec.get("completions"), new.spec.get("backoffLimitPerIndex") is not None
    progressed, regressed = _status_changed(new, old, "completedIndexes"), _status_changed(new, old, "failedIndexes")
    errors: list[FieldError] = []
    if progressed and completions is not None:
        errors += _validate_index_format("completedIndexes", done, completions)
    if regressed and completions is not None and per_index and lost is not None:
        errors += _validate_index_format("failedIndexes", lost, completions)
    if progressed and done and new.spec.get("completionMode") != INDEXED:
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


def _validate_pod_counts(new: _JobState, old: _JobState) -> list[FieldError]:
    terminating, ready = new.status.get("terminating") or 0, new.status.get("ready")
    ending = new.finished != old.finished or _status_changed(new, old, "terminating")
    errors = []
    if ending and terminating > 0 and new.finished:
        errors.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    if _status_changed(new, old, "ready", "active") and ready is not None and ready > new.active:
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return errors


def _validate_success_criteria(new: _JobState, *, extended: bool) -> list[FieldError]:
    policy, indexed = new.spec.get("successPolicy"), new.spec.get("completionMode") == INDEXED
    details = []
    if new.success_criteria_met:
        if not extended and not indexed:
            details.append("cannot set SuccessCriteriaMet to NonIndexed Job")
        if new.failed:
            details.append("cannot set SuccessCriteriaMet=True and Failed=true conditions")
        if new.failure_target:
            details.append("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
        if not extended and policy is None:
            details.append("cannot set SuccessCriteriaMet=True for Job without SuccessPolicy")
    elif policy is not None and new.complete:
        details.append("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
    return [_condition_error(detail) for detail in details]


def _validate_terminal_and_counters(new: _JobState, old: _JobState) -> list[FieldError]:
    ended = (
        ("Failed", old.failed, new.failed),
        ("Complete", old.complete, new.complete),
        ("FailureTarget", old.failure_target, new.failure_target),
    )
    errors = [
        _condition_error(f"cannot disable the terminal {name}=True condition") for name, had, has in ended if had > has
    ]
    spec = new.spec
    # Scaling an elastic indexed job down removes completed indexes, which lowers `succeeded`.
    elastic = spec.get("completionMode") == INDEXED and spec.get("completions") == spec.get("parallelism")
    counters = ("failed",) if elastic else ("failed", "succeeded")
    fallen = ((name, new.status.get(name, 0)) for name in counters if new.status.get(name, 0) < old.status.get(name, 0))
    errors += [invalid(f"status.{name}", count, f"cannot decrease the {name} counter") for name, count in fallen]
    done, before = new.status.get("completionTime"), old.status.get("completionTime")
    if done is not None and before is not None and done != before:
        errors.append(invalid("status.completionTime", done, "field is immutable"))
    # The controller resets startTime when a suspended job resumes.
    resuming = is_condition_true(old.status.get("conditions"), "Suspended") and is_condition_false(
        new.status.get("conditions"), "Suspended"
    )
    restarted = "startTime" in old.status and _status_changed(new, old, "startTime") and not resuming
    if restarted and not spec.get("suspend"):
        detail = "field is immutable for unsuspended job once set"
        errors.append(invalid("status.startTime", new.status.get("startTime"), detail))
    return errors
