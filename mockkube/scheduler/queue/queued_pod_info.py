"""A pod in the queue: how often it was tried, what refused it, how long it has to wait."""

from dataclasses import dataclass, field
from math import floor

from mockkube.scheduler.framework.pod_info import PodInfo


@dataclass(slots=True, eq=False)
class Queued:
    """A pod and its history since it came. Times are seconds of the clock's `now`."""

    pod: PodInfo
    queued_at: float
    attempts: int = 0
    refusals: int = 0
    errors: int = 0
    """Failures of the machinery since the last refusal."""
    first_tried_at: float | None = None
    flushed_at: float | None = None
    refused_by: set[str] = field(default_factory=set)
    pending_by: set[str] = field(default_factory=set)
    """The plugins that wait for something outside."""
    gate: str = ""
    """The plugin that keeps it out of the queue."""

    @property
    def rejectors(self) -> set[str]:
        """All plugins that refused it."""
        return self.refused_by | self.pending_by


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long pods wait between attempts: twice as long each time, in whole seconds where they are aligned."""

    initial_seconds: float = 1.0
    seconds_max: float = 10.0
    aligned: bool = True
    """Whether all that end within one second end together."""

    def align(self, moment: float) -> float:
        """Return the start of the second a moment is in."""
        return floor(moment) if self.aligned else moment

    def ends(self, queued: Queued) -> float:
        """Return the second in which the pod's waiting ends; 0 if it does not have to wait."""
        count = queued.errors or queued.refusals
        if not count or not self.seconds_max:
            return 0.0
        seconds = min(self.initial_seconds * 2.0 ** min(count - 1, 60), self.seconds_max)
        return self.align(queued.queued_at + seconds)

    def waits(self, queued: Queued, now: float) -> bool:
        """Whether the pod has to wait; the second in which its waiting ends is part of it."""
        # upstream 1.36: pkg/scheduler/backend/queue/backoff_queue.go
        return self.ends(queued) >= self.align(now)

    def over_at(self, queued: Queued) -> float:
        """Return the moment from which the pod does not wait any more."""
        return self.ends(queued) + 1.0 if self.aligned else self.ends(queued)
