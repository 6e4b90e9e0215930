"""Printers for Jobs and CronJobs."""

from datetime import datetime

from mockkube.api.printers.ages import age, human_duration, parse_time, since
from mockkube.api.printers.labels import format_selector
from mockkube.api.printers.lists import containers
from mockkube.api.printers.reading import (
    elements,
    has_condition,
    is_deleting,
    name_of,
    number,
    section,
    string,
    value_at,
)
from mockkube.api.printers.table import (
    AGE,
    NAME,
    NONE,
    SELECTOR,
    UNSET,
    WORKLOAD,
    Cell,
    Printer,
    boolean_column,
    integer_column,
    text_column,
)
from mockkube.api.types import ReadOnlyObject


def job_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Job."""
    return [
        name_of(obj),
        _status(obj),
        _completions(obj),
        _duration(obj, now),
        age(obj, now),
        *containers(section(obj, "spec", "template")),
        format_selector(section(obj, "spec", "selector")),
    ]


def _status(obj: ReadOnlyObject) -> str:
    """Return the most important condition; deletion ranks above conditions that can still change."""
    if has_condition(obj, "Complete"):
        return "Complete"
    if has_condition(obj, "Failed"):
        return "Failed"
    if is_deleting(obj):
        return "Terminating"
    passing = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((kind for kind in passing if has_condition(obj, kind)), "Running")


def _completions(obj: ReadOnlyObject) -> str:
    succeeded = number(obj, "status", "succeeded")
    if value_at(obj, "spec", "completions") is not None:
        return f"{succeeded}/{number(obj, 'spec', 'completions')}"
    parallelism = number(obj, "spec", "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(obj: ReadOnlyObject, now: datetime) -> str:
    started = parse_time(string(obj, "status", "startTime"))
    if started is None:
        return ""
    ended = parse_time(string(obj, "status", "completionTime"))
    return human_duration((ended or now) - started)


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
        NONE if scheduled is None else since(str(scheduled), now),
        age(obj, now),
        *containers(section(job, "template")),
        format_selector(section(job, "selector")),
    ]


JOB = Printer(
    (
        NAME,
        text_column("Status", "What has become of the job."),
        text_column("Completions", "Pods that succeeded, of those it takes."),
        text_column("Duration", "How long the job took, or has been running."),
        AGE,
        *WORKLOAD,
        SELECTOR,
    ),
    job_cells,
)
CRON_JOB = Printer(
    (
        NAME,
        text_column("Schedule", "When jobs are started, as in a crontab."),
        text_column("Timezone", "Where the schedule's clock hangs."),
        boolean_column("Suspend", "Whether no further jobs are started."),
        integer_column("Active", "Jobs that run at present."),
        text_column("Last Schedule", "How long ago a job was last started."),
        AGE,
        *WORKLOAD,
        SELECTOR,
    ),
    cron_job_cells,
)
