"""Missed schedule times of a cron job, and the time until the next one.

upstream 1.36: pkg/controller/cronjob/utils.go
"""

from datetime import datetime, timedelta
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import add_seconds, parse_time
from mockkube.controllers.cronjob.schedule import Schedule
from mockkube.lazy_dataclasses import dataclass

# Delay after each scheduled time, as upstream: clocks of API server and controller may differ slightly.
DELAY_SECONDS: Final = 0.1
_MISSED_MAX: Final = 100


class ScheduleNeverFires(ValueError):
    """A schedule that can be parsed but never fires twice."""


@dataclass(frozen=True, slots=True)
class MissedSchedules:
    """Scheduled times since the last one that was started."""

    since: datetime
    # The most recent of them that is not in the future.
    latest: datetime | None = None
    # Approximate number of them; stays zero while there is only one, as upstream.
    count: int = 0

    @property
    def too_many(self) -> bool:
        """True if so many starts were missed that a warning is due."""
        return self.count > _MISSED_MAX


def find_missed_schedules(
    cron_job: ReadOnlyObject, schedule: Schedule, now: datetime, *, within_deadline: bool
) -> MissedSchedules:
    """Return the missed times, with `within_deadline` only recent ones; raise ScheduleNeverFires."""
    last = (cron_job.get("status") or {}).get("lastScheduleTime") or cron_job["metadata"]["creationTimestamp"]
    since = parse_time(last)
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if within_deadline and deadline is not None:
        since = max(since, add_seconds(now, -deadline))
    first = schedule.next(since)
    second = None if first is None else schedule.next(first)
    if first is None or second is None:
        raise ScheduleNeverFires("time difference between two schedules is less than 1 second")
    if now < first:
        return MissedSchedules(since)
    if now < second:
        return MissedSchedules(since, first)
    # Estimate the number of missed times from the distance of the first two, to start the search for the latest close
    # to it. Iterating from the first would take minutes for a controller that was down for months.
    apart = round((second - first).total_seconds())
    count = int((now - first).total_seconds()) // apart + 1
    moment = schedule.next(first + timedelta(seconds=(count - 2) * apart))
    latest = None
    while moment is not None and moment <= now:
        latest, moment = moment, schedule.next(moment)
    return MissedSchedules(since, latest, count)


def seconds_to_next_schedule(cron_job: ReadOnlyObject, schedule: Schedule, now: datetime) -> float:
    """Return how long until shortly after the next scheduled time."""
    try:
        missed_times = find_missed_schedules(cron_job, schedule, now, within_deadline=False)
    except ScheduleNeverFires:
        start = now
    else:
        start = missed_times.latest or (now if missed_times.count else missed_times.since)
    moment = schedule.next(start)
    return 0.0 if moment is None else (moment - now).total_seconds() + DELAY_SECONDS
