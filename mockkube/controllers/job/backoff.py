"""Backoff of a job's pods: 10 s after the first failure, doubled with each further one, at most 10 minutes.

upstream 1.36: pkg/controller/job/backoff_utils.go
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import add_seconds, parse_time
from mockkube.controllers.job.pods import all_index_failures
from mockkube.lazy_dataclasses import dataclass

SECONDS: Final = 10.0
SECONDS_MAX: Final = 600.0
_BACKOFF_DOUBLINGS_MAX: Final = 6


def finished_at(pod: ReadOnlyObject) -> datetime:
    """Return when a pod finished: by its containers, condition Ready, deletion or creation."""
    status, metadata = pod.get("status") or {}, pod["metadata"]
    if (end := _containers_finished_at(pod)) is not None:
        return end
    ready = find_condition(status.get("conditions") or (), "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return parse_time(ready["lastTransitionTime"])
    if metadata.get("deletionTimestamp"):
        return add_seconds(parse_time(metadata["deletionTimestamp"]), -metadata.get("deletionGracePeriodSeconds", 0))
    return parse_time(metadata["creationTimestamp"])


def _containers_finished_at(pod: ReadOnlyObject) -> datetime | None:
    """Return when the last container or sidecar finished; None while one has not."""
    status = pod.get("status") or {}
    initial = pod["spec"].get("initContainers") or ()
    sidecars = [one["name"] for one in initial if one.get("restartPolicy") == "Always"]
    ends = _finish_times(status.get("containerStatuses") or ())
    side = _finish_times(one for one in status.get("initContainerStatuses") or () if one["name"] in sidecars)
    # `_finish_times` returns None while one still runs, and an empty list where there is no status at all.
    if side is None or (ends is None and not side):
        return None
    return max((ends or []) + side, default=None)


def _finish_times(statuses: Iterable[ReadOnlyObject]) -> list[datetime] | None:
    ends = [((one.get("state") or {}).get("terminated") or {}).get("finishedAt") for one in statuses]
    return [parse_time(end) for end in ends] if all(ends) else None


def remaining_backoff_seconds(failures: int, last: datetime | None, now: datetime) -> float:
    """Return the remaining backoff after so many failures in a row, the last at `last`."""
    if failures == 0 or last is None:
        return 0.0
    return max(backoff_seconds(failures) - (now - last).total_seconds(), 0.0)


def backoff_seconds(failures: int) -> float:
    """Return the backoff after so many failures in a row."""
    return min(SECONDS * 2.0 ** min(failures - 1, _BACKOFF_DOUBLINGS_MAX), SECONDS_MAX) if failures else 0.0


def index_remaining_backoff_seconds(replaced: ReadOnlyObject | None, now: datetime) -> float:
    """Return the remaining backoff of an index; `replaced` is its last failed pod."""
    if replaced is None:
        return 0.0
    # The annotation of the failed pod counts the failures before it, so its own is added.
    return remaining_backoff_seconds(all_index_failures(replaced) + 1, finished_at(replaced), now)


@dataclass(frozen=True, slots=True)
class BackoffRecord:
    """Number of failures of a job since its last success, and time of the last one."""

    failures: int = 0
    last: datetime | None = None

    def with_finished_pods(
        self, succeeded: Sequence[ReadOnlyObject], failed: Sequence[ReadOnlyObject]
    ) -> "BackoffRecord":
        """Return the record after these pods have finished."""
        ends = [finished_at(pod) for pod in failed]
        if not succeeded:
            return BackoffRecord(self.failures + len(ends), max(ends)) if ends else self
        success = max(finished_at(pod) for pod in succeeded)
        # Only failures after the newest success count: a success resets the backoff.
        later = [end for end in ends if end > success]
        return BackoffRecord(len(later), max(later, default=None))

    @property
    def next_seconds(self) -> float:
        """Backoff of the job after another failure."""
        return backoff_seconds(self.failures + 1)

    def remaining_seconds(self, now: datetime) -> float:
        """Return the remaining backoff of the job."""
        return remaining_backoff_seconds(self.failures, self.last, now)
