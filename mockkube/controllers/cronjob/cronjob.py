"""cronjob-controller: creates jobs on a schedule.

upstream 1.36: pkg/controller/cronjob
"""

from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar, Final

from prometheus_client import Histogram

from mockkube.api.errors import AlreadyExists, ApiError, NotFound
from mockkube.api.fields import quote
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.batch.cron_schedule import is_time_zone
from mockkube.api.times import add_seconds, parse_time, render_time
from mockkube.client.events import NORMAL, WARNING, reference_to
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import DeleteOptions, Key, Propagation, WatchEventType, key_of
from mockkube.controllers.cronjob.missed_times import (
    MissedSchedules,
    ScheduleNeverFires,
    find_missed_schedules,
    seconds_to_next_schedule,
)
from mockkube.controllers.cronjob.schedule import Schedule, ScheduleParseError, load_time_zone, parse_schedule
from mockkube.controllers.framework import controller_ref_manager
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.owner_index import resolve_controller_ref
from mockkube.controllers.job.job_properties import finished_type
from mockkube.controllers.pods.pod_control import is_namespace_terminating
from mockkube.lazy_dataclasses import dataclass

KIND: Final = "CronJob"
API_VERSION: Final = "batch/v1"
SCHEDULED_ANNOTATION: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_LIMITS: Final = (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit"))
_UNSUPPORTED: Final = (
    "CRON_TZ or TZ used in schedule {} is not officially supported, see"
    " https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)
_TOO_MANY: Final = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"


def job_name(cron_job: ReadOnlyObject, moment: datetime) -> str:
    """Return the name of the job for a scheduled time, which contains the minute."""
    # The name makes creation idempotent: a second attempt for the same time ends in AlreadyExists.
    return f"{cron_job['metadata']['name']}-{int(moment.timestamp()) // 60}"


def new_job(cron_job: ReadOnlyObject, moment: datetime) -> Object:
    """Return the job for a scheduled time."""
    template, metadata = cron_job["spec"]["jobTemplate"], cron_job["metadata"]
    given = template.get("metadata") or {}
    local = moment.astimezone(load_time_zone(cron_job["spec"].get("timeZone", "")))
    stamp = local.isoformat(timespec="seconds").replace("+00:00", "Z")
    return {
        "apiVersion": API_VERSION,
        "kind": "Job",
        "metadata": {
            "name": job_name(cron_job, moment),
            "namespace": metadata["namespace"],
            "labels": dict(given.get("labels") or {}),
            "annotations": {**(given.get("annotations") or {}), SCHEDULED_ANNOTATION: stamp},
            "ownerReferences": [controller_ref_manager.new_controller_ref(cron_job, API_VERSION, KIND)],
        },
        "spec": template["spec"],
    }


def format_schedule(cron_job: ReadOnlyObject) -> str:
    """Return the schedule, with its time zone in front if that is valid."""
    spec = cron_job["spec"]
    zone, text = spec.get("timeZone"), spec.get("schedule", "")
    if "TZ" in text or zone is None or not is_time_zone(zone):
        return str(text)
    return f"TZ={zone} {text}"


@dataclass(slots=True)
class CronJobSync:
    """One reconciliation of a cron job, with the status that results from it."""

    cron_job: ReadOnlyObject
    jobs: list[ReadOnlyObject]
    status: Object
    changed: bool = False

    @property
    def active(self) -> list[Object]:
        """References to jobs that were started and have not been observed to finish."""
        references: list[Object] = self.status.setdefault("active", [])
        return references

    def is_active(self, uid: str) -> bool:
        """Return whether a job is in the active list."""
        return any(reference.get("uid") == uid for reference in self.active)

    def remove_active(self, uid: str) -> None:
        """Remove a job from the active list."""
        self.status["active"] = [reference for reference in self.active if reference.get("uid") != uid]
        self.changed = True

    def record_success(self, moment: str) -> None:
        """Record when a job succeeded, unless a later success is known."""
        last = self.status.get("lastSuccessfulTime")
        if last is None or parse_time(moment) > parse_time(last):
            self.status["lastSuccessfulTime"] = moment
            self.changed = True


class CronJobController(Controller):
    """Controller of CronJobs; keys are CronJobs."""

    name: ClassVar[str] = "cronjob-controller"
    queue_name: ClassVar[str] = "cronjob"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.cron_jobs = self.watched_informer(KIND, self._on_cron_job_change)
        self.jobs = self.watched_informer("Job", self._on_job_change)
        self._by_owner = self.jobs.index("name of controller", _index_by_controller_name)
        self._skew = Histogram(
            "cronjob_controller_job_creation_skew_duration_seconds",
            "Time between when a cronjob is scheduled to be run, and when the corresponding job is created",
            buckets=tuple(float(2**power) for power in range(10)),
            registry=dependencies.metrics,
        )

    def _on_cron_job_change(self, change: ObjectChange) -> None:
        cron_job, key = change.object, key_of(change.object)
        if change.type is not WatchEventType.MODIFIED or change.old is None or _has_same_schedule(cron_job, change.old):
            self.work_queue.add(key)
            return
        # As upstream, a new schedule is applied at its next time instead of being checked for times missed under the
        # old one.
        try:
            schedule = parse_schedule(format_schedule(cron_job))
        except ScheduleParseError:
            text = f"unparseable schedule for cronjob: {cron_job['spec'].get('schedule', '')}"
            self.events.record(cron_job, WARNING, "UnParseableCronJobSchedule", text)
            return
        self.work_queue.add_after(key, seconds_to_next_schedule(cron_job, schedule, self.clock.now()))

    def _on_job_change(self, change: ObjectChange) -> None:
        # A job that changed its controller concerns both.
        for job in (change.object, change.old):
            if job is not None and (cron_job := resolve_controller_ref(self.cron_jobs, KIND, job)) is not None:
                self.work_queue.add(key_of(cron_job))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Clean up finished jobs, update the active list, and start a job if one is due."""
        cron_job = self.cron_jobs.get(key)
        if cron_job is None:
            return DONE
        status = dict(cron_job.get("status") or {})
        sync = CronJobSync(
            cron_job, self._by_owner.get(str(key)), {**status, "active": list(status.get("active") or ())}
        )
        await self._cleanup_finished_jobs(sync)
        seconds, error = None, None
        try:
            seconds = await self._sync(sync)
        except ApiError as failure:
            error = failure
        # Written even after an error: jobs that were started or deleted before it must be recorded.
        if sync.changed:
            await self.client.update(KIND, {**sync.cron_job, "status": sync.status}, subresource="status")
        if error is not None:
            raise error
        return DONE if seconds is None else Requeue(after=seconds)

    async def _cleanup_finished_jobs(self, sync: CronJobSync) -> None:
        """Delete the oldest finished jobs beyond the history limits."""
        for end, limit in _LIMITS:
            history_max = sync.cron_job["spec"].get(limit)
            ended = sorted((job for job in sync.jobs if finished_type(job) == end), key=_start_order)
            for job in ended[: max(len(ended) - history_max, 0)] if history_max is not None else ():
                await self._delete_job(sync, job)

    async def _delete_job(self, sync: CronJobSync, job: ReadOnlyObject) -> bool:
        try:
            await self.client.delete("Job", key_of(job), DeleteOptions(propagation=Propagation.BACKGROUND))
        except ApiError as error:
            self.events.record(sync.cron_job, WARNING, "FailedDelete", f"Deleted job: {error.message}")
            return False
        sync.remove_active(job["metadata"]["uid"])
        self.events.record(sync.cron_job, NORMAL, "SuccessfulDelete", f"Deleted job {job['metadata']['name']}")
        return True

    async def _sync(self, sync: CronJobSync) -> float | None:
        """Return how long until the next start; None if there is nothing to wait for."""
        await self._process_finished_jobs(sync)
        await self._remove_missing_jobs(sync)
        cron_job, now = sync.cron_job, self.clock.now()
        if (
            controller_ref_manager.has_deletion_timestamp(cron_job)
            or not self._has_valid_time_zone(cron_job)
            or cron_job["spec"].get("suspend")
        ):
            return None
        schedule = self._parse_schedule(cron_job)
        missed_times = None if schedule is None else self._find_missed_schedules(cron_job, schedule, now)
        if schedule is None or missed_times is None:
            return None
        if missed_times.latest is not None and not await self._start_if_allowed(sync, missed_times.latest, now):
            return None
        return seconds_to_next_schedule({**cron_job, "status": sync.status}, schedule, now)

    async def _process_finished_jobs(self, sync: CronJobSync) -> None:
        for job in sync.jobs:
            uid, name, end = job["metadata"]["uid"], job["metadata"]["name"], finished_type(job)
            if not end and not sync.is_active(uid):
                # The informer may lag behind the status that the last reconciliation wrote, so the stored one decides.
                fresh = await self.client.get(KIND, key_of(sync.cron_job))
                listed = (fresh.get("status") or {}).get("active") or ()
                if any(reference.get("uid") == uid for reference in listed):
                    sync.cron_job, sync.status = fresh, {**fresh["status"], "active": list(listed)}
                    continue
                text = f"Saw a job that the controller did not create or forgot: {name}"
                self.events.record(sync.cron_job, WARNING, "UnexpectedJob", text)
            elif end:
                if sync.is_active(uid):
                    sync.remove_active(uid)
                    text = f"Saw completed job: {name}, condition: {end}"
                    self.events.record(sync.cron_job, NORMAL, "SawCompletedJob", text)
                if end == "Complete" and (moment := job["status"].get("completionTime")):
                    sync.record_success(moment)

    async def _remove_missing_jobs(self, sync: CronJobSync) -> None:
        """Remove jobs from the active list that do not exist on the server."""
        present = {job["metadata"]["uid"] for job in sync.jobs}
        for reference in [one for one in sync.active if one.get("uid") not in present]:
            try:
                await self.client.get("Job", Key(reference.get("namespace", ""), reference.get("name", "")))
            except NotFound:
                text = f"Active job went missing: {reference.get('name', '')}"
                self.events.record(sync.cron_job, NORMAL, "MissingJob", text)
                sync.remove_active(reference.get("uid", ""))

    def _has_valid_time_zone(self, cron_job: ReadOnlyObject) -> bool:
        zone = cron_job["spec"].get("timeZone")
        if zone is None or is_time_zone(zone):
            return True
        text = f"invalid timeZone: {quote(zone)}: unknown time zone {zone}"
        self.events.record(cron_job, WARNING, "UnknownTimeZone", text)
        return False

    def _parse_schedule(self, cron_job: ReadOnlyObject) -> Schedule | None:
        text = cron_job["spec"].get("schedule", "")
        if "TZ" in text:
            self.events.record(cron_job, WARNING, "UnsupportedSchedule", _UNSUPPORTED.format(quote(text)))
        try:
            return parse_schedule(format_schedule(cron_job))
        except ScheduleParseError as error:
            message = f"unparseable schedule: {quote(text)} : {error}"
            self.events.record(cron_job, WARNING, "UnparseableSchedule", message)
            return None

    def _find_missed_schedules(
        self, cron_job: ReadOnlyObject, schedule: Schedule, now: datetime
    ) -> MissedSchedules | None:
        try:
            missed_times = find_missed_schedules(cron_job, schedule, now, within_deadline=True)
        except ScheduleNeverFires as error:
            text = f"invalid schedule: {cron_job['spec'].get('schedule', '')} : {error}"
            self.events.record(cron_job, WARNING, "InvalidSchedule", text)
            return None
        if missed_times.latest is not None and missed_times.too_many:
            self.events.record(cron_job, WARNING, "TooManyMissedTimes", _TOO_MANY)
        return missed_times

    async def _start_if_allowed(self, sync: CronJobSync, moment: datetime, now: datetime) -> bool:
        """Start the job for a time unless it is too late or not allowed; return whether to requeue."""
        cron_job, spec = sync.cron_job, sync.cron_job["spec"]
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None and add_seconds(moment, deadline) < now:
            scheduled = moment.strftime("%a, %d %b %Y %H:%M:%S +0000")
            text = f"Missed scheduled time to start a job: {scheduled}"
            self.events.record(cron_job, WARNING, "MissSchedule", text)
            return True
        # The informer may show the cron job as it was before the last start.
        if self._is_already_started(sync, moment):
            return True
        if spec.get("concurrencyPolicy") == "Forbid" and sync.active:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self.events.record(cron_job, NORMAL, "JobAlreadyActive", text)
            return True
        if spec.get("concurrencyPolicy") == "Replace":
            await self._delete_active_jobs(sync)
        job = await self._create_job(sync, moment)
        if job is None:
            return False
        sync.active.append(reference_to(job))
        sync.status["lastScheduleTime"] = render_time(moment)
        sync.changed = True
        return True

    def _is_already_started(self, sync: CronJobSync, moment: datetime) -> bool:
        name, namespace = job_name(sync.cron_job, moment), sync.cron_job["metadata"]["namespace"]
        if any((one.get("namespace"), one.get("name")) == (namespace, name) for one in sync.active):
            return True
        last = sync.status.get("lastScheduleTime")
        return last is not None and parse_time(last) == moment

    async def _delete_active_jobs(self, sync: CronJobSync) -> None:
        for reference in list(sync.active):
            key = Key(reference.get("namespace", ""), reference.get("name", ""))
            try:
                # Read from the server: a job that was started just now may be missing in the informer.
                job = await self.client.get("Job", key)
            except ApiError as error:
                self.events.record(sync.cron_job, WARNING, "FailedGet", f"Get job: {error.message}")
                raise
            if not await self._delete_job(sync, job):
                raise ApiError(f"could not replace job {key}")

    async def _create_job(self, sync: CronJobSync, moment: datetime) -> ReadOnlyObject | None:
        """Return the job for a time, created or found; None if it is recorded or owned by another."""
        cron_job, wanted = sync.cron_job, new_job(sync.cron_job, moment)
        try:
            job = await self.client.create("Job", wanted)
        except AlreadyExists:
            job = await self.client.get("Job", key_of(wanted))
            # An own job that is not in the active list was created before a status update that failed: it is added now.
            own = controller_ref_manager.controller_uid(job) == cron_job["metadata"]["uid"]
            return job if own and not sync.is_active(job["metadata"]["uid"]) else None
        except ApiError as error:
            if not is_namespace_terminating(error):
                self.events.record(cron_job, WARNING, "FailedCreate", f"Error creating job: {error.message}")
            raise
        self._skew.observe((parse_time(job["metadata"]["creationTimestamp"]) - moment).total_seconds())
        self.events.record(cron_job, NORMAL, "SuccessfulCreate", f"Created job {job['metadata']['name']}")
        return job


def _index_by_controller_name(job: ReadOnlyObject) -> Iterable[str]:
    reference = controller_ref_manager.controller_of(job)
    return () if reference is None else (str(Key(job["metadata"]["namespace"], reference["name"])),)


def _has_same_schedule(cron_job: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    return all(cron_job["spec"].get(name) == old["spec"].get(name) for name in ("schedule", "timeZone"))


def _start_order(job: ReadOnlyObject) -> tuple[bool, str, str]:
    start = (job.get("status") or {}).get("startTime")
    return (start is None, start or "", job["metadata"]["name"])
