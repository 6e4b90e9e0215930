"""CronJob: strategy, defaults, validation and printer columns."""

import re
from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.apps.pod_owners import PodTemplateOwnerStrategy, TemplateValidator, name_warnings
from mockkube.api.kinds.batch.cron_schedule import find_schedule_error, is_time_zone
from mockkube.api.kinds.batch.job_spec import default_failure_policy, job_spec_warnings, validate_job_spec
from mockkube.api.kinds.core.pod.defaults import default_template
from mockkube.api.kinds.core.pod.template import drop_disabled_template_fields
from mockkube.api.printers.accessors import elements, name_of, section, string, value_at
from mockkube.api.printers.ages import format_age, format_time_since
from mockkube.api.printers.labels import format_selector
from mockkube.api.printers.lists import container_cells
from mockkube.api.printers.table import (
    AGE_COLUMN,
    NAME_COLUMN,
    NONE,
    SELECTOR_COLUMN,
    UNSET,
    WORKLOAD_COLUMNS,
    Cell,
    Printer,
    boolean_column,
    integer_column,
    text_column,
)
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.formats import validate_required_one_of
from mockkube.api.validation.internal_form import order_selector
from mockkube.api.validation.numbers import validate_nonnegative_fields
from mockkube.features.capabilities import Capabilities


def default_cron_job(cron_job: Object, caps: Capabilities) -> None:
    """Default a CronJob; the jobs themselves are defaulted when they are created."""
    spec = cron_job.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    job = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
    default_failure_policy(job)
    default_template(job.setdefault("template", {}), caps)


# The controller appends 11 characters, a dash and the time in minutes, to name a job of at most 63 characters.
JOB_NAME_LENGTH_MAX: Final = 52
_POLICIES: Final = ("Allow", "Forbid", "Replace")
_ZONE_SEGMENT: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_TEMPLATE: Final = "spec.jobTemplate.spec"


class CronJobStrategy(PodTemplateOwnerStrategy):
    """Strategy of CronJob."""

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status and drop fields of disabled gates."""
        super().prepare_for_create(obj, context)
        drop_disabled_template_fields(_pod_template(obj), None, context.caps)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status and drop fields of disabled gates."""
        if context.subresource != "status":
            drop_disabled_template_fields(_pod_template(new), _pod_template(old), context.caps)
        super().prepare_for_update(new, old, context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate schedule, job template and the length of the name."""
        errors = _validate_spec(obj["spec"], None, self.template_validator(context))
        name = obj["metadata"].get("name", "")
        if len(name) > JOB_NAME_LENGTH_MAX:
            errors.append(invalid("metadata.name", name, f"must be no more than {JOB_NAME_LENGTH_MAX} characters"))
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate schedule and job template; the status is not validated."""
        return (
            []
            if context.subresource == "status"
            else _validate_spec(new["spec"], old["spec"], self.template_validator(context))
        )

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the name and the job template."""
        return name_warnings(obj) + job_spec_warnings(_job_spec(obj), _TEMPLATE, context)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about a changed job template and about a time zone in the schedule."""
        if context.subresource == "status":
            return []
        changed = new["metadata"].get("generation") != old["metadata"].get("generation")
        warnings = job_spec_warnings(_job_spec(new), _TEMPLATE, context) if changed else []
        if "TZ" in new["spec"].get("schedule", ""):
            page = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
            # `spec.spec` is upstream's text.
            text = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see"
            warnings.append(f"{text} {page} for more details")
        return warnings


def _job_spec(obj: ReadOnlyObject) -> Object:
    return (obj["spec"].get("jobTemplate") or {}).get("spec") or {}


def _pod_template(obj: ReadOnlyObject) -> Object:
    return _job_spec(obj).get("template") or {}


def _validate_spec(
    spec: ReadOnlyObject, before: ReadOnlyObject | None, validator: TemplateValidator
) -> list[FieldError]:
    errors = _validate_schedule(spec, before) + validate_nonnegative_fields(spec, "spec", "startingDeadlineSeconds")
    zone = spec.get("timeZone")
    # An unchanged time zone is not looked up again: the zone database of this server may be older than the one that
    # accepted it.
    if zone is not None and (before is None or before.get("timeZone") != zone):
        errors += _validate_zone(zone)
    errors += validate_required_one_of(spec.get("concurrencyPolicy"), "spec.concurrencyPolicy", _POLICIES)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    old = ((before.get("jobTemplate") or {}).get("spec") or {}) if before is not None else None
    errors += validate_job_spec(job, old, _TEMPLATE, validator)
    if job.get("selector") is not None:
        detail = "`selector` will be auto-generated"
        errors.append(invalid(f"{_TEMPLATE}.selector", order_selector(job["selector"]), detail))
    if job.get("manualSelector"):
        errors.append(not_supported(f"{_TEMPLATE}.manualSelector", True, ("nil", "false")))
    return errors + validate_nonnegative_fields(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _validate_schedule(spec: ReadOnlyObject, before: ReadOnlyObject | None) -> list[FieldError]:
    schedule, at = spec.get("schedule", ""), "spec.schedule"
    if not schedule:
        return [required(at)]
    message = find_schedule_error(schedule)
    errors = [invalid(at, schedule, message)] if message else []
    # Older servers accepted TZ in a schedule, so a stored schedule may keep it.
    if "TZ" not in schedule:
        return errors
    if before is None or "TZ" not in before.get("schedule", ""):
        errors.append(invalid(at, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
    elif spec.get("timeZone") is not None:
        errors.append(invalid(at, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
    return errors


def _validate_zone(zone: str) -> list[FieldError]:
    at = "spec.timeZone"
    if not zone:
        return [invalid(at, zone, "timeZone must be nil or non-empty string")]
    unknown = invalid(at, zone, f"unknown time zone {zone}")
    # The zone is looked up as a file, so path tricks are rejected first.
    if any(part in (".", "..") or part[:1] == "-" or not _ZONE_SEGMENT.fullmatch(part) for part in zone.split("/")):
        return [unknown]
    errors = []
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(at, zone, detail))
    return errors if is_time_zone(zone) else [*errors, unknown]


def cron_job_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a CronJob."""
    suspend = value_at(obj, "spec", "suspend")
    scheduled = value_at(obj, "status", "lastScheduleTime")
    job = section(obj, "spec", "jobTemplate", "spec")
    return [
        name_of(obj),
        string(obj, "spec", "schedule"),
        string(obj, "spec", "timeZone", missing=NONE),
        UNSET if suspend is None else str(bool(suspend)),
        len(elements(obj, "status", "active")),
        NONE if scheduled is None else format_time_since(str(scheduled), now),
        format_age(obj, now),
        *container_cells(section(job, "template")),
        format_selector(section(job, "selector")),
    ]


CRON_JOB = Printer(
    (
        NAME_COLUMN,
        text_column("Schedule", "Schedule of the jobs in cron format."),
        text_column("Timezone", "Time zone of the schedule."),
        boolean_column("Suspend", "Whether no further jobs are started."),
        integer_column("Active", "Number of running jobs."),
        text_column("Last Schedule", "Time since a job was last started."),
        AGE_COLUMN,
        *WORKLOAD_COLUMNS,
        SELECTOR_COLUMN,
    ),
    cron_job_cells,
)

KIND: Final = Kind(
    "batch",
    "CronJob",
    "cronjobs",
    short_names=("cj",),
    categories=("all",),
    subresources=(STATUS,),
    pod_spec=("spec", "jobTemplate", "spec", "template", "spec"),
    strategy=lambda dependencies: CronJobStrategy(dependencies.extensions),
    defaults={"v1": default_cron_job},
    printer=CRON_JOB,
)
