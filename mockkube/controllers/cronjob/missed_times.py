"""Which of its moments a cron job has missed, and when the next one comes.

upstream 1.36: pkg/controller/cronjob/utils.go
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.times import parse_time
from mockkube.api.types import ReadOnlyObject
from mockkube.controllers.cronjob.schedule import Schedule

DELAY_SECONDS: Final = 0.1
"""How late the controller looks, lest clocks differ a little."""
_MANY: Final = 100


class Senseless(ValueError):
    """A schedule that can be read and never strikes."""


@dataclass(frozen=True, slots=True)
class Missed:
    """The moments since the last one that was seen to."""

    since: datetime
    latest: datetime | None = None
    """The last of them up to now."""
    count: int = 0
    """About how many there were, from the second on: of one alone nobody speaks."""

    @property
    def too_many(self) -> bool:
        """Whether something must have gone wrong for long."""
        return self.count > _MANY


def missed(cron_job: ReadOnlyObject, schedule: Schedule, now: datetime, *, in_time: bool) -> Missed:
    """Return what a cron job has missed; with `in_time`, only what may still be started. Raises Senseless."""
    last = (cron_job.get("status") or {}).get("lastScheduleTime") or cron_job["metadata"]["creationTimestamp"]
    since = parse_time(last)
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if in_time and deadline is not None:
        since = max(since, now - timedelta(seconds=deadline))
    first = schedule.next(since)
    second = None if first is None else schedule.next(first)
    if first is None or second is None:
        raise Senseless("time difference between two schedules is less than 1 second")
    if now < first:
        return Missed(since)
    if now < second:
        return Missed(since, first)
    # moments are taken to be as far apart as the first two, to begin the search for the last not far from it
    apart = round((second - first).total_seconds())
    count = int((now - first).total_seconds()) // apart + 1
    moment = schedule.next(first + timedelta(seconds=(count - 2) * apart))
    latest = None
    while moment is not None and moment <= now:
        latest, moment = moment, schedule.next(moment)
    return Missed(since, latest, count)


def seconds_to_next(cron_job: ReadOnlyObject, schedule: Schedule, now: datetime) -> float:
    """Return when to look again: a little after the moment that follows the last one."""
    try:
        behind = missed(cron_job, schedule, now, in_time=False)
    except Senseless:
        start = now
    else:
        start = behind.latest or (now if behind.count else behind.since)
    moment = schedule.next(start)
    return 0.0 if moment is None else (moment - now).total_seconds() + DELAY_SECONDS
